import type * as z from 'zod';
import type { ActivityOps, ActivityVerb, Change } from '../../accounts/activity/model.ts';
import { changesOf, type LoggedFields, secretChanges } from '../../accounts/activity/rules.ts';
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import { definedOf } from '../../basics/defined.ts';
import { checkVersion, type IfMatch } from '../../http/etag.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op, Table, Value } from '../../ports/table/table.ts';
import { untilWrittenFrom } from '../../ports/table/until-written.ts';
import type { DashboardItem } from '../model.ts';
import { aboutDashboard, type DashboardPath, foundSummary, foundSummaryToEdit, summaryOp } from '../store.ts';
import type { FilterChoice, SharingItem, SharingPatch, SharingTokenItem } from './model.ts';

/** Bytes of a token, which are 30 characters in URL-safe base 64, as PostHog's. */
const TOKEN_BYTES = 22;

const newToken = (random: Context['random']): string => random(TOKEN_BYTES).toString('base64url');

/** Returns the sharing of a new dashboard, which is closed, and its token; neither is written yet. */
export function newSharing(
  random: Context['random'],
  { project_id, id, created_at }: Pick<DashboardItem, 'project_id' | 'id' | 'created_at'>,
  { organization }: Tenant,
): { readonly sharing: SharingItem; readonly token: SharingTokenItem } {
  const sharing: SharingItem = {
    ...keys.sharing(project_id, id),
    enabled: false,
    access_token: newToken(random),
    was_open: false,
    created_at,
    ver: 1,
  };
  return { sharing, token: tokenItem(sharing, { project_id, id }, organization.id) };
}

function tokenItem({ access_token }: SharingItem, { project_id, id }: DashboardPath, organization_id: string) {
  return { ...keys.sharingToken(access_token), organization_id, project_id, dashboard_id: id };
}

/** A dashboard's summary and sharing, whoever asks, for `foundSharing`. */
type SharingRead = readonly [summary: DashboardItem | undefined, sharing: SharingItem | undefined];

/** Reads a dashboard's summary and sharing. One read. */
export async function readSharing(table: Table, { project_id, id }: DashboardPath): Promise<SharingRead> {
  return table.many([keys.dashboard(project_id, id), keys.sharing(project_id, id)]);
}

/** Returns the sharing. Throws a 404 or a 403 when the dashboard is not there for the member. */
export function foundSharing([summary, sharing]: SharingRead, tenant: Tenant): SharingItem {
  foundSummary(summary, tenant);
  return sharing as SharingItem;
}

/** Returns what a change starts from. Throws as `foundSharing`, and a 403 when the member may not edit. */
export function foundSharingToEdit(read: SharingRead, tenant: Tenant): SharingRead {
  foundSummaryToEdit(read[0], tenant);
  return read;
}

/** The fields that a change sets. */
type SharingSet = Partial<
  Pick<SharingItem, 'enabled' | 'password' | 'expires_at' | 'allow_date_range' | 'filter_choices'>
>;

/** Returns what a change makes of the sharing; undefined: nothing. */
type SharingChange = (
  sharing: SharingItem,
) => { readonly set: SharingSet; readonly hasNewToken: boolean; readonly activity: ActivityVerb } | undefined;

/**
 * Returns the change of a PATCH at `now`; `password` is the hash of the one that was sent. A token that was open before is
 * not opened again. Throws a 400 when a password is required that there is not, and for a page that would be open for no
 * time.
 */
export function patchOf(
  { enabled, password_required, expires_at, allow_date_range, filter_choices }: z.output<typeof SharingPatch>,
  password: string | null | undefined,
  now: number,
): SharingChange {
  if (password_required === false && typeof password === 'string') {
    invalid('password_required', 'A password was sent. Leave out `password_required`, or send true.');
  }
  const newPassword = password_required === false ? null : password;
  return (sharing) => {
    const choices = filter_choices && toJsonText<FilterChoice[]>(filter_choices);
    const said = { enabled, password: newPassword, expires_at, allow_date_range, filter_choices: choices };
    const sent: SharingSet = definedOf(said);
    if (password_required === true && typeof { ...sharing, ...sent }.password !== 'string') {
      invalid('password_required', 'There is no password yet. Send it as `password`.');
    }
    const set: SharingSet = Object.fromEntries(
      Object.entries(sent).filter(([name, value]) => (sharing[name] ?? UNSET[name]) !== value),
    );
    if (Object.keys(set).length === 0) return undefined;
    const after = { ...sharing, ...set };
    const sets = set.enabled ?? set.expires_at;
    if (sets !== undefined && after.enabled && (after.expires_at ?? Infinity) <= now) {
      invalid('expires_at', 'The expiry must be in the future.');
    }
    const opens = set.enabled;
    return {
      set,
      hasNewToken: opens === true && sharing.was_open,
      activity: opens === undefined ? 'updated' : opens ? 'sharing enabled' : 'sharing disabled',
    };
  };
}

/** What an absent field means. */
const UNSET: Readonly<Record<string, Value>> = {
  password: null,
  expires_at: null,
  allow_date_range: false,
  filter_choices: toJsonText([]),
};

/** Gives the sharing another token, and leaves the rest as it is. */
export const refresh: SharingChange = () => ({ set: {}, hasNewToken: true, activity: 'access token refreshed' });

const LOGGED_FIELDS: LoggedFields = {
  enabled: 'plain',
  expires_at: 'instant',
  allow_date_range: 'plain',
  filter_choices: 'json',
};

/** Returns how the activity log shows a change of the sharing. A password is not in it. */
const sharingChanges = (before: SharingItem, set: SharingSet): Change[] => [
  ...changesOf({ ...UNSET, ...before }, set, LOGGED_FIELDS),
  ...secretChanges(set.password === undefined ? [] : ['password']),
];

/**
 * Changes the sharing with all that follows from it in one transaction: the token that opens the page, and what the
 * summary says. Two concurrent changes both happen, one after the other. Throws a 412 when the version is none of
 * `ifMatch`.
 */
export async function changeSharing(
  { table, random }: Pick<Context, 'table' | 'random'>,
  read: SharingRead,
  {
    tenant,
    change,
    ifMatch,
    activityOps,
  }: { tenant: Tenant; change: SharingChange; ifMatch: IfMatch; activityOps: ActivityOps },
): Promise<SharingItem> {
  const path = foundSummary(read[0], tenant);
  const readAgain = () => readSharing(table, path);
  return untilWrittenFrom(read, readAgain, async (now) => {
    const [summary, sharing] = foundSharingToEdit(now, tenant) as [DashboardItem, SharingItem];
    checkVersion(sharing, ifMatch);
    const changed = change(sharing);
    if (changed === undefined) return sharing;
    const { set, hasNewToken, activity } = changed;
    if (set.enabled === true && tenant.organization.allow_publicly_shared_resources === false) {
      fail('permission_denied', 'Public sharing is disabled for this organization.');
    }
    const enabled = set.enabled ?? sharing.enabled;
    const after: SharingItem = {
      ...sharing,
      ...set,
      access_token: hasNewToken ? newToken(random) : sharing.access_token,
      was_open: enabled || (sharing.was_open && !hasNewToken),
      ver: sharing.ver + 1,
    };
    await table.write([
      { put: after, if: { is: { ver: sharing.ver } } },
      ...(hasNewToken
        ? ([
            { remove: keys.sharingToken(sharing.access_token) },
            { put: tokenItem(after, path, tenant.organization.id), if: 'absent' },
          ] satisfies Op[])
        : []),
      summaryOp(summary, { is_shared: enabled }),
      ...activityOps({ ...aboutDashboard(summary), activity, changes: sharingChanges(sharing, set) }),
    ]);
    return after;
  });
}
