/** Answers that show a dashboard: with its insights, and with the users who made what is there. */
import type * as z from 'zod';
import type { Caller, Tenant } from '../accounts/organizations/tenant.ts';
import { userLookup } from '../accounts/users/lookup.ts';
import { Answer } from '../http/answer.ts';
import { readInsights } from '../insights/store.ts';
import type { Context } from '../ports/context.ts';
import { fail } from '../ports/errors.ts';
import {
  type DashboardDetail,
  type DashboardWithInsights,
  dashboardDetailObject,
  type StoredDashboard,
} from './model.ts';
import { checkCanSee, rightsOf } from './rules.ts';
import { readDashboard } from './store.ts';
import { insightsOf } from './tiles.ts';

/**
 * Returns the answer that shows a dashboard to the caller, with its version. Insights that are not handed over are read
 * with one `many`, users that were not seen within the last minute with another.
 */
export async function dashboardAnswer(
  context: Pick<Context, 'table' | 'clock'>,
  { stored, insights: known }: { stored: StoredDashboard; insights?: DashboardWithInsights['insights'] },
  { membership }: Tenant,
  { user }: Caller,
): Promise<Answer<z.input<typeof DashboardDetail>>> {
  const { summary } = stored;
  const tiles = summary.deleted_at === null ? stored.tiles : [];
  const insights = known ?? (await readInsights(context.table, summary.project_id, insightsOf(tiles)));
  const authors = [...tiles, ...insights.values()].flatMap((one) => [one.created_by, one.last_modified_by]);
  const userOf = await userLookup(context, [summary.created_by, ...authors], user);
  const body = dashboardDetailObject({ stored, insights }, rightsOf(summary, membership), userOf);
  return new Answer(body, { version: summary.ver });
}

/** Returns the answer to a create that is repeated: the dashboard as it is now. */
export async function replayAnswer(
  context: Pick<Context, 'table' | 'clock'>,
  { project, id }: { project: number; id: number },
  tenant: Tenant,
  caller: Caller,
): Promise<Answer<z.input<typeof DashboardDetail>>> {
  const stored = (await readDashboard(context.table, project, id)) ?? fail('not_found');
  checkCanSee(stored.summary, tenant.membership);
  return dashboardAnswer(context, { stored }, tenant, caller);
}
