/**
 * The warehouse on AWS. Athena selects and filters: one UNLOAD for a batch, into a folder of the run's files for each interval,
 * as the lake's own columns. A converter forms the final bytes of an interval; only the function that sends carries one.
 */

import { dayOf } from '../basics/days.ts';
import { trinoColumn, trinoLiterals, trinoText } from '../hogql/trino.ts';
import { inFilesAt, inFilesNamed } from '../lake/athena-files.ts';
import type { Interval } from '../lake/intervals.ts';
import { EVENT_COLUMNS, LAKE_MODELS } from '../lake/schema.ts';
import { Permanent, Transient } from '../ports/errors.ts';
import type { FileStore } from '../ports/files/files.ts';
import { computedColumns, plainColumns } from './query-columns.ts';
import type { FormedFile, FrozenPlan, LineForm, ParquetForm, RowQuery, Warehouse } from './warehouse.ts';

/** Forms an interval's bytes of unloaded Parquet files, in the lake's order of rows. */
export interface Converter {
  count(plan: FrozenPlan, paths: readonly string[], signal: AbortSignal): Promise<number>;
  read(plan: FrozenPlan, paths: readonly string[], form: LineForm, signal: AbortSignal): AsyncIterable<Buffer>;
  files(plan: FrozenPlan, paths: readonly string[], form: ParquetForm, signal: AbortSignal): AsyncIterable<FormedFile>;
}

interface AthenaOptions {
  /** Its tables have the names of the lake's models. */
  readonly database: string;
  readonly workGroup: string;
  readonly lake: Pick<FileStore, 'address'>;
  readonly runFiles: Pick<FileStore, 'address' | 'list'>;
  /** Absent: this function only asks for rows. */
  readonly converter?: Converter;
}

/** A state's payload holds 256 KiB; the query may have 150 kB of them (Athena's own limit is 262,144 bytes). */
const MAX_QUERY = 150_000;

/** A warehouse over the lake's Glue tables. */
export function athenaWarehouse(options: AthenaOptions): Warehouse {
  const { database, workGroup, runFiles, converter } = options;
  const forms = (): Converter => {
    if (converter === undefined) throw new Error('only the function that sends can read rows');
    return converter;
  };

  /** Addresses of what was unloaded for the interval; none: it has no rows. */
  const unloaded = async (plan: FrozenPlan, interval: Interval): Promise<string[]> => {
    if (typeof plan.unloaded !== 'number') throw new Error('the rows of this batch were not unloaded');
    const n = plan.intervals.findIndex(({ start }) => start === interval.start);
    const paths: string[] = [];
    for await (const { path } of runFiles.list(`${plan.attempt}/${plan.unloaded}/interval_number=${n}`))
      paths.push(path);
    return paths;
  };

  return {
    unload: (plan, intervals) =>
      Promise.resolve({
        QueryString: queryOf(plan, intervals, options),
        Database: database,
        WorkGroup: workGroup,
      }),
    count: async (plan, interval, signal) => {
      const paths = await unloaded(plan, interval);
      return paths.length === 0 ? 0 : forms().count(plan, paths, signal);
    },
    read: async function* (plan, interval, form, signal) {
      const paths = await unloaded(plan, interval);
      if (paths.length > 0) yield* forms().read(plan, paths, form, signal);
    },
    files: async function* (plan, interval, form, signal) {
      const paths = await unloaded(plan, interval);
      if (paths.length > 0) yield* forms().files(plan, paths, form, signal);
    },
  };
}

/** The UNLOAD of a batch. `{try}` stands where the state machine puts the number of the try. */
function queryOf(plan: FrozenPlan, numbers: readonly number[], { database, lake, runFiles }: AthenaOptions): string {
  const intervals = numbers.map((n) => [n, plan.intervals[n] as Interval] as const);
  const { columns } = LAKE_MODELS[plan.model];
  const names = columns.map(({ name }) => name);
  const isEvents = plan.model === 'events';
  const of = (where: readonly string[]): string => {
    const ends = isEvents ? [`${endOf(intervals)} AS ${INTERVAL_END}`] : [];
    const rows = [
      `SELECT ${[...names.map(columnOf), `${numberOf(intervals)} AS interval_number`, ...ends].join(', ')}`,
      `FROM "${database}"."${plan.model}"`,
      `WHERE ${where.join(' AND ')}`,
    ].join('\n');
    return [
      `UNLOAD (${isEvents ? selectedOf(rows, plan.query) : newestOf(rows, names)})`,
      `TO '${runFiles.address(plan.attempt)}/{try}/'`,
      "WITH (format = 'PARQUET', compression = 'SNAPPY', partitioned_by = ARRAY['interval_number'])",
    ].join('\n');
  };
  const conditions = conditionsOf(plan, intervals);
  if (Buffer.byteLength(of(conditions)) > MAX_QUERY) {
    throw new Permanent(
      'The names in include_events and exclude_events, with the query and the filters, are too long in sum. Shorten them.',
    );
  }
  // Always with the list: beside the files that it names lie those whose place they have taken.
  const paths = plan.files.map(({ path }) => path);
  for (const list of [inFilesAt(paths.map((path) => lake.address(path))), inFilesNamed(paths)]) {
    const query = of([...conditions, list]);
    if (Buffer.byteLength(query) <= MAX_QUERY) return query;
  }
  throw new Transient(`The rows lie in ${plan.files.length} files, which are being joined.`);
}

/** Of events what the query selects: what orders them, what is delivered as it is, and what is computed. */
function selectedOf(rows: string, { select = null, where = null }: RowQuery): string {
  const plain = plainColumns(select);
  const { order } = LAKE_MODELS.events;
  const kept = EVENT_COLUMNS.map(({ name }) => name).filter(
    (name) => plain === null || plain.has(name) || order.includes(name),
  );
  const computed = computedColumns(select).map(
    ({ field, column }) => `${trinoColumn(column, INTERVAL_END)} AS ${field}`,
  );
  return [
    `SELECT ${[...kept, ...computed, 'interval_number'].join(', ')} FROM (`,
    `${rows})${where === null ? '' : ` WHERE ${trinoText(where, INTERVAL_END)}`}`,
  ].join('\n');
}

/** Of each distinct_id the newest row of each interval. */
const newestOf = (rows: string, names: readonly string[]): string =>
  [
    `SELECT ${names.join(', ')}, interval_number FROM (`,
    'SELECT *, row_number() OVER (PARTITION BY interval_number, distinct_id ORDER BY inserted_us DESC) AS age',
    `FROM (${rows})) WHERE age = 1`,
  ].join('\n');

/** The team is in the path of each file, so it is a partition of the table, as text. */
const columnOf = (name: string): string => (name === 'team_id' ? 'CAST(team_id AS bigint) AS team_id' : name);

/** The end of a row's interval in microseconds, which is what `now()` means in it. */
const INTERVAL_END = 'interval_end';

type Numbered = readonly (readonly [n: number, interval: Interval])[];

const numberOf = (intervals: Numbered): string =>
  `CASE ${intervals.map(([n, interval]) => `WHEN ${within(interval)} THEN ${n}`).join(' ')} END`;

const endOf = (intervals: Numbered): string =>
  `CASE ${intervals.map(([, interval]) => `WHEN ${within(interval)} THEN BIGINT '${interval.end}000'`).join(' ')} END`;

const within = ({ start, end }: Interval): string => `inserted_us >= ${start}000 AND inserted_us < ${end}000`;

function conditionsOf({ teamId, query: { includeEvents, excludeEvents } }: FrozenPlan, numbered: Numbered): string[] {
  const intervals = numbered.map(([, interval]) => interval);
  const first = dayOf(Math.min(...intervals.map(({ start }) => start)));
  const last = dayOf(Math.max(...intervals.map(({ end }) => end - 1)));
  return [
    `team_id = '${teamId}'`,
    `day BETWEEN '${first}' AND '${last}'`,
    `(${intervals.map(within).join(' OR ')})`,
    ...(includeEvents === null || includeEvents.length === 0 ? [] : [`event IN (${trinoLiterals(includeEvents)})`]),
    ...(excludeEvents === null || excludeEvents.length === 0 ? [] : [`event NOT IN (${trinoLiterals(excludeEvents)})`]),
  ];
}
