import * as z from 'zod';
import { boolean, integer } from '../http/fields.ts';
import { pageOf, route } from '../http/route.ts';
import { Insight, InsightInput, InsightPatch, InsightQuery, insightId, ResultQuery } from './model.ts';

const tag = 'Insights';
const read = { method: 'GET', scope: 'insight:read', tag } as const;
const write = { scope: 'insight:write', tag } as const;
const all = { paths: ['/api/projects/{project_id}/insights'], params: z.object({ project_id: integer() }) } as const;
const one = {
  paths: ['/api/projects/{project_id}/insights/{id}'],
  params: z.object({ project_id: integer(), id: insightId() }),
} as const;

const UNSUPPORTED = { _create_in_folder: null, order: null } as const;

/** PostHog's filters of the list: a list that passed them over would hold what was not asked for. */
const FILTERS = {
  created_by: null,
  created_date_from: null,
  created_date_to: null,
  dashboards: null,
  date_from: null,
  date_to: null,
  events: null,
  feature_flag: null,
  format: 'json',
  hide_feature_flag_insights: null,
  insight: null,
  last_viewed_date_from: null,
  last_viewed_date_to: null,
  saved: true,
  tags: null,
  user: null,
} as const;

export const listInsights = route({
  ...read,
  ...all,
  handler: 'insights/list',
  summary: 'List insights',
  description:
    'Newest first unless `order` says otherwise, without those that are deleted, or on hidden dashboards only. With `deleted: true` those that are ' +
    'deleted instead.',
  query: InsightQuery,
  unsupported: FILTERS,
  response: pageOf(Insight),
  paging: { kind: 'offset' },
});

export const createInsight = route({
  ...write,
  ...all,
  handler: 'insights/create',
  method: 'POST',
  needs: ['answers'],
  summary: 'Create an insight',
  description: 'A saved question, with a tile on each of `dashboards`.',
  body: InsightInput,
  example: {
    name: 'Visitors a day',
    query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: '$pageview', math: 'dau' }] },
  },
  unsupported: UNSUPPORTED,
  response: Insight,
  status: 201,
  idempotent: true,
});

export const retrieveInsight = route({
  ...read,
  ...one,
  handler: 'insights/retrieve',
  summary: 'Retrieve an insight',
  description:
    'For whoever made it or sees a dashboard that shows it; for everyone when none does. Without `refresh` its answer ' +
    'is the cached one, if there is one.',
  needs: ['answers'],
  query: ResultQuery.extend({
    basic: boolean().optional().describe('Leaves the answer out.'),
    from_dashboard: integer().optional().describe('With the filters of this dashboard.'),
  }),
  unsupported: { format: 'json' },
  response: Insight,
});

export const updateInsight = route({
  ...write,
  ...one,
  handler: 'insights/update',
  method: 'PATCH',
  needs: ['answers'],
  summary: 'Change an insight',
  description:
    'Fields that are not sent stay. `dashboards` is the whole list: the insight gets a tile where it has none, and ' +
    'loses those elsewhere. `deleted: true` deletes softly, `deleted: false` brings back. For whoever made it or may ' +
    'edit every dashboard on which its maker put it (where that is none, every one that shows it); with `dashboards` or ' +
    '`dashboard` alone, for whoever may read it and edit what gets or loses it.',
  body: InsightPatch,
  example: { name: 'Visitors', tags: ['weekly'] },
  unsupported: UNSUPPORTED,
  response: Insight,
});
