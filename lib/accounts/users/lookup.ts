/** Users inside answers, remembered for a minute: who made what changes seldom, and is shown again and again. */

import type * as z from 'zod';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Table } from '../../ports/table/table.ts';
import { MINUTE_MS } from '../../ports/units.ts';
import { type User, type UserItem, userObject } from './model.ts';

type UserObject = z.output<typeof User>;

/** The card of a user by his uuid; null when there is none, or his account is gone. */
type Cards = (uuid: string | null) => UserObject | null;

const REMEMBERED_MS = MINUTE_MS;
const REMEMBERED_USERS = 10_000;

interface Remembered {
  readonly card: UserObject | null;
  readonly until: number;
}

const memories = new WeakMap<Table, Map<string, Remembered>>();

/** The cards of these users: those that are not remembered, and not `known`, are read with one `many`. */
export async function userLookup(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  uuids: Iterable<string | null>,
  known?: UserItem,
): Promise<Cards> {
  const memory = memories.get(table) ?? new Map<string, Remembered>();
  memories.set(table, memory);
  const now = clock();
  const cards = new Map<string, UserObject | null>();
  const unseen = new Set<string>();
  for (const uuid of new Set(uuids)) {
    if (uuid === null) continue;
    const remembered = memory.get(uuid);
    if (uuid === known?.uuid) cards.set(uuid, userObject(known));
    else if (remembered !== undefined && remembered.until > now) cards.set(uuid, remembered.card);
    else unseen.add(uuid);
  }
  if (unseen.size > 0) {
    if (memory.size + unseen.size > REMEMBERED_USERS) memory.clear();
    const asked = [...unseen];
    const found = (await table.many(asked.map(keys.user))) as (UserItem | undefined)[];
    for (const [at, uuid] of asked.entries()) {
      const user = found[at];
      const card = user === undefined ? null : userObject(user);
      memory.set(uuid, { card, until: now + REMEMBERED_MS });
      cards.set(uuid, card);
    }
  }
  return (uuid) => (uuid === null ? null : (cards.get(uuid) ?? null));
}
