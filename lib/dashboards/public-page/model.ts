import * as z from 'zod';
import { PRIVILEGE } from '../collaborators/model.ts';
import { DashboardDetail, type DashboardWithInsights, dashboardDetailObject, RESTRICTION } from '../model.ts';

const flag = z.string().optional();

/** How the page should look. A name counts when it is there, whatever its value. */
export const SharedQuery = z.object({
  noHeader: flag.describe('Without name and description.'),
  whitelabel: flag,
  legend: flag,
  detailed: flag,
});

const present = z.literal(true).optional();

/** The data of a public page: the dashboard, as an unknown reader may see it. */
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

/** PostHog's levels of somebody who may only look. */
const READER_LEVELS = {
  effective_restriction_level: RESTRICTION.collaborators,
  effective_privilege_level: PRIVILEGE.view,
  user_access_level: 'viewer',
} as const;

/** Returns the public object of a dashboard that a token opens. It names no user and no other dashboard. */
export function sharedObject(
  { stored, insights }: DashboardWithInsights,
  { type, query }: { type: 'scene' | 'embed'; query: z.output<typeof SharedQuery> },
): z.input<typeof SharedDashboard> {
  const levels = { ...READER_LEVELS, restriction_level: stored.summary.restriction_level };
  const dashboard = dashboardDetailObject({ stored, insights }, new Map(), levels, () => null);
  const flags = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, true] as const]));
  return {
    type,
    accessToken: stored.sharing.access_token,
    dashboard: { ...dashboard, use_dashboard: null, user_access_level: null },
    ...Object.fromEntries(flags),
  };
}
