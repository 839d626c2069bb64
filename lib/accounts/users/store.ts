import { parse } from '../../http/parse.ts';
import { base62 } from '../../http/tokens.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { toJsonText } from '../../ports/table/json-text.ts';
import { keys, places } from '../../ports/table/keys.ts';
import { nextNumber } from '../../ports/table/sequence.ts';
import type { Op, Table } from '../../ports/table/table.ts';
import { writeOrFail } from '../../ports/table/until-written.ts';
import { UserInput, type UserItem } from './model.ts';

/** Makes a user. Throws a 400 when the e-mail address is none, or is another user's, in whatever case. */
export async function createUser(
  { table, newId, random, clock }: Pick<Context, 'table' | 'newId' | 'random' | 'clock'>,
  input: { email: string; first_name?: string; last_name?: string },
): Promise<UserItem> {
  const { email, first_name = '', last_name = '' } = parse(UserInput, input);
  const uuid = newId();
  const now = clock();
  const user: UserItem = {
    ...keys.user(uuid),
    ...places.userAmongAll(now, uuid),
    id: await nextNumber(table, 'user'),
    uuid,
    distinct_id: base62(random(32)),
    first_name,
    last_name,
    email,
    created_at: now,
    keys: toJsonText([]),
  };
  const ops: Op[] = [
    { put: user, if: 'absent' },
    { put: { ...keys.email(email), user_uuid: uuid }, if: 'absent', else: 'email_taken' },
  ];
  await writeOrFail(table, ops, {
    email_taken: () => invalid('email', 'There is already an account with this email address.', 'unique'),
  });
  return user;
}

/** Returns a user. Throws a 404 when there is none. */
export async function findUser(table: Table, uuid: string): Promise<UserItem> {
  return (await table.get(keys.user(uuid))) ?? fail('not_found');
}

/** Returns the user who has this e-mail address, in whatever case; undefined when there is none. */
export async function findUserByEmail(table: Table, email: string): Promise<UserItem | undefined> {
  const mail = await table.get(keys.email(email));
  return mail === undefined ? undefined : table.get(keys.user(mail.user_uuid));
}
