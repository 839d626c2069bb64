import type { QueryTable, Type } from '../hogql/expression.ts';
import type { EVENT_COLUMNS } from './schema.ts';

type EventColumn = (typeof EVENT_COLUMNS)[number]['name'];

/** Which column each field of HogQL's `events` is. Its names are those of the fields that delivered columns are made of. */
const FIELDS: Readonly<Record<string, { readonly column: EventColumn; readonly type: Type; readonly uuid?: boolean }>> =
  {
    uuid: { column: 'uuid', type: 'text', uuid: true },
    event: { column: 'event', type: 'text' },
    distinct_id: { column: 'distinct_id', type: 'text' },
    team_id: { column: 'team_id', type: 'integer' },
    properties: { column: 'properties', type: 'json' },
    timestamp: { column: 'timestamp_us', type: 'instant' },
    created_at: { column: 'created_us', type: 'instant' },
    _inserted_at: { column: 'inserted_us', type: 'instant' },
    elements_chain: { column: 'elements_chain', type: 'text' },
    person_id: { column: 'person_id', type: 'text', uuid: true },
    person_properties: { column: 'person_properties', type: 'json' },
  };

/** The lake's events, as queries may select from them. */
export const EVENTS_TABLE: QueryTable = new Map(Object.entries(FIELDS));
