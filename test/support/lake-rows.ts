/** Files of the lake that hold the rows that a test names. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { FILE_COLUMNS } from '../../lib/batch-exports/destinations/files.ts';
import { EVENT_COLUMNS } from '../../lib/lake/schema.ts';
import type { Spool } from '../../lib/spool/spool.ts';
import { literal, openDatabase } from '../../lib/warehouse/embedded-database.ts';
import type { Form, FrozenPlan } from '../../lib/warehouse/warehouse.ts';

const START = Date.UTC(2026, 0, 1);

/** Events as lines of the columns that files have. */
export const LINES: Form = { format: 'JSONLines', columns: FILE_COLUMNS.events };

/** A row of the lake; what is not given is as a plain event has it. */
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

/** Writes each list of rows as a file of project 7's first day of 2026, into a lake in a folder. */
export async function writeRows(
  lake: Spool,
  files: readonly (readonly Partial<Row>[])[],
): Promise<FrozenPlan['files']> {
  const database = await openDatabase({});
  const connection = await database.connect();
  const columns = EVENT_COLUMNS.map(({ name, type }) => `${name} ${type}`).join(', ');
  const listed: { path: string; from: number; to: number }[] = [];
  for (const [n, rows] of files.entries()) {
    const path = `events/team_id=7/day=2026-01-01/gen=0/${n}.parquet`;
    const all = rows.map((row) => ({ ...ROW, ...row }));
    mkdirSync(dirname(lake.address(path)), { recursive: true });
    await connection.run(`CREATE OR REPLACE TABLE rows (${columns})`);
    for (const row of all)
      await connection.run(
        `INSERT INTO rows VALUES (${EVENT_COLUMNS.map((_, at) => `$${at + 1}`).join(', ')})`,
        EVENT_COLUMNS.map(({ name, type }) =>
          type === 'BIGINT' && row[name] !== null ? BigInt(row[name]) : row[name],
        ),
      );
    await connection.run(`COPY (SELECT * FROM rows ORDER BY inserted_us, timestamp_us, uuid)
      TO ${literal(lake.address(path))} (FORMAT parquet)`);
    const arrivals = all.map(({ inserted_us }) => Math.floor(Number(inserted_us) / 1000));
    listed.push({ path, from: Math.min(...arrivals), to: Math.max(...arrivals) });
  }
  connection.closeSync();
  database.closeSync();
  return listed;
}
