/** Answers that show a dashboard: with its insights, and with the users who made what is there. */
import type * as z from 'zod';
import { placeIn } from '../accounts/organizations/projects/store.ts';
import type { Caller, Tenant } from '../accounts/organizations/tenant.ts';
import { userLookup } from '../accounts/users/lookup.ts';
import { Answer } from '../http/answer.ts';
import { parseJson } from '../http/json.ts';
import { FiltersOverride, type Overrides, VariablesOverride } from '../insights/overrides.ts';
import { type Asking, resultsOf } from '../insights/results.ts';
import { readInsights } from '../insights/store.ts';
import type { Context } from '../ports/context.ts';
import { fail } from '../ports/errors.ts';
import { bringBack } from './insights/deletion.ts';
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
  context: Pick<Context, 'table' | 'clock' | 'answers' | 'callerLeft'>,
  { stored, insights: known }: { stored: StoredDashboard; insights?: DashboardWithInsights['insights'] },
  tenant: Tenant,
  { user }: Caller,
  { refresh, overrides }: Pick<Asking, 'refresh' | 'overrides'> = { refresh: 'force_cache' },
): Promise<Answer<z.input<typeof DashboardDetail>>> {
  const { summary } = stored;
  const tiles = summary.deleted_at === null ? stored.tiles : [];
  const insights = known ?? (await readInsights(context.table, summary.project_id, insightsOf(tiles)));
  const authors = [...tiles, ...insights.values()].flatMap((one) => [one.created_by, one.last_modified_by]);
  const asking: Asking = {
    project: placeIn(tenant).project,
    refresh,
    overrides: dashboardOverrides(stored, overrides),
    dashboard: summary.id,
  };
  const live = [...insights.values()].filter(({ deleted_at }) => deleted_at === null);
  const [userOf, results] = await Promise.all([
    userLookup(context, [summary.created_by, ...authors], user),
    resultsOf(context, live, asking, { callerLeft: context.callerLeft, user: user.uuid }),
  ]);
  const body = dashboardDetailObject({ stored, insights }, results, rightsOf(summary, tenant.membership), userOf);
  // Its version tells of its tiles, not of what their insights are called, ask and answer.
  return new Answer(body, { version: summary.ver, isComputed: insights.size > 0 });
}

/**
 * Returns what a dashboard says of the queries of its insights. A filter or a variable that is given takes the place of
 * the dashboard's own; the others hold on, as in PostHog.
 */
export function dashboardOverrides({ detail }: Pick<StoredDashboard, 'detail'>, given: Overrides = {}): Overrides {
  const filters = FiltersOverride.safeParse(parseJson(detail.filters)).data;
  const variables = VariablesOverride.safeParse(parseJson(detail.variables)).data;
  return {
    filters: { ...filters, ...given.filters },
    variables: [...(variables === undefined ? [] : [variables]), ...(given.variables ?? [])],
  };
}

/** Returns the answer to a create that is repeated: the dashboard as it is now, with insights of which it was cut off. */
export async function replayAnswer(
  context: Pick<Context, 'table' | 'clock' | 'answers' | 'callerLeft'>,
  id: number,
  tenant: Tenant,
  caller: Caller,
): Promise<Answer<z.input<typeof DashboardDetail>>> {
  const stored = (await readDashboard(context.table, placeIn(tenant).project.id, id)) ?? fail('not_found');
  checkCanSee(stored.summary, tenant.membership);
  if (stored.summary.deleted_at === null) await bringBack(context.table, stored.summary, insightsOf(stored.tiles));
  return dashboardAnswer(context, { stored }, tenant, caller);
}
