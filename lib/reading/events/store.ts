/** Events of the lake, newest first: the newest files are read first, and no more of them than a page takes. */
import type * as z from 'zod';
import type { LakeFile } from '../../lake/catalog.ts';
import { parseLegible } from '../../lake/sources/exact-json.ts';
import { compareText } from '../../ports/table/semantics.ts';
import { LAKE_ROWS } from '../../warehouse/reader.ts';
import { fittingIn, MOST_SORTED_WHOLE } from '../fitting.ts';
import { sortableMicroseconds } from '../microseconds.ts';
import { type Given, readingParameters } from '../parameters.ts';
import type { StateRow } from '../persons/model.ts';
import { newestStates } from '../persons/store.ts';
import { propertyConditions, type propertyFilters } from '../property-filter.ts';
import { cursorOf, sortKeyOf } from '../row-cursor.ts';
import type { Look } from '../waiting.ts';
import type { EventRow, LakeEvent } from './model.ts';

/** Which events are asked for. Absent: any. */
interface EventsAsked {
  readonly uuid?: string | undefined;
  readonly event?: string | undefined;
  readonly distinctId?: string | undefined;
  /** Events of any of their distinct_ids, and those that carry their id. */
  readonly person?: { readonly id: string; readonly distinctIds: readonly string[] } | undefined;
  /** Milliseconds since 1970; not included. */
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly properties?: ReturnType<typeof propertyFilters>;
  readonly cursor?: string | undefined;
  /** So many of them are passed over; these are looked for in all files. */
  readonly offset?: number;
}

/** Newest first; what is equal by all of these is one event. */
const ORDER = ['timestamp_us', 'uuid', 'event', 'distinct_id'] as const;

/** So many files are read at first, of so many rows in sum; then each time so many times as many. */
const FIRST = { files: 64, rows: 50_000 };
const GROWTH = 8;

/** Rows of an answer have so many bytes, in JSON. */
const MAX_BYTES = 4_000_000;

/** Returns the newest events, `limit` of them at most or what fits into an answer, and the cursor of those behind them. */
export async function newestEvents(
  look: Look,
  asked: EventsAsked,
  limit: number,
): Promise<{ rows: EventRow[]; next: string | undefined }> {
  const place = asked.cursor === undefined ? undefined : sortKeyOf(asked.cursor, ORDER.length);
  const latest = Math.min(asked.before ?? Infinity, place === undefined ? Infinity : Number(place[0]) / 1000);
  const files = (await look.files('events'))
    .filter(
      ({ min_timestamp, max_timestamp }) => min_timestamp <= latest && max_timestamp >= (asked.after ?? -Infinity),
    )
    .toSorted((a, b) => b.max_timestamp - a.max_timestamp);
  if (asked.offset !== undefined && asked.offset > 0) {
    const cursor = await lastPassedOver(look, files, asked, place, asked.offset);
    if (cursor === undefined) return { rows: [], next: undefined };
    return newestEvents(look, { ...asked, cursor, offset: 0 }, limit);
  }
  const query = queryOf(asked, place, limit + 1);
  let found: EventRow[] = [];
  /** Where the rows of some files were cut: of these files what comes behind is not known. */
  let cut: EventRow | undefined;
  for (let [from, times] = [0, 1]; from < files.length; times *= GROWTH) {
    const some = firstOf(files.slice(from), times);
    from += some.length;
    const { rows, isCut } = await look.rows<EventRow>({ ...query, files: some });
    const last = isCut ? rows.at(-1) : undefined;
    if (last !== undefined && (cut === undefined || newerFirst(last, cut) < 0)) cut = last;
    found = [...found, ...rows]
      .filter((row) => cut === undefined || newerFirst(row, cut) <= 0)
      .toSorted(newerFirst)
      .slice(0, limit + 1);
    const edge = cut ?? found.at(limit);
    // Nothing in the files that are left is as new.
    if (edge !== undefined && Number(edge.at) >= ((files[from]?.max_timestamp ?? -Infinity) + 1) * 1000) break;
  }
  const rows = fitting(found.slice(0, limit));
  const last = rows.at(-1);
  const hasMore = cut !== undefined || rows.length < found.length;
  return { rows, next: hasMore && last !== undefined ? cursorOf(placeIn(last)) : undefined };
}

/** Returns the cursor of the last of so many events that are passed over; undefined: there are no more than these. */
async function lastPassedOver(
  look: Look,
  files: readonly LakeFile[],
  asked: EventsAsked,
  place: readonly string[] | undefined,
  offset: number,
): Promise<string | undefined> {
  const { parameters, sql } = queryOf(asked, place, 1, { columns: PLACE_COLUMNS, offset: offset - 1 });
  const { rows } = await look.rows<Place>({ files, parameters, sql });
  const [last] = rows;
  return last === undefined ? undefined : cursorOf(placeIn(last));
}

type Place = Pick<EventRow, 'at' | 'uuid' | 'event' | 'distinct_id'>;

const placeIn = ({ at, uuid, event, distinct_id }: Place): string[] => [at, uuid, event, distinct_id];

function newerFirst(a: EventRow, b: EventRow): number {
  const [x, y] = [placeIn(a), placeIn(b)];
  return (
    Number(b.at) - Number(a.at) || x.slice(1).reduce((sign, text, n) => sign || compareText(y[n + 1] ?? '', text), 0)
  );
}

/** The files that are read at once, at least one. */
function firstOf(files: readonly LakeFile[], times: number): readonly LakeFile[] {
  let rows = 0;
  const last = files.findIndex((file, n) => (rows += file.rows) >= FIRST.rows * times || n + 1 >= FIRST.files * times);
  return last === -1 ? files : files.slice(0, last + 1);
}

/** The first rows that fit into an answer, at least one. */
function fitting(rows: readonly EventRow[]): EventRow[] {
  let bytes = 0;
  const over = rows.findIndex((row, n) => (bytes += Buffer.byteLength(JSON.stringify(row))) > MAX_BYTES && n > 0);
  return over === -1 ? [...rows] : rows.slice(0, over);
}

const PLACE_COLUMNS = 'timestamp_us::VARCHAR AS at, uuid, event, distinct_id';
const ALL_COLUMNS = `${PLACE_COLUMNS}, properties, elements_chain`;

function queryOf(
  asked: EventsAsked,
  place: readonly string[] | undefined,
  limit: number,
  { columns, offset } = { columns: ALL_COLUMNS, offset: 0 },
) {
  const { uuid, event, distinctId, person, after, before, properties = [] } = asked;
  const { parameters, given } = readingParameters();
  const whose = (person?.distinctIds ?? []).map((id, n) => `distinct_id = ${given(`of${n}`, id)}`);
  const conditions = [
    ...(uuid === undefined ? [] : [`uuid = ${given('uuid', uuid)}`]),
    ...(event === undefined ? [] : [`event = ${given('event', event)}`]),
    ...(distinctId === undefined ? [] : [`distinct_id = ${given('distinct_id', distinctId)}`]),
    ...(person === undefined ? [] : [`(${[`person_id = ${given('person_id', person.id)}`, ...whose].join(' OR ')})`]),
    ...(after === undefined ? [] : [`timestamp_us > ${given('after', String(after * 1000))}::BIGINT`]),
    ...(before === undefined ? [] : [`timestamp_us < ${given('before', String(before * 1000))}::BIGINT`]),
    ...propertyConditions(properties, given),
    ...(place === undefined ? [] : behind(place, given)),
  ];
  const where = ['true', ...conditions].join(' AND ');
  const inOrder = `ORDER BY ${ORDER.map((column) => `${column} DESC`).join(', ')}`;
  const page = `LIMIT ${limit} OFFSET ${offset}`;
  if (columns !== ALL_COLUMNS || limit <= MOST_SORTED_WHOLE)
    return { parameters, sql: `SELECT ${columns} FROM ${LAKE_ROWS} WHERE ${where} ${inOrder} ${page}` };
  const keys = ORDER.join(', ');
  const sql = `WITH places AS MATERIALIZED (
      SELECT ${keys}, coalesce(strlen(properties), 0) + coalesce(strlen(elements_chain), 0) AS bytes
      FROM ${LAKE_ROWS} WHERE ${where} ${inOrder} ${page}
    ), fitting AS MATERIALIZED (
      SELECT ${keys} FROM places ${fittingIn(inOrder)}
    ) SELECT ${columns} FROM ${LAKE_ROWS} SEMI JOIN fitting USING (${keys}) ${inOrder} LIMIT ${limit}`;
  return { parameters, sql };
}

/** The conditions of what comes behind a place; the first alone passes over row groups. */
function behind(place: readonly string[], given: Given): string[] {
  const [at, ...rest] = place.map((text, n) => `${given(`place${n}`, text)}${n === 0 ? '::BIGINT' : ''}`);
  return [`timestamp_us <= ${at}`, `(${ORDER.join(', ')}) < (${[at, ...rest].join(', ')})`];
}

/** Returns events as they are answered, with what is known of their persons now. */
export async function eventObjects(look: Look, rows: readonly EventRow[]): Promise<z.output<typeof LakeEvent>[]> {
  const states = await newestStates(look, [...new Set(rows.map((row) => row.distinct_id))]);
  const byDistinctId = new Map(states.map((state) => [state.distinct_id, state]));
  return rows.map((row) => ({
    id: row.uuid,
    distinct_id: row.distinct_id,
    properties: parseLegible(row.properties ?? '{}'),
    event: row.event,
    timestamp: sortableMicroseconds(row.at),
    person: personOf(byDistinctId.get(row.distinct_id)),
    elements_chain: row.elements_chain ?? '',
  }));
}

function personOf(state: StateRow | undefined) {
  if (state === undefined) return null;
  return {
    is_identified: state.is_identified,
    distinct_ids: [state.distinct_id],
    properties: parseLegible(state.shown),
  };
}
