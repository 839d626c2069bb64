import * as z from 'zod';
import { datetime, integer, text, uuid } from '../../http/fields.ts';
import { BY_CURSOR_OR_OFFSET, cursorPageOf, route } from '../../http/route.ts';
import { LakeEvent } from './model.ts';

const tag = 'Events';
const read = { method: 'GET', scope: 'query:read', tag, needs: ['reader'] } as const;

export const listEvents = route({
  ...read,
  handler: 'events/list',
  paths: ['/api/projects/{project_id}/events'],
  params: z.object({ project_id: integer() }),
  summary: 'List events',
  description:
    'Newest first, by when they happened. `properties` is JSON of a list of filters, of which each must hold: ' +
    '`[{"key": "plan", "value": ["pro"], "operator": "exact"}]`. A page of the newest events reads only the newest ' +
    'files of the lake; a filter that few events pass reads on until the page is full.',
  query: z.object({
    event: text({ trim: false, blank: true }).optional().describe('Its name.'),
    distinct_id: text({ trim: false, blank: true }).optional(),
    person_id: uuid().optional().describe('A uuid: the events of all distinct_ids of the person.'),
    after: datetime().optional().describe('Events that happened after it.'),
    before: datetime().optional().describe('Events that happened before it.'),
    properties: text({ blank: true }).optional().describe('Filters, as JSON.'),
  }),
  unsupported: { select: null, where: null, orderBy: '["-timestamp"]', format: 'json' },
  response: cursorPageOf(LakeEvent),
  paging: BY_CURSOR_OR_OFFSET,
});

export const retrieveEvent = route({
  ...read,
  handler: 'events/retrieve',
  paths: ['/api/projects/{project_id}/events/{id}'],
  params: z.object({ project_id: integer(), id: uuid() }),
  summary: 'Retrieve an event',
  description: 'By its uuid. Where several events have it, the newest.',
  response: LakeEvent,
});
