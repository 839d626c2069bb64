import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOUR_MS } from '../../../lib/basics/units.ts';
import type { Expression, QueryColumn } from '../../../lib/hogql/expression.ts';
import { Permanent } from '../../../lib/ports/errors.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
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

/** A warehouse with one worker, which hands over files of these texts, in one place, and tells how many it has formed. */
function forming(spill: string, texts: readonly string[], fileBytes?: number) {
  const turns = new Turns({ atOnce: 1, each: 1 });
  const path = join(spill, 'worker', 'rows.parquet');
  mkdirSync(join(spill, 'worker'));
  const state = { path, formed: 0, ended: Promise.withResolvers<void>() };
  const pool: Pick<WorkerPool, 'run' | 'stream'> = {
    run: ({ owner }) => turns.run(owner, async () => 20),
    stream: async function* ({ owner, signal }) {
      const giveBack = await turns.take(owner, signal);
      try {
        for (const text of texts) {
          writeFileSync(path, text);
          state.formed += 1;
          yield Buffer.from(JSON.stringify({ path, isPart: texts.length > 1 }));
        }
        return undefined;
      } finally {
        rmSync(path, { force: true });
        giveBack();
        state.ended.resolve();
      }
    },
  };
  return { pooled: pooledWarehouse(pool, { folder: spill, ...(fileBytes && { fileBytes }) }), state };
}

const PARQUET: ParquetForm = { format: 'Parquet', columns: LINES.columns, compression: null, fileBytes: 1 };

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
};

/** How many files wait for receivers, or are on their way. */
const waitingIn = (spill: string): number =>
  readdirSync(spill)
    .filter((name) => name.startsWith('files-'))
    .flatMap((name) => readdirSync(join(spill, name))).length;

test.each([[['rows']], [['one', 'two', 'three']]])(
  'files on their way do not keep the turn of a worker: %j',
  async (texts) => {
    const { plan, spill } = await opened();
    const { pooled } = forming(spill, texts);
    const files = pooled.files(plan, interval, PARQUET, never)[Symbol.asyncIterator]();
    const taken = [(await files.next()).value as FormedFile];
    expect(await pooled.count({ ...plan, attempt: 'another', organizationId: 'others' }, interval, never)).toBe(20);
    const found = [readFileSync(taken[0]?.path ?? '', 'utf8')];
    for (let one = await files.next(); one.done !== true; one = await files.next()) {
      taken.push(one.value);
      found.push(readFileSync(one.value.path, 'utf8'));
    }
    expect(found).toEqual(texts);
    expect(taken.map(({ isPart }) => isPart)).toEqual(texts.map(() => texts.length > 1));
    expect(readdirSync(spill, { recursive: true })).toEqual(['worker']);
  },
);

test('files on their way take no more of the disk than they may: the worker waits with the next one', async () => {
  const { plan, spill } = await opened();
  const { pooled, state } = forming(spill, ['1111', '2222', '3333', '4444'], 10);
  const found: string[] = [];
  for await (const { path } of pooled.files(plan, interval, PARQUET, never)) {
    while (state.formed < Math.min(4, found.length + 3)) await settled();
    await settled();
    expect(waitingIn(spill)).toBeLessThanOrEqual(2);
    expect(state.formed).toBe(Math.min(4, found.length + 3));
    found.push(readFileSync(path, 'utf8'));
  }
  expect(found).toEqual(['1111', '2222', '3333', '4444']);
});

test('a file that is larger than that stays where its worker has formed it, which waits', async () => {
  const { plan, spill } = await opened();
  const { pooled, state } = forming(spill, ['1111', '22222222222', '3333'], 10);
  const found: unknown[] = [];
  for await (const { path } of pooled.files(plan, interval, PARQUET, never)) {
    while (state.formed < 2) await settled();
    await settled();
    found.push([readFileSync(path, 'utf8'), path === state.path, state.formed]);
  }
  expect(found).toEqual([
    ['1111', false, 2],
    ['22222222222', true, 2],
    ['3333', false, 3],
  ]);
  await state.ended.promise;
  expect(readdirSync(spill, { recursive: true })).toEqual(['worker']);
});

test.each([
  ['waits with the next one', ['1111', '2222', '3333', '4444']],
  ['keeps a large one', ['22222222222', '3333']],
])('a receiver that leaves while the worker %s stops it', async (_, texts) => {
  const { plan, spill } = await opened();
  const { pooled, state } = forming(spill, texts, 10);
  for await (const _ of pooled.files(plan, interval, PARQUET, never)) {
    await settled();
    break;
  }
  await state.ended.promise;
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
