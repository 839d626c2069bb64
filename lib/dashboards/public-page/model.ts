import * as z from 'zod';
import { integer, text } from '../../http/fields.ts';
import type { ResultFields } from '../../insights/results.ts';
import { PRIVILEGE } from '../collaborators/model.ts';
import { DashboardDetail, type DashboardWithInsights, dashboardDetailObject, RESTRICTION } from '../model.ts';

const flag = z.string().optional();

/** The ranges that readers may choose, where the owner of a page lets them: `date_from`, and what a reader calls it. */
export const RANGES = [
  ['dStart', 'Today'],
  ['-7d', '7 days'],
  ['-14d', '14 days'],
  ['-30d', '30 days'],
  ['-90d', '90 days'],
  ['-180d', '180 days'],
  ['yStart', 'This year'],
] as const;

/** How the page should look, and what of it is asked for. A flag counts when it is there, whatever its value. */
export const SharedQuery = z.object({
  noHeader: flag.describe('Without name and description.'),
  whitelabel: flag,
  legend: flag,
  detailed: flag,
  date_from: z
    .string()
    .optional()
    .describe(
      `Where the owner lets readers choose: ${RANGES.map(([from]) => `\`${from}\``).join(', ')}, or the first day with ` +
        'events, with the last one as `date_to`.',
    ),
  date_to: z.string().optional(),
  filter: z.string().optional().describe('The name of a filter, where the owner lets readers choose one.'),
  tile: integer().optional().describe('Of `.csv`: the number of a tile.'),
});

/** The body with which somebody enters the password of a page. */
export const PasswordForm = z.object({ password: text({ max: 1000, trim: false }) });

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

const FLAGS = ['noHeader', 'whitelabel', 'legend', 'detailed'] as const;

/** PostHog's levels of somebody who may only look. */
const READER_RIGHTS = {
  effective_restriction_level: RESTRICTION.collaborators,
  effective_privilege_level: PRIVILEGE.view,
  user_access_level: 'viewer',
} as const;

/**
 * Returns the public object of a dashboard that a token opens. It names no user and no other dashboard, and of its
 * insights it has the results, not what was asked.
 */
export function sharedObject(
  { stored, insights }: DashboardWithInsights,
  results: ReadonlyMap<number, ResultFields>,
  { type, query }: { type: 'scene' | 'embed'; query: z.output<typeof SharedQuery> },
): z.input<typeof SharedDashboard> {
  const rights = { ...READER_RIGHTS, restriction_level: stored.summary.restriction_level };
  const dashboard = dashboardDetailObject({ stored, insights }, results, rights, () => null);
  const flags = FLAGS.flatMap((name) => (query[name] === undefined ? [] : [[name, true] as const]));
  const tiles = dashboard.tiles.map((tile) =>
    tile.insight === null ? tile : { ...tile, insight: { ...tile.insight, query: null, filters: {} } },
  );
  return {
    type,
    accessToken: stored.sharing.access_token,
    dashboard: { ...dashboard, tiles, filters: {}, variables: {}, use_dashboard: null, user_access_level: null },
    ...Object.fromEntries(flags),
  };
}
