import type * as z from 'zod';
import type { Activity, Tell } from '../../accounts/activity/model.ts';
import { findProject } from '../../accounts/organizations/projects/store.ts';
import { findOrganization } from '../../accounts/organizations/store.ts';
import type { Tenant } from '../../http/request.ts';
import { readInsights } from '../../insights/stored.ts';
import type { Context } from '../../ports/context.ts';
import { fail } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Item, Op, Table } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import { insightsOf, newToken } from '../create.ts';
import { aboutDashboard, type DashboardPath, foundHead, foundHeadToEdit, headOp } from '../head.ts';
import type { DashboardItem, SharingItem, SharingTokenItem } from '../model.ts';
import { readDashboard } from '../stored.ts';
import type { OpenDashboard, SharingPatch } from './model.ts';

/** A dashboard's head and sharing, whoever asks: to be given to `foundSharing`. */
export type SharingRead = readonly [head: Item | undefined, sharing: Item | undefined];

/** One read. */
export async function readSharing(table: Table, { project_id, id }: DashboardPath): Promise<SharingRead> {
  const [head, sharing] = await table.many([keys.dashboard(project_id, id), keys.sharing(project_id, id)]);
  return [head, sharing];
}

/** The sharing, if the dashboard is there for the member; else 404 or 403. */
export function foundSharing([head, sharing]: SharingRead, tenant: Tenant): SharingItem {
  foundHead(head, tenant);
  return sharing as SharingItem;
}

/** What a change starts from, if the member may edit the dashboard; else 404 or 403. */
export function foundSharingToEdit(read: SharingRead, tenant: Tenant): SharingRead {
  foundHeadToEdit(read[0], tenant);
  return read;
}

/** What a change makes of the sharing; undefined: nothing. */
type Change = (
  sharing: SharingItem,
) => { readonly enabled: boolean; readonly hasNewToken: boolean; readonly activity: Activity } | undefined;

/** As a PATCH says. A token that was open before is not opened again. */
export function toggled({ enabled }: z.output<typeof SharingPatch>): Change {
  return (sharing) =>
    enabled === undefined || enabled === sharing.enabled
      ? undefined
      : {
          enabled,
          hasNewToken: enabled && sharing.was_open,
          activity: enabled ? 'sharing enabled' : 'sharing disabled',
        };
}

/** With another token, and else as it was. */
export const refreshed: Change = ({ enabled }) => ({
  enabled,
  hasNewToken: true,
  activity: 'access token refreshed',
});

/**
 * Changes the sharing with all that follows from it in one transaction: the token that opens the page, and what the
 * head says. Two changes at once both happen, one after the other.
 */
export async function changeSharing(
  { table, random }: Pick<Context, 'table' | 'random'>,
  read: SharingRead,
  {
    tenant,
    change,
    ifMatch,
    tell,
  }: { tenant: Tenant; change: Change; ifMatch: readonly number[] | undefined; tell: Tell },
): Promise<SharingItem> {
  let known: SharingRead | undefined = read;
  const path = foundHead(read[0], tenant);
  return untilWritten(async () => {
    const now = foundSharingToEdit(known ?? (await readSharing(table, path)), tenant);
    known = undefined;
    const [head, sharing] = now as [DashboardItem, SharingItem];
    if (ifMatch !== undefined && !ifMatch.includes(sharing.ver)) fail('precondition_failed');
    const changed = change(sharing);
    if (changed === undefined) return sharing;
    const { enabled, hasNewToken, activity } = changed;
    const after: SharingItem = {
      ...sharing,
      enabled,
      access_token: hasNewToken ? newToken(random) : sharing.access_token,
      was_open: enabled || (sharing.was_open && !hasNewToken),
      ver: sharing.ver + 1,
    };
    await table.write([
      { put: after, if: { is: { ver: sharing.ver } } },
      ...(hasNewToken ? tokenOps(sharing, after, { tenant, path }) : []),
      headOp(head, { is_shared: enabled }),
      ...tell({ ...aboutDashboard(head), activity }),
    ]);
    return after;
  });
}

function tokenOps(
  before: SharingItem,
  after: SharingItem,
  { tenant, path }: { tenant: Tenant; path: DashboardPath },
): Op[] {
  const token: SharingTokenItem = {
    ...keys.sharingToken(after.access_token),
    organization_id: tenant.organization.id,
    project_id: path.project_id,
    dashboard_id: path.id,
  };
  return [{ remove: keys.sharingToken(before.access_token) }, { put: token, if: 'absent' }];
}

/**
 * The dashboard that the token opens to anybody; undefined when it opens none: unknown, replaced, not enabled, or the
 * dashboard, its project or its organization deleted. Two round trips, three with insights.
 */
export async function findShared(table: Table, access_token: string): Promise<OpenDashboard | undefined> {
  const token = (await table.get(keys.sharingToken(access_token))) as SharingTokenItem | undefined;
  if (token === undefined) return undefined;
  const [stored, project, organization] = await Promise.all([
    readDashboard(table, token.project_id, token.dashboard_id),
    findProject(table, token.project_id),
    findOrganization(table, token.organization_id),
  ]);
  if (stored === undefined || project === undefined || organization === undefined) return undefined;
  const { head, sharing, tiles } = stored;
  const isOpen = head.deleted_at === null && sharing.enabled && sharing.access_token === access_token;
  if (!isOpen) return undefined;
  return { stored, insights: await readInsights(table, head.project_id, insightsOf(tiles)) };
}
