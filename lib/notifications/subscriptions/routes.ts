import * as z from 'zod';
import { integer, text } from '../../http/fields.ts';
import { pageOf, route } from '../../http/route.ts';
import { insightId } from '../../insights/model.ts';
import { SubscriptionInput, SubscriptionObject, SubscriptionPatch } from './model.ts';

const tag = 'Subscriptions';
const read = { method: 'GET', scope: 'subscription:read', tag } as const;
const write = { scope: 'subscription:write', tag } as const;
const all = {
  paths: ['/api/projects/{project_id}/subscriptions'],
  params: z.object({ project_id: integer() }),
} as const;
const one = {
  paths: ['/api/projects/{project_id}/subscriptions/{id}'],
  params: z.object({ project_id: integer(), id: integer() }),
} as const;

/** What PostHog's subscriptions have and these have not: texts of language models, installed apps, invitations. */
const UNSUPPORTED = {
  prompt: null,
  ai_config: null,
  ai_prompt_config: null,
  summary_enabled: null,
  summary_prompt_guide: null,
  integration_id: null,
  invite_message: null,
} as const;

export const listSubscriptions = route({
  ...read,
  ...all,
  handler: 'subscriptions/list',
  summary: 'List subscriptions',
  description: 'Newest first, with how the latest was sent; those of dashboards and insights that the caller may see.',
  query: z.object({
    dashboard: integer().optional().describe('Those of this dashboard.'),
    insight: insightId().optional().describe('Those of this insight.'),
    search: text({ blank: true }).optional().describe('Part of the title, or of the name of what is sent.'),
  }),
  response: pageOf(SubscriptionObject),
  paging: { kind: 'offset' },
});

export const createSubscription = route({
  ...write,
  ...all,
  handler: 'subscriptions/create',
  method: 'POST',
  summary: 'Create a subscription',
  description:
    'Sends the numbers of a dashboard or an insight by day, week, month or year: what whoever made it may see then. ' +
    "Times are told by the project's clocks.",
  needs: ['vault'],
  seals: true,
  body: SubscriptionInput,
  example: {
    insight: 1,
    target_type: 'webhook',
    target_value: 'https://hooks.example.com/reports',
    frequency: 'weekly',
    byweekday: ['monday'],
    start_date: '2026-01-05T07:00:00Z',
    title: 'Visitors',
  },
  unsupported: UNSUPPORTED,
  response: SubscriptionObject,
  status: 201,
  idempotent: true,
});

export const retrieveSubscription = route({
  ...read,
  ...one,
  handler: 'subscriptions/retrieve',
  summary: 'Retrieve a subscription',
  response: SubscriptionObject,
});

export const updateSubscription = route({
  ...write,
  ...one,
  handler: 'subscriptions/update',
  method: 'PATCH',
  summary: 'Change a subscription',
  description:
    'Fields that are not sent stay. `deleted: true` deletes softly, `deleted: false` brings back. For whoever made it, ' +
    'and admins.',
  needs: ['vault'],
  seals: true,
  body: SubscriptionPatch,
  example: { enabled: false },
  unsupported: UNSUPPORTED,
  response: SubscriptionObject,
});

export const destroySubscription = route({
  ...write,
  handler: 'subscriptions/destroy',
  method: 'DELETE',
  paths: one.paths,
  summary: 'Refused: subscriptions are deleted softly',
  description: 'Always 405, without a body. A subscription is removed by PATCH with `deleted: true`.',
  params: z.object({ project_id: z.string(), id: z.string() }),
  status: 405,
});
