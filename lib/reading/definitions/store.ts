/** The names that events and their properties had lately, and those of the properties of persons, with counts. */
import { v5 } from 'uuid';
import * as z from 'zod';
import { DAY_MS } from '../../basics/units.ts';
import { readJson } from '../../http/json.ts';
import { OffsetPage, type Paging } from '../../http/page.ts';
import { allFiles } from '../../lake/catalog.ts';
import type { Context } from '../../ports/context.ts';
import { invalid } from '../../ports/errors.ts';
import { LAKE_ROWS } from '../../warehouse/reader.ts';
import { wireMicroseconds } from '../microseconds.ts';
import type { Look } from '../waiting.ts';
import type { NameRow, NamesAsked, NamesOf } from './model.ts';

/** Names of the events that happened within so long before now are seen; where there are none, before the newest event. */
const SEEN_MS = 30 * DAY_MS;

/** Any fixed uuid: what is made below it is the same in every version. */
const NAMESPACE = '5b1c2f5e-6f2b-5d0c-9c86-0d7c7a1e4b11';

/** SQL of names with when they were seen, microseconds since 1970. */
const SEEN: Readonly<Record<NamesOf, string>> = {
  event: `SELECT event AS name, timestamp_us AS seen_us FROM ${LAKE_ROWS} WHERE timestamp_us >= $since::BIGINT`,
  property: `SELECT unnest(json_keys(properties)) AS name, timestamp_us AS seen_us FROM ${LAKE_ROWS}
    WHERE timestamp_us >= $since::BIGINT AND ($events = '' OR list_contains(json_extract_string($events, '$[*]'), event))`,
  // Of the newest row of each distinct_id; all those of a person have the same properties.
  person: `SELECT DISTINCT ON (person_id, name) unnest(json_keys(properties)) AS name, inserted_us AS seen_us FROM (
      SELECT * FROM ${LAKE_ROWS} QUALIFY row_number() OVER (PARTITION BY distinct_id ORDER BY inserted_us DESC) = 1
    ) WHERE NOT is_deleted`,
};

/** Returns a page of the names that are asked for, in their order. */
export async function namesSeen(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  look: Look,
  projectId: number,
  { of, paging, ...asked }: NamesAsked & { readonly of: NamesOf; readonly paging: Paging },
) {
  const all = await allFiles(table, projectId, of === 'person' ? 'persons' : 'events');
  const newest = all.reduce((latest, { max_timestamp }) => Math.max(latest, max_timestamp), 0);
  const recent = clock() - SEEN_MS;
  const since = newest >= recent ? recent : newest - SEEN_MS;
  const files = of === 'person' ? all : all.filter(({ max_timestamp }) => max_timestamp >= since);
  if (files.length === 0) return new OffsetPage(paging, [], { count: 0 });
  const { search = '', events, isCore, isFlag } = asked;
  const conditions = [
    'contains(lower(name), lower($search))',
    ...(isCore === false ? [`NOT starts_with(name, '$')`] : []),
    ...(isFlag === undefined ? [] : [`starts_with(name, '$feature/') = ${String(isFlag)}`]),
  ];
  const { rows, isCut } = await look({
    files,
    parameters: {
      search,
      ...(of === 'person' ? {} : { since: String(since * 1000) }),
      ...(of === 'property' ? { events: events === undefined ? '' : JSON.stringify(events) } : {}),
    },
    // The first row has no name, and tells how many names there are.
    sql: `WITH seen AS (${SEEN[of]}), names AS MATERIALIZED (
        SELECT name, count(*) AS volume, max(seen_us)::VARCHAR AS last FROM seen
        WHERE ${conditions.join(' AND ')} GROUP BY name
      )
      SELECT * FROM (
        SELECT NULL AS name, count(*) AS volume, '' AS last FROM names
        UNION ALL (SELECT * FROM names ORDER BY name LIMIT ${paging.limit} OFFSET ${paging.offset})
      ) ORDER BY name NULLS FIRST`,
  });
  const [total, ...names] = rows as unknown as readonly NameRow[];
  const definitions = names.map(({ name, volume, last }) => ({
    id: v5(`${projectId}:${of}:${name}`, NAMESPACE),
    name,
    volume_30_day: volume,
    last_seen_at: wireMicroseconds(last),
  }));
  return new OffsetPage(paging, definitions, {
    count: total?.volume ?? 0,
    ...(isCut && { taken: definitions.length }),
  });
}

const Names = z.array(z.string());

/** Returns the names that `event_names` holds as JSON. Throws a 400 that says what it should be. */
export const namesOfEvents = (text: string): string[] =>
  readJson(Names, text) ?? invalid('event_names', 'Expected JSON of a list of names: ["$pageview"].');
