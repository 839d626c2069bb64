/**
 * The warehouse on AWS. Athena selects and filters: one UNLOAD for a chunk, into a folder of the spool for each slot,
 * as the lake's own columns. A converter forms the final bytes of a slot; only the function that sends carries one.
 */

import { trinoColumn, trinoLiteral, trinoText } from '../hogql/trino.ts';
import type { Slot } from '../lake/intervals.ts';
import { EVENT_COLUMNS, LAKE_MODELS, type Model } from '../lake/schema.ts';
import { Permanent } from '../ports/errors.ts';
import type { Spool } from '../ports/files/files.ts';
import { computedColumns, plainColumns } from './query-columns.ts';
import type { Form, FrozenPlan, RowQuery, Warehouse } from './warehouse.ts';

/** Forms a slot's bytes of unloaded Parquet files, in the lake's order of rows. */
export interface Converter {
  count(paths: readonly string[], signal: AbortSignal): Promise<number>;
  read(model: Model, paths: readonly string[], form: Form, signal: AbortSignal): AsyncIterable<Buffer>;
}

interface AthenaOptions {
  /** Its tables have the names of the lake's models. */
  readonly database: string;
  readonly workGroup: string;
  readonly lake: Pick<Spool, 'address'>;
  readonly spool: Pick<Spool, 'address' | 'list'>;
  /** Absent: this function only asks for rows. */
  readonly converter?: Converter;
}

/** A state's payload holds 256 KiB; the query may have 150 kB of them (Athena's own limit is 262,144 bytes). */
const MAX_QUERY = 150_000;

/** A warehouse over the lake's Glue tables. */
export function athenaWarehouse({ database, workGroup, lake, spool, converter }: AthenaOptions): Warehouse {
  const forms = (): Converter => {
    if (converter === undefined) throw new Error('only the function that sends can read rows');
    return converter;
  };

  /** Addresses of what was unloaded for the slot; none: it has no rows. */
  const unloaded = async (plan: FrozenPlan, slot: Slot): Promise<string[]> => {
    if (typeof plan.unloaded !== 'number') throw new Error('the rows of this chunk were not unloaded');
    const n = plan.slots.findIndex(({ start }) => start === slot.start);
    const paths: string[] = [];
    for await (const { path } of spool.list(`${plan.token}/${plan.unloaded}/slot=${n}`)) paths.push(path);
    return paths;
  };

  return {
    unload: (plan, slots) =>
      Promise.resolve({ QueryString: queryOf(plan, slots, database, lake, spool), WorkGroup: workGroup }),
    count: async (plan, slot, signal) => {
      const paths = await unloaded(plan, slot);
      return paths.length === 0 ? 0 : forms().count(paths, signal);
    },
    read: async function* (plan, slot, form, signal) {
      const paths = await unloaded(plan, slot);
      if (paths.length > 0) yield* forms().read(plan.model, paths, form, signal);
    },
  };
}

/** The UNLOAD of a chunk. `{attempt}` stands where the state machine puts the number of the attempt. */
function queryOf(
  plan: FrozenPlan,
  numbers: readonly number[],
  database: string,
  lake: AthenaOptions['lake'],
  spool: AthenaOptions['spool'],
): string {
  const slots = numbers.map((n) => [n, plan.slots[n] as Slot] as const);
  const { columns } = LAKE_MODELS[plan.model];
  const names = columns.map(({ name }) => name);
  const isEvents = plan.model === 'events';
  const of = (where: readonly string[]): string => {
    const ends = isEvents ? [`${endOf(slots)} AS ${SLOT_END}`] : [];
    const rows = [
      `SELECT ${[...names.map(columnOf), `${numberOf(slots)} AS slot`, ...ends].join(', ')}`,
      `FROM "${database}"."${plan.model}"`,
      `WHERE ${where.join(' AND ')}`,
    ].join('\n');
    return [
      `UNLOAD (${isEvents ? selectedOf(rows, plan.query) : newestOf(rows, names)})`,
      `TO '${spool.address(plan.token)}/{attempt}/'`,
      "WITH (format = 'PARQUET', compression = 'SNAPPY', partitioned_by = ARRAY['slot'])",
    ].join('\n');
  };
  const conditions = conditionsOf(
    plan,
    slots.map(([, slot]) => slot),
  );
  // With very many files the list is left out: rows that were added since are history, which a run may deliver too.
  const whole = of([...conditions, filesOf(plan, lake)]);
  const query = Buffer.byteLength(whole) <= MAX_QUERY ? whole : of(conditions);
  if (Buffer.byteLength(query) > MAX_QUERY) {
    throw new Permanent(
      'The names in include_events and exclude_events, with the query and the filters, are too long in sum. Shorten them.',
    );
  }
  return query;
}

/** Of events what the query selects: what orders them, what is delivered as it is, and what is computed. */
function selectedOf(rows: string, { select = null, where = null }: RowQuery): string {
  const plain = plainColumns(select);
  const { order } = LAKE_MODELS.events;
  const kept = EVENT_COLUMNS.map(({ name }) => name).filter(
    (name) => plain === null || plain.has(name) || order.includes(name),
  );
  const computed = computedColumns(select).map(({ field, column }) => `${trinoColumn(column, SLOT_END)} AS ${field}`);
  return [
    `SELECT ${[...kept, ...computed, 'slot'].join(', ')} FROM (`,
    `${rows})${where === null ? '' : ` WHERE ${trinoText(where, SLOT_END)}`}`,
  ].join('\n');
}

/** Of each distinct_id the newest row of each slot. */
const newestOf = (rows: string, names: readonly string[]): string =>
  [
    `SELECT ${names.join(', ')}, slot FROM (`,
    'SELECT *, row_number() OVER (PARTITION BY slot, distinct_id ORDER BY inserted_us DESC) AS age',
    `FROM (${rows})) WHERE age = 1`,
  ].join('\n');

/** The team is in the path of each file, so it is a partition of the table, as text. */
const columnOf = (name: string): string => (name === 'team_id' ? 'CAST(team_id AS bigint) AS team_id' : name);

/** The end of a row's slot in microseconds, which is what `now()` means in it. */
const SLOT_END = 'slot_end';

type Numbered = readonly (readonly [n: number, slot: Slot])[];

const numberOf = (slots: Numbered): string =>
  `CASE ${slots.map(([n, slot]) => `WHEN ${within(slot)} THEN ${n}`).join(' ')} END`;

const endOf = (slots: Numbered): string =>
  `CASE ${slots.map(([, slot]) => `WHEN ${within(slot)} THEN BIGINT '${slot.end}000'`).join(' ')} END`;

const within = ({ start, end }: Slot): string => `inserted_us >= ${start}000 AND inserted_us < ${end}000`;

function conditionsOf(
  { teamId, query: { includeEvents, excludeEvents } }: FrozenPlan,
  slots: readonly Slot[],
): string[] {
  const days = [Math.min(...slots.map(({ start }) => start)), Math.max(...slots.map(({ end }) => end - 1))].map(dayOf);
  return [
    `team_id = '${teamId}'`,
    `day BETWEEN '${days[0]}' AND '${days[1]}'`,
    `(${slots.map(within).join(' OR ')})`,
    ...(includeEvents === null || includeEvents.length === 0 ? [] : [`event IN (${literals(includeEvents)})`]),
    ...(excludeEvents === null || excludeEvents.length === 0 ? [] : [`event NOT IN (${literals(excludeEvents)})`]),
  ];
}

const dayOf = (instant: number): string => new Date(instant).toISOString().slice(0, 10);

const filesOf = ({ files }: FrozenPlan, lake: AthenaOptions['lake']): string =>
  `"$path" IN (${literals(files.map(({ path }) => lake.address(path)))})`;

const literals = (texts: readonly string[]): string => texts.map(trinoLiteral).join(', ');
