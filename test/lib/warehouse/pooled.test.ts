import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Expression, QueryColumn } from '../../../lib/hogql/expression.ts';
import { Permanent } from '../../../lib/ports/errors.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { HOUR_MS } from '../../../lib/ports/units.ts';
import { duckdbWarehouse } from '../../../lib/warehouse/duckdb.ts';
import { pooledWarehouse } from '../../../lib/warehouse/pooled.ts';
import { deliveredColumns } from '../../../lib/warehouse/query-columns.ts';
import type { FormedFile, LineForm, ParquetForm } from '../../../lib/warehouse/warehouse.ts';
import { type WorkerPool, workerPool } from '../../../lib/workers/pool.ts';
import { Turns } from '../../../lib/workers/turns.ts';
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
  return { spill, plan, pool, pooled: pooledWarehouse(pool, { folder: spill }), direct: duckdbWarehouse({ lake }) };
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

test('a destination that is slow does not keep the turn of a worker from others', async () => {
  const { plan, spill } = await opened();
  const turns = new Turns({ atOnce: 1, each: 1 });
  const piece = Buffer.from(`${'x'.repeat(999_999)}\n`);
  const pool: Pick<WorkerPool, 'run' | 'stream'> = {
    run: ({ owner }) => turns.run(owner, async () => 20),
    stream: async function* ({ owner, signal }) {
      const giveBack = await turns.take(owner, signal);
      try {
        for (let n = 0; n < 20; n += 1) yield piece;
        return undefined;
      } finally {
        giveBack();
      }
    },
  };
  const pooled = pooledWarehouse(pool, { folder: spill, patienceMs: 0 });
  const rows = pooled.read(plan, interval, LINES, never)[Symbol.asyncIterator]();
  const pieces = [(await rows.next()).value as Buffer];
  expect(await pooled.count({ ...plan, attempt: 'another', organizationId: 'others' }, interval, never)).toBe(20);
  for (let one = await rows.next(); one.done !== true; one = await rows.next()) pieces.push(one.value);
  expect(Buffer.concat(pieces).equals(Buffer.concat(Array(20).fill(piece)))).toBe(true);
  expect(readdirSync(spill)).toEqual([]);
});

test('a file that is on its way does not keep the turn of a worker from others', async () => {
  const { plan, spill } = await opened();
  const turns = new Turns({ atOnce: 1, each: 1 });
  const own = join(spill, 'worker');
  mkdirSync(own);
  const pool: Pick<WorkerPool, 'run' | 'stream'> = {
    run: ({ owner }) => turns.run(owner, async () => 20),
    stream: async function* ({ owner, signal }) {
      const giveBack = await turns.take(owner, signal);
      try {
        const path = join(own, 'rows.parquet');
        writeFileSync(path, 'rows');
        yield Buffer.from(JSON.stringify({ path, isPart: false }));
        rmSync(path, { force: true });
        return undefined;
      } finally {
        giveBack();
      }
    },
  };
  const pooled = pooledWarehouse(pool, { folder: spill });
  const parquet: ParquetForm = { format: 'Parquet', columns: LINES.columns, compression: null, fileBytes: 1 };
  const files = pooled.files(plan, interval, parquet, never)[Symbol.asyncIterator]();
  const first = (await files.next()).value as FormedFile;
  expect(await pooled.count({ ...plan, attempt: 'another', organizationId: 'others' }, interval, never)).toBe(20);
  expect([first.isPart, readFileSync(first.path, 'utf8')]).toEqual([false, 'rows']);
  expect(await files.next()).toMatchObject({ done: true });
  expect(readdirSync(spill, { recursive: true })).toEqual(['worker']);
});

test('files that nobody asks for any more are removed, and their worker is stopped', async () => {
  const { plan, pool, spill, pooled } = await opened();
  const parquet: ParquetForm = { format: 'Parquet', columns: LINES.columns, compression: null, fileBytes: 1 };
  for await (const { path } of pooled.files(plan, interval, parquet, never)) {
    expect(existsSync(path)).toBe(true);
    break;
  }
  expect(pool.isBusy).toBe(false);
  await pool.close();
  expect(readdirSync(spill)).toEqual([]);
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
