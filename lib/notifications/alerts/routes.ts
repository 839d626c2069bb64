import * as z from 'zod';
import { integer, text, uuid } from '../../http/fields.ts';
import { pageOf, route } from '../../http/route.ts';
import { insightId } from '../../insights/model.ts';
import { AlertInput, AlertObject, AlertPatch } from './model.ts';

const tag = 'Alerts';
const read = { method: 'GET', scope: 'alert:read', tag } as const;
const write = { scope: 'alert:write', tag } as const;
const all = { paths: ['/api/projects/{project_id}/alerts'], params: z.object({ project_id: integer() }) } as const;
const one = {
  paths: ['/api/projects/{project_id}/alerts/{id}'],
  params: z.object({ project_id: integer(), id: uuid() }),
} as const;

/** What PostHog's alerts have and these have not: detectors of anomalies, times of the day, and agents that look into them. */
const UNSUPPORTED = {
  detector_config: null,
  schedule_restriction: null,
  investigation_agent_enabled: null,
  investigation_gates_notifications: null,
  investigation_inconclusive_action: 'notify',
} as const;

export const listAlerts = route({
  ...read,
  ...all,
  handler: 'alerts/list',
  summary: 'List alerts',
  description: 'Newest first, with what each found and told; those of insights that the caller may see.',
  query: z.object({
    insight: insightId().optional().describe('Those of this insight.'),
    search: text({ blank: true }).optional().describe("Part of the name, or of the insight's."),
  }),
  response: pageOf(AlertObject),
  paging: { kind: 'offset' },
});

export const createAlert = route({
  ...write,
  ...all,
  handler: 'alerts/create',
  method: 'POST',
  summary: 'Create an alert',
  description:
    'Tells a webhook, and members by e-mail, when a number of an insight passes a bound, or changes by a share. It looks ' +
    'at once, then by hour, day, week or month.',
  needs: ['vault'],
  seals: true,
  body: AlertInput,
  example: {
    insight: 1,
    name: 'Few visitors',
    subscribed_users: [],
    threshold: { configuration: { type: 'absolute', bounds: { lower: 100 } } },
    condition: { type: 'absolute_value' },
    config: { type: 'TrendsAlertConfig', series_index: 0 },
    calculation_interval: 'daily',
    notify_url: 'https://hooks.example.com/alerts',
  },
  unsupported: UNSUPPORTED,
  response: AlertObject,
  status: 201,
  idempotent: true,
});

export const retrieveAlert = route({
  ...read,
  ...one,
  handler: 'alerts/retrieve',
  summary: 'Retrieve an alert',
  response: AlertObject,
});

export const updateAlert = route({
  ...write,
  ...one,
  handler: 'alerts/update',
  method: 'PATCH',
  summary: 'Change an alert',
  description: 'Fields that are not sent stay. For whoever made it, and admins.',
  needs: ['vault'],
  seals: true,
  body: AlertPatch,
  example: { snoozed_until: '2h' },
  unsupported: UNSUPPORTED,
  response: AlertObject,
});

export const destroyAlert = route({
  ...write,
  ...one,
  handler: 'alerts/destroy',
  method: 'DELETE',
  summary: 'Delete an alert',
  description: 'For whoever made it, and admins.',
  status: 204,
});
