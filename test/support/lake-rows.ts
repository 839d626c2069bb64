/** Files of the lake that hold the rows that a test names. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { literal } from '../../lib/duckdb/database.ts';
import { FILE_COLUMNS } from '../../lib/exports/destinations/files/config.ts';
import { withHotColumns } from '../../lib/lake/hot-columns.ts';
import { digestOf } from '../../lib/lake/intact.ts';
import { LAKE_MODELS, type Model } from '../../lib/lake/schema.ts';
import type { FileStore } from '../../lib/ports/files/files.ts';
import type { FrozenPlan, LineForm, PlannedFile } from '../../lib/warehouse/warehouse.ts';
import { onAnyFile } from './any-file.ts';

const START = Date.UTC(2026, 0, 1);

/** Events as lines of the columns that files have. */
export const LINES: LineForm = { format: 'JSONLines', columns: FILE_COLUMNS.events };

/** A plain event as a row of the lake: the columns that a test does not name. */
const ROW = {
  uuid: '01940000-0000-7000-8000-000000000001',
  event: 'paid',
  distinct_id: 'ada',
  team_id: 7,
  properties: '{}',
  timestamp_us: START * 1000,
  inserted_us: START * 1000,
  created_us: START * 1000,
  person_id: null,
  person_properties: null,
  elements_chain: null,
};
export type Row = { readonly [Column in keyof typeof ROW]: (typeof ROW)[Column] | string | number | null };

/** The same for persons. */
const PERSON = {
  distinct_id: 'ada',
  team_id: 7,
  person_id: '01940000-0000-5000-8000-000000000001',
  properties: '{}',
  person_distinct_id_version: START * 1000,
  person_version: START * 1000,
  created_us: START * 1000,
  inserted_us: START * 1000,
  is_deleted: false,
  is_identified: false,
  distinct_ids: 1,
  stated_version: -1,
  stated_tie: -1,
};
export type PersonRow = { readonly [Column in keyof typeof PERSON]: (typeof PERSON)[Column] };

/** What a batch of an export of project 7 delivers of these files: all rows of the intervals, but for what is told. */
export const planOf = (
  { files, intervals }: Pick<FrozenPlan, 'files' | 'intervals'>,
  { query, ...told }: Partial<Omit<FrozenPlan, 'query'>> & { readonly query?: Partial<FrozenPlan['query']> } = {},
): FrozenPlan => ({
  attempt: 't',
  exportId: 'e',
  organizationId: 'o',
  teamId: 7,
  model: 'events',
  query: { includeEvents: null, excludeEvents: null, ...query },
  files,
  intervals,
  ...told,
});

type Value = string | number | boolean | null;

/**
 * Writes each list of events as a file of project 7's first day of 2026, into a lake in a folder. `isOld`: as it was done
 * before properties had columns.
 */
export const writeRows = (
  lake: FileStore,
  files: readonly (readonly Partial<Row>[])[],
  isOld: (file: number) => boolean = () => false,
): Promise<FrozenPlan['files']> =>
  write(
    lake,
    'events',
    files.map((rows) => rows.map((row) => ({ ...ROW, ...row }))),
    isOld,
  );

/** The same for persons. */
export const writePersons = (
  lake: FileStore,
  files: readonly (readonly Partial<PersonRow>[])[],
): Promise<FrozenPlan['files']> =>
  write(
    lake,
    'persons',
    files.map((rows) => rows.map((row) => ({ ...PERSON, ...row }))),
  );

async function write(
  lake: FileStore,
  model: Model,
  files: readonly (readonly Readonly<Record<string, Value>>[])[],
  isOld: (file: number) => boolean = () => true,
): Promise<FrozenPlan['files']> {
  const { columns, order } = LAKE_MODELS[model];
  const listed: PlannedFile[] = [];
  return onAnyFile(async (connection) => {
    for (const [n, rows] of files.entries()) {
      const path = `${model}/team_id=7/day=2026-01-01/gen=0/${n}.parquet`;
      mkdirSync(dirname(lake.address(path)), { recursive: true });
      await connection.run(
        `CREATE OR REPLACE TEMP TABLE rows (${columns.map(({ name, type }) => `${name} ${type}`).join(', ')})`,
      );
      const appender = await connection.createAppender('rows', 'main', 'temp');
      for (const row of rows) {
        for (const { name, type } of columns) {
          const value = row[name] ?? null;
          if (value === null) appender.appendNull();
          else if (type === 'BIGINT') appender.appendBigInt(BigInt(value));
          else if (type === 'BOOLEAN') appender.appendBoolean(value === true);
          else appender.appendVarchar(String(value));
        }
        appender.endRow();
      }
      appender.closeSync();
      const sorted = `SELECT * FROM rows ORDER BY ${order.join(', ')}`;
      const names = columns.map(({ name }) => name);
      await connection.run(`COPY (${isOld(n) ? sorted : withHotColumns(`(${sorted})`, names)})
        TO ${literal(lake.address(path))} (FORMAT parquet)`);
      const arrivals = rows.map((row) => Math.floor(Number(row['inserted_us']) / 1000));
      const [from, to] = [Math.min(...arrivals), Math.max(...arrivals)];
      const local = lake.address(path);
      listed.push({ path, bytes: statSync(local).size, sha256: await digestOf(local), from, to });
    }
    return listed;
  });
}
