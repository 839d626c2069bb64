import type * as z from 'zod';
import type { Credentials } from '../../http/credentials.ts';
import { checkVersion, type IfMatch, inVersion } from '../../http/etag.ts';
import { parse } from '../../http/parse.ts';
import { base62 } from '../../http/tokens.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import { type Op, Refused, type Table } from '../../ports/table/table.ts';
import { untilWrittenFrom } from '../../ports/table/until-written.ts';
import type { ActivityOps, Change } from '../activity/model.ts';
import { systemActivityOps } from '../activity/ops.ts';
import { changesOf, creationChanges, type LoggedFields } from '../activity/rules.ts';
import type { MembershipItem } from '../organizations/model.ts';
import { userWithMemberships } from '../organizations/store.ts';
import type { KeyRef, UserItem } from '../users/model.ts';
import { sha256 } from './lookup.ts';
import { type Grant, grantOf, NewPersonalApiKey, type PersonalApiKeyItem, type PersonalApiKeyPatch } from './model.ts';
import {
  keyAsLoggedIn,
  MAX_LOGS,
  organizationsOpen,
  refuseExcess,
  refusePast,
  refuseStronger,
  refuseTooMany,
} from './rules.ts';

/** Random bytes of a key's value, as PostHog's: 280 bits, about 47 digits. */
const VALUE_BYTES = 35;

/** The fields of a new key; instants are milliseconds since 1970. */
export type NewKey = z.output<typeof NewPersonalApiKey>;

/** The changes that a caller may make to a key. */
type KeyChanges = z.output<typeof PersonalApiKeyPatch>;

/** How an act on a user's key is logged: in each organization, of these memberships, that the key opens. */
interface KeyActivity {
  readonly activityOps: ActivityOps;
  readonly memberships: readonly MembershipItem[];
}

type KeyContext = Pick<Context, 'table' | 'newId' | 'clock'>;

/** Returns how acts of an operator, or of the service itself, on a user's keys are logged. */
async function systemKeyActivity(context: KeyContext, uid: string): Promise<KeyActivity> {
  const { memberships } = await userWithMemberships(context.table, uid);
  return { activityOps: systemActivityOps(context), memberships };
}

/** The fields that the activity log shows of a key. Its mask changes with its value. */
const LOGGED_FIELDS: LoggedFields = {
  label: 'plain',
  mask: 'plain',
  scopes: 'json',
  scoped_teams: 'json',
  scoped_organizations: 'json',
  expires_at: 'instant',
};

/** A key as it was and as it is then; the one that is made was not, the one that is deleted is not. */
interface KeyChange {
  readonly before?: PersonalApiKeyItem | undefined;
  readonly after?: PersonalApiKeyItem | undefined;
}

/** Returns the ops that log a change of a key: each organization is told of its own part of the key's limits. */
function keyOps({ activityOps, memberships }: KeyActivity, { before, after }: KeyChange): Op[] {
  const known = [before, after].filter((key) => key !== undefined);
  const logs = new Set(known.flatMap((key) => organizationsOpen(key, memberships)));
  const about = after ?? before;
  if (about === undefined) return [];
  const { id, label: name } = about;
  const activity = before === undefined ? 'created' : after === undefined ? 'deleted' : 'updated';
  return [...logs].slice(0, MAX_LOGS).flatMap((organization) => {
    const changes = loggedChanges(organization, { before, after });
    return activityOps({ organization, scope: 'PersonalAPIKey', id, activity, name, changes });
  });
}

function loggedChanges(organization: string, { before, after }: KeyChange): Change[] {
  if (after === undefined) return [];
  const shown = keyAsLoggedIn(organization, after);
  return before === undefined
    ? creationChanges(shown, LOGGED_FIELDS)
    : changesOf(keyAsLoggedIn(organization, before), shown, LOGGED_FIELDS);
}

interface KeyOptions {
  /** The key that asks, which must grant as much as the new one. Absent: the command line asks, which may do all. */
  readonly maker?: PersonalApiKeyItem;
  /** Ops of the request's Idempotency-Key. */
  readonly idempotencyOps?: (keyId: string) => readonly Op[];
  /** Default: the system. */
  readonly activity?: KeyActivity;
}

/**
 * Makes a key for a user; `value` cannot be seen again. Throws a 400 for a scope that does not exist, a bad label, a
 * limit to what the user is no member of, or an eleventh key; a 403 for more than the maker grants.
 */
export async function createKey(
  context: Pick<Context, 'table' | 'newId' | 'random' | 'clock'>,
  { user, ...input }: { user: UserItem } & NewKey,
  { maker, idempotencyOps = () => [], activity }: KeyOptions = {},
): Promise<{ item: PersonalApiKeyItem; value: string }> {
  const { table, newId, random, clock } = context;
  const wanted = parse(NewPersonalApiKey, input);
  const { label, scopes, scoped_teams = [], scoped_organizations = [], expires_at = null } = wanted;
  const now = clock();
  refusePast(expires_at, now);
  if (maker !== undefined) refuseExcess(grantOf(maker), { scopes, scoped_teams, scoped_organizations, expires_at });
  const teamOrganizations = await refuseForeignLimits(table, user.uuid, wanted);
  const logged = activity ?? (await systemKeyActivity(context, user.uuid));

  const id = newId();
  const { value, ...stored } = newValue(random);
  const item: PersonalApiKeyItem = {
    ...stored,
    id,
    user_uuid: user.uuid,
    user_id: user.id,
    label,
    scopes: toJsonText(scopes),
    scoped_teams: toJsonText(scoped_teams),
    scoped_organizations: toJsonText(scoped_organizations),
    team_organizations: toJsonText(teamOrganizations),
    created_at: now,
    last_used_at: null,
    last_rolled_at: null,
    expires_at,
    ver: 1,
  };
  await changeRefs(table, user, (refs) => {
    refuseTooMany(refs.length);
    return {
      refs: [...refs, { id, sha256: sha256(value) }],
      ops: [
        { put: item, if: 'absent' },
        ...checksOf(maker, id),
        ...idempotencyOps(id),
        ...keyOps(logged, { after: item }),
      ],
    };
  });
  return { item, value };
}

/** Returns a fresh value, and what is stored of it. */
function newValue(random: Context['random']) {
  const value = `phx_${base62(random(VALUE_BYTES))}`;
  return { value, ...keys.personalApiKey(sha256(value)), mask: `${value.slice(0, 4)}...${value.slice(-4)}` };
}

/**
 * The transaction holds only if the key that asks still grants what it was seen to grant, unless it is the key that is
 * written.
 */
function checksOf(maker: PersonalApiKeyItem | undefined, written: string): Op[] {
  if (maker === undefined || maker.id === written) return [];
  const { pk, sk, id, ver } = maker;
  return [{ check: { pk, sk }, if: { is: { id, ver } } }];
}

/** Why a write is refused when a user's keys, or the key that is changed, are not as they were read. */
const KEYS_CHANGED = 'keys_changed';

/** Changes which keys a user has, with the keys themselves; repeats it when another change of them came first. */
async function changeRefs(
  table: Table,
  user: UserItem,
  change: (refs: readonly KeyRef[]) => { readonly refs: readonly KeyRef[]; readonly ops: readonly Op[] },
): Promise<void> {
  const key = keys.user(user.uuid);
  const write = async ({ keys: before }: UserItem) => {
    const { refs, ops } = change(fromJsonText(before));
    const set = { keys: toJsonText(refs) };
    await table.write([{ change: key, set, if: { is: { keys: before } }, else: KEYS_CHANGED }, ...ops]);
  };
  await untilWrittenFrom(user, () => table.get(key), write, KEYS_CHANGED);
}

/** Returns whether the user is a member of all of these organizations, and they are all there. One round trip. */
async function isMemberOfAll(table: Table, uid: string, ids: readonly string[]): Promise<boolean> {
  const [memberships, organizations] = await Promise.all([
    table.many(ids.map((id) => keys.membership(uid, id))),
    table.many(ids.map(keys.organization)),
  ]);
  const areThere = organizations.every((organization) => organization?.deleted_at === null);
  return areThere && !memberships.includes(undefined);
}

/** Throws a 400 for limits to what the user is no member of. Returns the organizations of the projects, by their numbers. */
async function refuseForeignLimits(
  table: Table,
  uid: string,
  { scoped_teams = [], scoped_organizations = [] }: KeyChanges,
): Promise<Record<string, string>> {
  if (scoped_teams.length === 0 && scoped_organizations.length === 0) return {};
  const [isMember, projects] = await Promise.all([
    isMemberOfAll(table, uid, scoped_organizations),
    table.many(scoped_teams.map(keys.project)),
  ]);
  if (!isMember) {
    invalid('scoped_organizations', 'You must be a member of all organizations that you are scoping the key to.');
  }
  const owners = projects.map((project) => (project?.deleted_at === null ? project.organization_id : ''));
  if (!(await isMemberOfAll(table, uid, [...new Set(owners)]))) {
    invalid('scoped_teams', 'You must be a member of all teams that you are scoping the key to.');
  }
  return Object.fromEntries(scoped_teams.map((id, at) => [id, owners[at] ?? '']));
}

/** Returns the keys of these users, newest first. One read. */
export async function keysOfUsers(table: Table, users: readonly UserItem[]): Promise<PersonalApiKeyItem[]> {
  const found = await table.many(
    users.flatMap((user) => fromJsonText(user.keys)).map((ref) => keys.personalApiKey(ref.sha256)),
  );
  return found
    .filter((item) => item !== undefined)
    .toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1));
}

/** Returns all keys of a user, newest first; none when there is no such user. */
export async function keysOfUser(table: Table, uid: string): Promise<PersonalApiKeyItem[]> {
  const user = await table.get(keys.user(uid));
  return user === undefined ? [] : keysOfUsers(table, [user]);
}

/** A user, the key that asks, and another key of that user (or the same one). */
interface UserKeys {
  readonly user: UserItem;
  readonly maker: PersonalApiKeyItem;
  readonly item: PersonalApiKeyItem;
}

/**
 * Reads the key that asks, and the user's key with this id (default: the one that asks), as they are now, whatever an
 * authorizer remembers. Throws a 401 when the key that asks is void, or has another value by now, a 404 when the user has
 * no such key. Two reads.
 */
export async function readUserKeys(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { userId, keyId, keyHash }: Pick<Credentials, 'userId' | 'keyId' | 'keyHash'>,
  id = keyId,
): Promise<UserKeys> {
  const user = await table.get(keys.user(userId));
  if (user === undefined) fail('not_authenticated');
  const held = await keysOfUsers(table, [user]);
  const { pk } = keys.personalApiKey(keyHash);
  const maker = held.find((key) => key.id === keyId && key.pk === pk);
  if (maker === undefined || (maker.expires_at ?? Infinity) <= clock()) fail('not_authenticated');
  return { user, maker, item: held.find((key) => key.id === id) ?? fail('not_found') };
}

/** Changes fields of a key, and only those. Throws as `createKey`, and a 412 when its version is none of `ifMatch`. */
export async function changeKey(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { maker, item }: UserKeys,
  changes: KeyChanges,
  activity: KeyActivity,
  ifMatch: IfMatch,
): Promise<PersonalApiKeyItem> {
  const { label, ...grants } = changes;
  refusePast(changes.expires_at, clock());
  const organizations = await refuseForeignLimits(table, item.user_uuid, changes);
  const set = {
    ...(label === undefined ? {} : { label }),
    ...(changes.scoped_teams === undefined ? {} : { team_organizations: toJsonText(organizations) }),
    ...Object.fromEntries(
      Object.entries(grants).map(([name, value]) => [name, Array.isArray(value) ? JSON.stringify(value) : value]),
    ),
  };
  const write = async (current: PersonalApiKeyItem) => {
    checkVersion(current, ifMatch);
    refuseStronger(maker, current);
    if (Object.keys(grants).length > 0) {
      // A key that changes itself grants what it is now, not what it was when the request came.
      refuseExcess(grantOf(maker.id === current.id ? current : maker), { ...grantOf(current), ...grants } as Grant);
    }
    const { pk, sk, id, ver } = current;
    const after: PersonalApiKeyItem = { ...current, ...set, ver: ver + 1 };
    await table.write([
      { change: { pk, sk }, set, add: { ver: 1 }, if: { is: { id, ver } }, else: KEYS_CHANGED },
      ...checksOf(maker, id),
      ...keyOps(activity, { before: current, after }),
    ]);
    return after;
  };
  return untilWrittenFrom(item, () => table.get<PersonalApiKeyItem>(item), write, KEYS_CHANGED);
}

/**
 * Gives a key another value. The old one is void from now on; the gateway may remember it for a minute. Throws a 412 when
 * its version is none of `ifMatch`.
 */
export async function rollKey(
  { table, random, clock }: Pick<Context, 'table' | 'random' | 'clock'>,
  { user, maker, item }: UserKeys,
  activity: KeyActivity,
  ifMatch: IfMatch,
): Promise<{ item: PersonalApiKeyItem; value: string }> {
  refuseStronger(maker, item);
  checkVersion(item, ifMatch);
  const { value, ...stored } = newValue(random);
  const { pk, sk, id, ver } = item;
  const rolled = { ...item, ...stored, last_used_at: null, last_rolled_at: clock(), ver: ver + 1 };
  await changeRefs(table, user, (refs) => ({
    refs: refs.map((ref) => (ref.id === id ? { id, sha256: sha256(value) } : ref)),
    ops: [
      { remove: { pk, sk }, if: { is: { id, ver } } },
      { put: rolled, if: 'absent' },
      ...checksOf(maker, id),
      ...keyOps(activity, { before: item, after: rolled }),
    ],
  }));
  return { item: rolled, value };
}

/** The fields of a key that limit it. */
type KeyLimits = Pick<PersonalApiKeyItem, 'scoped_teams' | 'scoped_organizations' | 'team_organizations'>;

/** An organization and projects that are gone. */
export interface DeletedPlaces {
  readonly organization: string | null;
  readonly projects: readonly number[];
}

/**
 * Takes what is gone out of the limits of a key. A key that was limited to nothing else is revoked: without limits it
 * would open everything. Returns false when the key names nothing of it. A key that changed meanwhile stays as it is,
 * to be looked at again.
 */
export async function removeLimits(context: KeyContext, key: PersonalApiKeyItem, gone: DeletedPlaces) {
  const grant = grantOf(key);
  const teams = grant.scoped_teams.filter((id) => !gone.projects.includes(id));
  const isKept = (id: string): boolean => id !== gone.organization;
  const organizations = grant.scoped_organizations.filter(isKept);
  const set: KeyLimits = {
    scoped_teams: toJsonText(teams),
    scoped_organizations: toJsonText(organizations),
    team_organizations: toJsonText(withKeys(fromJsonText(key.team_organizations), teams)),
  };
  if (Object.entries(set).every(([name, value]) => key[name] === value)) return false;
  const limits = [
    { before: grant.scoped_teams, now: teams },
    { before: grant.scoped_organizations, now: organizations },
  ];
  const opensNothing = limits.some(({ before, now }) => before.length > 0 && now.length === 0);
  try {
    if (opensNothing) await revokeKey(context, key, { ifMatch: [key.ver] });
    else await setLimits(context, key, set);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
  return true;
}

const withKeys = <T>(all: Readonly<Record<string, T>>, names: readonly number[]): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(Number(name))));

/** Sets the limits of a key. Throws `Refused` when it is not as it was read. */
async function setLimits(context: KeyContext, key: PersonalApiKeyItem, set: KeyLimits) {
  const { pk, sk, id, ver } = key;
  await context.table.write([
    { change: { pk, sk }, set, add: { ver: 1 }, if: { is: { id, ver } } },
    ...keyOps(await systemKeyActivity(context, key.user_uuid), { before: key, after: { ...key, ...set } }),
  ]);
}

interface RevokeOptions {
  /** The key's user, as known. */
  readonly user?: UserItem;
  /** The key that asks, which must grant as much. Absent: the command line or the service itself asks. */
  readonly maker?: PersonalApiKeyItem;
  readonly ifMatch: IfMatch;
  /** Default: the system. */
  readonly activity?: KeyActivity;
}

/**
 * Makes a key void; the gateway may remember it for a minute. Throws a 403 when it grants more than the maker, and
 * `Refused` when it is gone, or in none of `ifMatch`.
 */
export async function revokeKey(
  context: KeyContext,
  item: PersonalApiKeyItem,
  { user, maker, ifMatch, activity }: RevokeOptions,
): Promise<void> {
  const { table } = context;
  const { id, user_uuid } = item;
  if (maker !== undefined) refuseStronger(maker, item);
  const owner = user ?? ((await table.get(keys.user(user_uuid))) as UserItem);
  const logOps = keyOps(activity ?? (await systemKeyActivity(context, user_uuid)), { before: item });
  const is = { id, ...inVersion(ifMatch) };
  await changeRefs(table, owner, (refs) => {
    // Where it is stored now: it may have been rolled since it was read.
    const sha256 = refs.find((ref) => ref.id === id)?.sha256;
    const key = sha256 === undefined ? item : keys.personalApiKey(sha256);
    return {
      refs: refs.filter((ref) => ref.id !== id),
      ops: [{ remove: { pk: key.pk, sk: key.sk }, if: { is } }, ...checksOf(maker, id), ...logOps],
    };
  });
}
