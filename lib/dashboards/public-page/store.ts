import { findProject } from '../../accounts/organizations/projects/store.ts';
import { findOrganization } from '../../accounts/organizations/store.ts';
import { readInsights } from '../../insights/store.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Table } from '../../ports/table/table.ts';
import type { DashboardWithInsights } from '../model.ts';
import { readDashboard } from '../store.ts';
import { insightsOf } from '../tiles.ts';

/**
 * Returns the dashboard that a token opens to anybody; undefined when it opens none: the token is unknown, replaced or
 * not enabled, or the dashboard, its project or its organization is deleted. Two round trips, three with insights.
 */
export async function findShared(table: Table, access_token: string): Promise<DashboardWithInsights | undefined> {
  const token = await table.get(keys.sharingToken(access_token));
  if (token === undefined) return undefined;
  const [stored, project, organization] = await Promise.all([
    readDashboard(table, token.project_id, token.dashboard_id),
    findProject(table, token.project_id),
    findOrganization(table, token.organization_id),
  ]);
  if (stored === undefined || project === undefined || organization === undefined) return undefined;
  const { summary, sharing, tiles } = stored;
  const isOpen = summary.deleted_at === null && sharing.enabled && sharing.access_token === access_token;
  if (!isOpen) return undefined;
  return { stored, insights: await readInsights(table, summary.project_id, insightsOf(tiles)) };
}
