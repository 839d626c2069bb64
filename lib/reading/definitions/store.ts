/** The names that events and their properties had lately, with counts. */
import { v5 } from 'uuid';
import { OffsetPage, type Paging } from '../../http/page.ts';
import { allFiles } from '../../lake/catalog.ts';
import type { Context } from '../../ports/context.ts';
import { DAY_MS } from '../../ports/units.ts';
import { LAKE_ROWS } from '../../warehouse/reader.ts';
import { wireMicroseconds } from '../microseconds.ts';
import type { Look } from '../waiting.ts';
import type { NameRow, NamesOf } from './model.ts';

/** Names of the events that happened within so long before are seen. */
const SEEN_MS = 30 * DAY_MS;

/** Any fixed uuid: what is made below it is the same in every version. */
const NAMESPACE = '5b1c2f5e-6f2b-5d0c-9c86-0d7c7a1e4b11';

/** SQL of the names of an event. */
const NAMES: Readonly<Record<NamesOf, string>> = {
  event: 'event',
  property: 'unnest(json_keys(properties))',
};

/** Returns a page of the names, in their order, of those that hold `search`. */
export async function namesSeen(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  look: Look,
  projectId: number,
  { of, search = '', paging }: { of: NamesOf; search?: string | undefined; paging: Paging },
) {
  const since = clock() - SEEN_MS;
  const files = (await allFiles(table, projectId, 'events')).filter(({ max_timestamp }) => max_timestamp >= since);
  if (files.length === 0) return new OffsetPage(paging, [], { count: 0 });
  const { rows, isCut } = await look({
    files,
    parameters: { since: String(since * 1000), search },
    // The first row has no name, and tells how many names there are.
    sql: `WITH seen AS (
        SELECT ${NAMES[of]} AS name, timestamp_us FROM ${LAKE_ROWS} WHERE timestamp_us >= $since::BIGINT
      ), names AS MATERIALIZED (
        SELECT name, count(*) AS volume, max(timestamp_us)::VARCHAR AS last FROM seen
        WHERE contains(lower(name), lower($search)) GROUP BY name
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
  return new OffsetPage(paging, definitions, { count: total?.volume ?? 0 }, isCut);
}
