/** Dashboards as answers show them: with their insights, and with the users who made what is there. */
import type * as z from 'zod';
import type { Caller, Tenant } from '../accounts/organizations/tenant.ts';
import { userLookup } from '../accounts/users/lookup.ts';
import type { UserItem } from '../accounts/users/model.ts';
import { Answer } from '../http/answer.ts';
import type { InsightItem } from '../insights/model.ts';
import { readInsights } from '../insights/store.ts';
import type { Context } from '../ports/context.ts';
import { fail } from '../ports/errors.ts';
import type { Made } from './create.ts';
import { type DashboardDetail, dashboardDetailObject, type Levels, type StoredDashboard } from './model.ts';
import { checkCanSee, rightsOf } from './rules.ts';
import { readDashboard } from './store.ts';
import { insightsOf } from './tiles.ts';

/**
 * The detail form. Insights that are not handed over are read with one `many`, users that were not seen within the
 * last minute with another.
 */
async function dashboardDetail(
  context: Pick<Context, 'table' | 'clock'>,
  stored: StoredDashboard,
  levels: Levels,
  known: { user?: UserItem; insights?: ReadonlyMap<number, InsightItem> } = {},
): Promise<z.input<typeof DashboardDetail>> {
  const { summary } = stored;
  const tiles = summary.deleted_at === null ? stored.tiles : [];
  const insights = known.insights ?? (await readInsights(context.table, summary.project_id, insightsOf(tiles)));
  const authors = [...tiles, ...insights.values()].flatMap((one) => [one.created_by, one.last_modified_by]);
  const userOf = await userLookup(context, [summary.created_by, ...authors], known.user);
  return dashboardDetailObject(stored, levels, { userOf, insights });
}

/** The answer that shows a dashboard to the caller, with its version. */
export async function dashboardAnswer(
  context: Pick<Context, 'table' | 'clock'>,
  stored: StoredDashboard,
  { membership }: Tenant,
  { user }: Caller,
  insights?: ReadonlyMap<number, InsightItem>,
): Promise<Answer<z.input<typeof DashboardDetail>>> {
  const known = { user, ...(insights === undefined ? {} : { insights }) };
  const shown = await dashboardDetail(context, stored, rightsOf(stored.summary, membership), known);
  return new Answer(shown, { version: stored.summary.ver });
}

/** The answer to a create. */
export async function creationAnswer(
  context: Pick<Context, 'table' | 'clock'>,
  { stored, insights }: Made,
  tenant: Tenant,
  caller: Caller,
): Promise<Answer<z.input<typeof DashboardDetail>>> {
  return dashboardAnswer(context, stored, tenant, caller, insights);
}

/** The answer to a create that is repeated: the dashboard as it is now. */
export async function replayAnswer(
  context: Pick<Context, 'table' | 'clock'>,
  { project, id }: { project: number; id: number },
  tenant: Tenant,
  caller: Caller,
): Promise<Answer<z.input<typeof DashboardDetail>>> {
  const stored = await readDashboard(context.table, project, id);
  if (stored === undefined) fail('not_found');
  checkCanSee(stored.summary, tenant.membership);
  return dashboardAnswer(context, stored, tenant, caller);
}
