/** The one place that decides which keys may be made. */
import { isPermitted, opens, type Scope } from '../../http/scopes.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { fromJsonText } from '../../ports/table/json-text.ts';
import type { Value } from '../../ports/table/table.ts';
import type { MembershipItem } from '../organizations/model.ts';
import { type Grant, grantOf, type PersonalApiKeyItem } from './model.ts';

/** A user may have so many keys at a time, as with PostHog. */
const MAX_KEYS = 10;

/** Throws a 400 when a user who has this many keys may not have another. */
export function refuseTooMany(held: number): void {
  if (held < MAX_KEYS) return;
  invalid(null, `You can only have ${MAX_KEYS} personal API keys. Remove an existing key before creating a new one.`);
}

/** One change is logged in at most so many organizations: their entries are in its transaction, which has 100 ops. */
export const MAX_LOGS = 90;

/**
 * Returns the organizations, of its user's memberships, that a key opens: those that it is limited to, by itself or
 * through projects, else all; of more than 90 those that the user joined first.
 */
export function organizationsOpen(
  { scoped_organizations, team_organizations }: PersonalApiKeyItem,
  memberships: readonly MembershipItem[],
): string[] {
  const ofTeams = Object.values(fromJsonText(team_organizations));
  const [limits = []] = [fromJsonText(scoped_organizations), ofTeams].filter(({ length }) => length > 0);
  return memberships
    .toSorted((a, b) => a.joined_at - b.joined_at)
    .map(({ organization_id }) => organization_id)
    .filter((id) => opens(limits, id))
    .slice(0, MAX_LOGS);
}

/**
 * Returns a key as the activity log of one organization may show it: in the place of limits to others is one null, so
 * that a key that opens nothing here does not look like one without limits.
 */
export function keyAsLoggedIn(organization: string, key: PersonalApiKeyItem): Readonly<Record<string, Value>> {
  const owners = fromJsonText(key.team_organizations);
  const { scoped_teams, scoped_organizations } = grantOf(key);
  const shown = <T extends string | number>(limits: readonly T[], ownerOf: (limit: T) => string | undefined): string =>
    JSON.stringify([...new Set(limits.map((limit) => (ownerOf(limit) === organization ? limit : null)))]);
  return {
    ...key,
    scoped_teams: shown(scoped_teams, (id) => owners[id]),
    scoped_organizations: shown(scoped_organizations, (id) => id),
  };
}

/** Throws a 400 when the expiry is not after `now`. */
export function refusePast(expiresAt: number | null | undefined, now: number): void {
  if (typeof expiresAt === 'number' && expiresAt <= now) invalid('expires_at', 'The expiry must be in the future.');
}

/**
 * Throws a 403 when a key grants more than the key that makes, changes or deletes it: a scope that this one lacks, an
 * organization or project that it does not open, or a longer life.
 */
export function refuseExcess(maker: Grant, wanted: Grant): void {
  const scope = wanted.scopes.find((name) => !isPermitted(maker.scopes, name as Scope));
  if (scope !== undefined) fail('permission_denied', `API key missing required scope '${scope}'`);
  refuseWiderLimits(maker.scoped_teams, wanted.scoped_teams, 'project');
  refuseWiderLimits(maker.scoped_organizations, wanted.scoped_organizations, 'organization');
  if (maker.expires_at !== null && (wanted.expires_at === null || wanted.expires_at > maker.expires_at)) {
    fail('permission_denied', 'An API key that expires can only make, change or delete keys that expire no later.');
  }
}

/** Throws a 403 when a key asks for the change of one that grants more. Every key may change itself. */
export function refuseStronger(maker: PersonalApiKeyItem, changed: PersonalApiKeyItem): void {
  if (maker.id !== changed.id) refuseExcess(grantOf(maker), grantOf(changed));
}

function refuseWiderLimits<T>(limits: readonly T[], wanted: readonly T[], place: 'project' | 'organization'): void {
  if (limits.length === 0) return;
  if (wanted.length === 0) {
    fail(
      'permission_denied',
      `An API key that is limited to some ${place}s can only make, change or delete keys that are limited to them.`,
    );
  }
  const other = wanted.find((id) => !limits.includes(id));
  if (other !== undefined) {
    fail('permission_denied', `API key does not have access to the requested ${place}: ID ${String(other)}.`);
  }
}
