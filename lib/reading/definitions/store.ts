/** The names that events and their properties had lately, and those of the properties of persons, with counts. */
import { v5 } from 'uuid';
import * as z from 'zod';
import { definedOf } from '../../basics/defined.ts';
import { DAY_MS } from '../../basics/units.ts';
import { readJson } from '../../http/json.ts';
import { OffsetPage, type Paging } from '../../http/page.ts';
import { lastOf } from '../../lake/catalog.ts';
import type { Context } from '../../ports/context.ts';
import { invalid } from '../../ports/errors.ts';
import { LAKE_ROWS } from '../../warehouse/reader.ts';
import { wireMicroseconds } from '../microseconds.ts';
import type { Look } from '../waiting.ts';
import type { NameOrder, NameRow, NamesAsked, NamesOf } from './model.ts';

/** Names of the events that happened within so long before now are seen; where there are none, before the newest event. */
const SEEN_MS = 30 * DAY_MS;

/** Any fixed uuid: what is made below it is the same in every version. */
const NAMESPACE = '5b1c2f5e-6f2b-5d0c-9c86-0d7c7a1e4b11';

/** SQL that the parameter, which is JSON of a list of names, has one. */
const holds = (parameter: string, name: string): string =>
  `list_contains(json_extract_string(${parameter}, '$[*]'), ${name})`;

/** SQL of names with when they were seen, microseconds since 1970. */
const SEEN: Readonly<Record<NamesOf, string>> = {
  event: `SELECT event AS name, timestamp_us AS seen_us FROM ${LAKE_ROWS} WHERE timestamp_us >= $since::BIGINT`,
  property: `SELECT unnest(json_keys(properties)) AS name, timestamp_us AS seen_us FROM ${LAKE_ROWS}
    WHERE timestamp_us >= $since::BIGINT AND ($events = '' OR ${holds('$events', 'event')})`,
  // Of the newest row of each distinct_id; all those of a person have the same properties.
  person: `SELECT DISTINCT ON (person_id, name) unnest(json_keys(properties)) AS name, inserted_us AS seen_us FROM (
      SELECT * FROM ${LAKE_ROWS} QUALIFY row_number() OVER (PARTITION BY distinct_id ORDER BY inserted_us DESC) = 1
    ) WHERE NOT is_deleted`,
};

/** SQL of the orders of names. Those that were seen at one time come by their names. */
const ORDERS: Readonly<Record<NameOrder, string>> = {
  name: 'name',
  '-name': 'name DESC',
  last_seen_at: 'try_cast(last AS BIGINT), name',
  '-last_seen_at': 'try_cast(last AS BIGINT) DESC, name',
};

/** Returns a page of the names that are asked for, in their order. */
export async function namesSeen(
  { clock }: Pick<Context, 'clock'>,
  look: Look,
  { of, paging, ...asked }: NamesAsked & { readonly of: NamesOf; readonly paging: Paging },
) {
  const all = await look.files(of === 'person' ? 'persons' : 'events');
  const newest = lastOf(all, 'max_timestamp');
  const recent = clock() - SEEN_MS;
  const since = newest >= recent ? recent : newest - SEEN_MS;
  const files = of === 'person' ? all : all.filter(({ max_timestamp }) => max_timestamp >= since);
  const { search = '', events, isCore, isFlag, among, except, order = 'name' } = asked;
  const conditions = [
    'contains(lower(name), lower($search))',
    ...(isCore === undefined ? [] : [`starts_with(name, '$') = ${String(isCore)}`]),
    ...(isFlag === undefined ? [] : [`starts_with(name, '$feature/') = ${String(isFlag)}`]),
    ...(among === undefined ? [] : [holds('$among', 'name')]),
    ...(except === undefined ? [] : [`NOT ${holds('$except', 'name')}`]),
  ];
  const { rows, isCut } = await look.rows<NameRow>({
    files,
    parameters: {
      search,
      ...(of === 'person' ? {} : { since: String(since * 1000) }),
      ...(of === 'property' ? { events: events === undefined ? '' : JSON.stringify(events) } : {}),
      ...definedOf({ among: among && JSON.stringify(among), except: except && JSON.stringify(except) }),
    },
    // The first row has no name, and tells how many names there are.
    sql: `WITH seen AS (${SEEN[of]}), names AS MATERIALIZED (
        SELECT name, count(*) AS volume, max(seen_us)::VARCHAR AS last FROM seen
        WHERE ${conditions.join(' AND ')} GROUP BY name
      )
      SELECT * FROM (
        SELECT NULL AS name, count(*) AS volume, '' AS last FROM names
        UNION ALL (SELECT * FROM names ORDER BY ${ORDERS[order]} LIMIT ${paging.limit} OFFSET ${paging.offset})
      ) ORDER BY name IS NOT NULL, ${ORDERS[order]}`,
  });
  const [total, ...names] = rows;
  const definitions = names.map(({ name, volume, last }) => ({
    id: v5(`${look.project}:${of}:${name}`, NAMESPACE),
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

/** Returns the names that a parameter holds as JSON; undefined: it was not sent, or is empty. Throws a 400 that says what it should be. */
export const namesInJson = (parameter: string, text: string | undefined): string[] | undefined =>
  text ? (readJson(Names, text) ?? invalid(parameter, 'Expected JSON of a list of names: ["$pageview"].')) : undefined;

/** Returns the names between commas; undefined: there are none. */
export function namesBetweenCommas(text = ''): string[] | undefined {
  const names = text.split(',').filter((name) => name !== '');
  return names.length === 0 ? undefined : names;
}
