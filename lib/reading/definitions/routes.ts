import * as z from 'zod';
import { boolean, choice, integer, text } from '../../http/fields.ts';
import { pageOf, route } from '../../http/route.ts';
import { EventDefinition, NAME_ORDERS, PropertyDefinition } from './model.ts';

const read = { method: 'GET', tag: 'Definitions', needs: ['reader'] } as const;
const params = z.object({ project_id: integer() });
const search = text({ blank: true }).optional().describe('A part of the name, in any case.');
const list = (of: string) => text({ blank: true }).optional().describe(`Only these ${of}, with commas between them.`);
const excluded_properties = text({ blank: true }).optional().describe('JSON of a list of names that are left out.');

/** PostHog's filters by what is not known of names here. */
const UNSUPPORTED = { tags: null, verified: null } as const;

export const listEventDefinitions = route({
  ...read,
  handler: 'event-definitions/list',
  scope: 'event_definition:read',
  paths: ['/api/projects/{project_id}/event_definitions'],
  params,
  summary: 'List event names',
  description:
    'The names of the events that happened in the last 30 days, or in the 30 days before the newest event where that is ' +
    'longer ago; in their order as texts, with counts.',
  query: z.object({
    search,
    names: list('events'),
    excluded_properties,
    event_type: choice(['event', 'event_custom', 'event_posthog'])
      .optional()
      .describe('`event_custom`: those that do not begin with `$`, `event_posthog`: those that do.'),
    ordering: choice(NAME_ORDERS).optional().describe('Default: `name`. With `-` the last first.'),
  }),
  unsupported: { ...UNSUPPORTED, exclude_stale: null },
  response: pageOf(EventDefinition),
  paging: { kind: 'offset' },
});

export const listPropertyDefinitions = route({
  ...read,
  handler: 'property-definitions/list',
  scope: 'property_definition:read',
  paths: ['/api/projects/{project_id}/property_definitions'],
  params,
  summary: 'List property names',
  description: 'The names of the properties of these events, or of persons, in their order as texts, with counts.',
  query: z.object({
    search,
    type: choice(['event', 'person']).optional().describe('Whose they are. Default: of events.'),
    event_names: text().optional().describe('JSON of a list of names of events, for `filter_by_event_names`.'),
    filter_by_event_names: boolean().optional().describe('Only properties that these events have.'),
    exclude_core_properties: boolean().optional().describe('Without names that begin with `$`.'),
    is_feature_flag: boolean().optional().describe('Only names that begin with `$feature/`, or none of them.'),
    properties: list('properties'),
    excluded_properties,
  }),
  unsupported: { ...UNSUPPORTED, is_numerical: null },
  response: pageOf(PropertyDefinition),
  paging: { kind: 'offset' },
});
