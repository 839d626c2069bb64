/** Users inside answers. They are remembered for a minute, for they change seldom and stand in many answers. */
import type * as z from 'zod';
import { recentOf } from '../../basics/recent.ts';
import { MINUTE_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import { type User, type UserItem, userObject } from './model.ts';

/** Returns the public object of a user by uuid; null when there is none, or the account is gone. */
export type UserLookup = (uuid: string | null) => z.output<typeof User> | null;

const REMEMBERED_MS = MINUTE_MS;
const MAX_REMEMBERED = 10_000;

const memoryOf = recentOf<{ readonly user: ReturnType<UserLookup>; readonly until: number }>(MAX_REMEMBERED);

/** Reads these users for answers: those that are neither remembered nor `known` with one `many`. */
export async function userLookup(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  uuids: Iterable<string | null>,
  known?: UserItem,
): Promise<UserLookup> {
  const memory = memoryOf(table);
  const now = clock();
  const users = new Map<string, ReturnType<UserLookup>>();
  const unseen = new Set<string>();
  for (const uuid of new Set(uuids)) {
    if (uuid === null) continue;
    const remembered = memory.get(uuid);
    if (uuid === known?.uuid) users.set(uuid, userObject(known));
    else if (remembered !== undefined && remembered.until > now) users.set(uuid, remembered.user);
    else unseen.add(uuid);
  }
  if (unseen.size > 0) {
    const asked = [...unseen];
    const found = await table.many(asked.map(keys.user));
    for (const [at, uuid] of asked.entries()) {
      const item = found[at];
      const user = item === undefined ? null : userObject(item);
      memory.set(uuid, { user, until: now + REMEMBERED_MS });
      users.set(uuid, user);
    }
  }
  return (uuid) => (uuid === null ? null : (users.get(uuid) ?? null));
}
