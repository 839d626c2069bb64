/** Personal API keys by their values: all that an authorizer needs of them. */
import { hash } from 'node:crypto';
import { HOUR_MS } from '../../basics/units.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Table } from '../../ports/table/table.ts';
import type { PersonalApiKeyItem } from './model.ts';

/** `last_used_at` moves when it is older than this: 1 h. */
const USE_RESOLUTION_MS = HOUR_MS;

/** Returns the hash under which a value is stored, in hexadecimal digits. */
export const sha256 = (value: string): string => hash('sha256', value);

/** Returns the stored key whose value has this hash, expired or not; undefined when there is none. One read. */
export const findKey = (table: Table, keyHash: string): Promise<PersonalApiKeyItem | undefined> =>
  table.get(keys.personalApiKey(keyHash));

/** Moves `last_used_at` when it is more than an hour old. Throws `Refused` when the key is gone. */
export async function noteUse(table: Table, item: PersonalApiKeyItem, now: number): Promise<void> {
  if (item.last_used_at !== null && item.last_used_at > now - USE_RESOLUTION_MS) return;
  await table.write([
    { change: { pk: item.pk, sk: item.sk }, set: { last_used_at: now }, if: { is: { id: item.id } } },
  ]);
}
