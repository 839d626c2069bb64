import * as z from 'zod';
import { boolean, integer, oneOf, text, uuid } from '../../http/fields.ts';
import { BY_CURSOR_OR_OFFSET, cursorPageOf, route } from '../../http/route.ts';
import { Person, PersonsDeleted } from './model.ts';

const tag = 'Persons';
const read = { method: 'GET', scope: 'person:read', tag, needs: ['reader'] } as const;

export const listPersons = route({
  ...read,
  handler: 'persons/list',
  paths: ['/api/projects/{project_id}/persons'],
  params: z.object({ project_id: integer() }),
  summary: 'List persons',
  description:
    'The newest person first. `properties` is JSON of a list of filters, of which each must hold: ' +
    '`[{"key": "plan", "value": ["pro"], "operator": "exact", "type": "person"}]`.',
  query: z.object({
    search: text({ blank: true }).optional().describe('A part of `email` or `name`, or a whole distinct_id.'),
    distinct_id: text({ trim: false, blank: true }).optional().describe('The person with it.'),
    email: text({ blank: true }).optional().describe('The persons whose property `email` it is.'),
    properties: text({ blank: true }).optional().describe('Filters, as JSON.'),
  }),
  unsupported: { cohort: null, format: 'json' },
  response: cursorPageOf(Person),
  paging: BY_CURSOR_OR_OFFSET,
});

export const retrievePerson = route({
  ...read,
  handler: 'persons/retrieve',
  paths: ['/api/projects/{project_id}/persons/{id}'],
  params: z.object({ project_id: integer(), id: uuid() }),
  summary: 'Retrieve a person',
  response: Person,
});

export const destroyPerson = route({
  handler: 'persons/destroy',
  method: 'DELETE',
  paths: ['/api/projects/{project_id}/persons/{id}'],
  scope: 'person:write',
  tag,
  needs: ['reader', 'personRemoval'],
  params: z.object({ project_id: integer(), id: uuid() }),
  summary: 'Delete a person',
  description:
    'With all their distinct_ids and properties; exports deliver the deletion. Their events stay unless `delete_events` is ' +
    'true. A later event of theirs makes them a person again, without properties. 204: they are gone. 202, on AWS and where ' +
    'events are too many for a request: they will be, minutes later, the person last. 409, on one machine: events are being imported.',
  query: z.object({
    delete_events: boolean()
      .optional()
      .describe('Their events go too, and are not taken again; what of it lies on the disk is removed two days later.'),
  }),
  unsupported: { keep_person: null },
  status: 204,
  orAccepted: true,
});

export const destroyPersons = route({
  handler: 'persons/bulk-destroy',
  method: 'POST',
  paths: ['/api/projects/{project_id}/persons/bulk_delete'],
  scope: 'person:write',
  tag,
  needs: ['reader', 'personRemoval'],
  params: z.object({ project_id: integer() }),
  summary: 'Delete persons',
  description:
    'As one is deleted, up to 1,000 at once: by `ids`, `distinct_ids` or both. Where nobody is known by a distinct_id, ' +
    '`delete_events` has the events with it deleted all the same. On one machine they are gone, unless events are too many ' +
    'for a request; then, and on AWS, they will be, minutes later.',
  body: z
    .object({
      ids: z.array(uuid()).optional().describe('Of persons.'),
      distinct_ids: z
        .array(text({ trim: false }))
        .optional()
        .describe('Their persons go, with all that they have.'),
      delete_events: boolean().optional().describe('Their events go too, and are not taken again.'),
      delete_recordings: boolean().optional().describe('Changes nothing: recordings are not kept.'),
    })
    .meta(oneOf('ids', 'distinct_ids')),
  example: { distinct_ids: ['ada'], delete_events: true },
  unsupported: { keep_person: null },
  response: PersonsDeleted,
  status: 202,
});
