import { createHash } from 'node:crypto';
import { base62 } from '../auth/tokens.ts';
import type { Context } from '../context.ts';
import { invalid } from '../errors.ts';
import { parsed } from '../http/parsed.ts';
import { keys, places, ranges } from '../table/keys.ts';
import { listAll } from '../table/list-all.ts';
import type { Item, Table } from '../table/table.ts';
import type { UserItem } from '../users/model.ts';
import { PersonalApiKeyInput, type PersonalApiKeyItem } from './model.ts';

/** Random bytes of a key, as the public product has them: 280 bits, about 47 digits. */
const KEY_BYTES = 35;
/** `last_used_at` moves when it is older than this: 1 h. */
const USE_RESOLUTION = 3_600_000;

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');

/**
 * Makes a key for a user; `value` is the only time that it can be seen. Instants are milliseconds since 1970. A scope
 * that does not exist, a bad label, or a limit to what the user is no member of is a 400.
 */
export async function createKey(
  { table, newId, random, clock }: Pick<Context, 'table' | 'newId' | 'random' | 'clock'>,
  { user, ...input }: { user: UserItem } & NewKey,
): Promise<{ item: PersonalApiKeyItem; value: string }> {
  const {
    label,
    scopes,
    scoped_teams = [],
    scoped_organizations = [],
    expires_at = null,
  } = parsed(PersonalApiKeyInput, input);
  await refuseForeignLimits(table, user, scoped_teams, scoped_organizations);

  const id = newId();
  const now = clock();
  const value = `phx_${base62(random(KEY_BYTES))}`;
  const item: PersonalApiKeyItem = {
    ...keys.personalApiKey(sha256(value)),
    ...places.keyOf(user.uuid, now, id),
    id,
    user_uuid: user.uuid,
    label,
    mask: `${value.slice(0, 4)}...${value.slice(-4)}`,
    scopes: JSON.stringify(scopes),
    scoped_teams: JSON.stringify(scoped_teams),
    scoped_organizations: JSON.stringify(scoped_organizations),
    created_at: now,
    last_used_at: null,
    expires_at,
  };
  await table.write([{ put: item, if: 'absent' }]);
  return { item, value };
}

export interface NewKey {
  readonly label: string;
  /** `object:read`, `object:write` or `*`. */
  readonly scopes: readonly string[];
  readonly scoped_teams?: readonly number[];
  readonly scoped_organizations?: readonly string[];
  readonly expires_at?: number | null;
}

const isMissing = (item: Item | undefined): boolean => item === undefined;

async function refuseForeignLimits(
  table: Table,
  user: UserItem,
  teams: readonly number[],
  organizations: readonly string[],
): Promise<void> {
  if (teams.length === 0 && organizations.length === 0) return;
  const projects = await table.many(teams.map(keys.project));
  const needed = (ids: readonly string[]) => table.many(ids.map((id) => keys.membership(user.uuid, id)));
  if ((await needed(organizations)).some(isMissing)) {
    invalid('scoped_organizations', 'You must be a member of all organizations that you are scoping the key to.');
  }
  const owners = projects.map((project) => (project?.['organization_id'] as string | undefined) ?? '');
  if ((await needed([...new Set(owners)])).some(isMissing)) {
    invalid('scoped_teams', 'You must be a member of all teams that you are scoping the key to.');
  }
}

/** The stored key with this value, expired or not. One read. */
export async function findKey(table: Table, value: string): Promise<PersonalApiKeyItem | undefined> {
  return (await table.get(keys.personalApiKey(sha256(value)))) as PersonalApiKeyItem | undefined;
}

/** Moves `last_used_at`, when it is more than an hour old; a key that is gone stays gone. */
export async function noteUse(table: Table, item: PersonalApiKeyItem, now: number): Promise<void> {
  if (item.last_used_at !== null && item.last_used_at > now - USE_RESOLUTION) return;
  await table.write([
    { change: { pk: item.pk, sk: item.sk }, set: { last_used_at: now }, if: { is: { id: item.id } } },
  ]);
}

/** All keys of a user, newest first. */
export async function keysOf(table: Table, uid: string): Promise<PersonalApiKeyItem[]> {
  return (await listAll(table, ranges.keysOf(uid))) as PersonalApiKeyItem[];
}

/** The key is no key from now on (the gateway may remember it for a minute). */
export async function revokeKey(table: Table, item: PersonalApiKeyItem): Promise<void> {
  await table.write([{ remove: { pk: item.pk, sk: item.sk } }]);
}
