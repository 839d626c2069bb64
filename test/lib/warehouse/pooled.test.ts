import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Expression, QueryColumn } from '../../../lib/hogql/expression.ts';
import { Permanent } from '../../../lib/ports/errors.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { HOUR_MS } from '../../../lib/ports/units.ts';
import { duckdbWarehouse } from '../../../lib/warehouse/duckdb.ts';
import { pooledWarehouse } from '../../../lib/warehouse/pooled.ts';
import { deliveredColumns } from '../../../lib/warehouse/query-columns.ts';
import type { LineForm, ParquetForm } from '../../../lib/warehouse/warehouse.ts';
import { type WorkerPool, workerPool } from '../../../lib/workers/pool.ts';
import { temporaryFolder } from '../../support/context.ts';
import { formed } from '../../support/formed-rows.ts';
import { LINES, planOf, writeRows } from '../../support/lake-rows.ts';

const never = new AbortController().signal;
const START = Date.UTC(2026, 0, 1);
const interval = { start: START, end: START + HOUR_MS };

const pools: WorkerPool[] = [];
afterAll(() => Promise.all(pools.map((pool) => pool.close())));

/** A lake of three events in two files, with the warehouse of workers and the one that they use over it. */
async function opened() {
  const folder = temporaryFolder();
  const root = join(folder, 'lake');
  const spill = join(folder, 'spill');
  mkdirSync(spill);
  const lake = folderFiles(root);
  const files = await writeRows(lake, [[{ uuid: 'u1' }, { uuid: 'u2', event: 'left' }], [{ uuid: 'u3' }]]);
  const pool = workerPool({
    program: join(import.meta.dirname, '../../../lib/warehouse/row-worker.ts'),
    options: { lake: root, memoryLimit: '100MB' },
    what: 'Selecting its rows',
    turns: { atOnce: 2, each: 2 },
    memory: { each: 500, all: 1_000 },
    silenceMs: 60_000,
    folder: spill,
    log: { warning: () => {} },
  });
  pools.push(pool);
  const plan = planOf({ files, intervals: [interval] });
  return { spill, plan, pool, pooled: pooledWarehouse(pool), direct: duckdbWarehouse({ lake }) };
}

test('rows come from a worker as the warehouse itself gives them', async () => {
  const { plan, pooled, direct } = await opened();
  expect(await pooled.count(plan, interval, never)).toBe(3);
  const lines = await formed(pooled, plan, interval, LINES);
  expect(lines.join('')).toBe((await formed(direct, plan, interval, LINES)).join(''));
  const parquet: ParquetForm = { format: 'Parquet', columns: LINES.columns, compression: null, fileBytes: 1 };
  const files = await formed(pooled, plan, interval, parquet);
  expect(files).toEqual(await formed(direct, plan, interval, parquet));
  expect(files).toHaveLength(3);
});

test('an interval that no file touches asks nobody', async () => {
  const { plan, pooled, pool } = await opened();
  await pool.close();
  expect(await pooled.count({ ...plan, files: [] }, interval, never)).toBe(0);
});

test('a query that takes too much memory is killed, at the third time for good, and leaves nothing behind', async () => {
  const { plan, pooled, pool, spill } = await opened();
  // Each step makes the text forty times as long: 4 GB in the end.
  const forty: Expression = { constant: 'u'.repeat(40), type: 'text' };
  let grown: Expression = { column: 'uuid', type: 'text' };
  for (let step = 1; step <= 6; step += 1)
    grown = { operator: 'replace', of: [grown, forty], with: { text: 'u' }, type: 'text' };
  const select: QueryColumn[] = [{ name: 'x', type: 'text', expression: grown }];
  const hostile = { ...plan, query: { ...plan.query, select } };
  const form: LineForm = { format: 'JSONLines', columns: deliveredColumns(select, []) };
  const lost = { loss: 'memory', message: 'Selecting its rows needs more than 500 MB of memory.' };
  await expect(formed(pooled, hostile, interval, form)).rejects.toMatchObject(lost);
  await expect(formed(pooled, hostile, interval, form)).rejects.toMatchObject(lost);
  await expect(formed(pooled, hostile, interval, form)).rejects.toBeInstanceOf(Permanent);
  expect(await pooled.count({ ...plan, attempt: 'another' }, interval, never)).toBe(3);
  await pool.close();
  expect(readdirSync(spill)).toEqual([]);
});
