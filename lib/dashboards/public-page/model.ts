import * as z from 'zod';
import type { InsightItem } from '../../insights/model.ts';
import { PRIVILEGE } from '../collaborators/model.ts';
import { DashboardDetail, dashboardDetailObject, RESTRICTION, type StoredDashboard } from '../model.ts';

const flag = z.string().optional();

/** How a page is asked to look; it counts that a name is there, not what it holds. */
export const SharedQuery = z.object({
  noHeader: flag.describe('Without name and description.'),
  whitelabel: flag,
  legend: flag,
  detailed: flag,
});

const present = z.literal(true).optional();

/** What a public page is made from: the dashboard as somebody sees it whom nobody knows. */
export const SharedDashboard = z
  .object({
    type: z.enum(['scene', 'embed']).describe('`embed` below `/embedded/`.'),
    accessToken: z.string(),
    dashboard: DashboardDetail.extend({ user_access_level: z.null() }),
    noHeader: present,
    whitelabel: present,
    legend: present,
    detailed: present,
  })
  .meta({ id: 'SharedDashboard' });

/** Upstream's levels of somebody who may only look. */
const LOOKING = {
  effective_restriction_level: RESTRICTION.collaborators,
  effective_privilege_level: PRIVILEGE.view,
  user_access_level: 'viewer',
} as const;

/** A dashboard that a token opens, and the insights that its tiles show. */
export interface OpenDashboard {
  readonly stored: StoredDashboard;
  readonly insights: ReadonlyMap<number, InsightItem>;
}

/** The public object of an open dashboard. It names no user and no other dashboard. */
export function sharedObject(
  { stored, insights }: OpenDashboard,
  { type, query }: { type: 'scene' | 'embed'; query: z.output<typeof SharedQuery> },
): z.input<typeof SharedDashboard> {
  const levels = { ...LOOKING, restriction_level: stored.summary.restriction_level };
  const dashboard = dashboardDetailObject(stored, levels, { userOf: () => null, insights });
  const flags = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, true] as const]));
  return {
    type,
    accessToken: stored.sharing.access_token,
    dashboard: { ...dashboard, use_dashboard: null, user_access_level: null },
    ...Object.fromEntries(flags),
  };
}
