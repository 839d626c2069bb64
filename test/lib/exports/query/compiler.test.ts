import { join } from 'node:path';
import { type Compiler, pooledCompiler } from '../../../../lib/exports/query/compiler.ts';
import { Failure, Permanent } from '../../../../lib/ports/errors.ts';
import { type PoolTask, type WorkerPool, workerPool } from '../../../../lib/workers/pool.ts';
import { temporaryFolder } from '../../../support/context.ts';

const QUERY = 'SELECT event FROM events';
/** It is read in some tenths of a second. */
const LONG = `SELECT ${Array.from({ length: 500 }, (_, n) => `event AS a${n}`).join(', ')} FROM events`;

const pools: WorkerPool[] = [];
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.close())));

function opened(silenceMs = 60_000): Compiler {
  const pool = workerPool({
    program: join(import.meta.dirname, '../../../../lib/exports/query/query-worker.ts'),
    options: null,
    what: 'Reading the query',
    turns: { atOnce: 2, each: 1, waiting: { each: 1, all: 2 } },
    memory: { each: 300, all: 600 },
    silenceMs,
    folder: temporaryFolder(),
    log: { warning: () => {} },
  });
  pools.push(pool);
  return pooledCompiler(pool);
}

const ours = { organization: 'ours' };
const theirs = { organization: 'theirs' };

test('a query is compiled by a worker, and what is wrong with it is the failure that its sender meets', async () => {
  const compiler = opened();
  const stored = await compiler.fields({ hogql_query: 'SELECT event FROM events' }, ours);
  expect(stored).toEqual({ hogql_query: 'SELECT event FROM events', schema: expect.any(String) });
  const { select } = await compiler.selection(
    { hogql_query: 'SELECT event FROM events', schema: null, filters: null },
    ours,
  );
  expect(select).toMatchObject([{ name: 'event' }]);
  const failed = compiler.fields({ hogql_query: 'SELECT event FROM nothing' }, ours);
  await expect(failed).rejects.toBeInstanceOf(Failure);
  await expect(failed).rejects.toMatchObject({ status: 400, body: { attr: 'hogql_query' } });
  const unsupported = compiler.selection(
    { hogql_query: 'SELECT nothing FROM events', schema: null, filters: null },
    ours,
  );
  await expect(unsupported).rejects.toBeInstanceOf(Permanent);
});

test.each([
  ['SELECT events.* FROM events', 'SELECT events.* FROM events'],
  ['SELECT e.*, properties.plan AS plan FROM events AS e', 'SELECT e.*, properties.plan AS plan FROM events AS e'],
  ['SELECT *, properties.`*` AS star FROM events', 'SELECT *, properties.`*` AS star FROM events'],
])('of %s the schema has the query as it is written: %s', async (hogql_query, written) => {
  const { schema } = await opened().fields({ hogql_query }, ours);
  expect(JSON.parse(String(schema))).toMatchObject({ hogql_query: written });
});

test('without a query and filters no worker is asked', async () => {
  const compiler = opened();
  await pools[0]?.close();
  expect(await compiler.fields({ hogql_query: null }, ours)).toEqual({ hogql_query: null, schema: null });
  expect(await compiler.selection({ hogql_query: null, schema: null, filters: null }, ours)).toEqual({
    select: null,
    where: null,
  });
});

test('a query that takes too long is refused with the limit', async () => {
  await expect(opened(20).fields({ hogql_query: LONG }, ours)).rejects.toMatchObject({
    status: 400,
    body: {
      attr: 'hogql_query',
      detail: 'Reading the query takes longer than 0.02 s. Make the query shorter, or nest less in it.',
    },
  });
});

test('an organization that sends what takes long waits for itself, and is told when its line is full', async () => {
  const compiler = opened();
  const left = new AbortController();
  const waiting = { ...ours, signal: left.signal };
  const long = [1, 2].map(() => compiler.fields({ hogql_query: LONG }, waiting));
  const refused = compiler.fields({ hogql_query: QUERY }, ours);
  await expect(refused).rejects.toMatchObject({ status: 429, headers: { 'Retry-After': '10' } });
  expect(await compiler.fields({ hogql_query: 'SELECT event FROM events' }, theirs)).toMatchObject({
    schema: expect.any(String),
  });
  left.abort(new Error('the caller has left'));
  for (const one of long) await expect(one).rejects.toThrow('the caller has left');
  expect(await compiler.fields({ hogql_query: 'SELECT event FROM events' }, ours)).toMatchObject({
    schema: expect.any(String),
  });
});

test('who asks is told to the workers, and what is for a delivery has workers of its own', async () => {
  const asked: object[] = [];
  const poolOf = (name: string) =>
    ({
      run: async ({ owner, user }: PoolTask) => void asked.push({ name, owner, user }),
    }) as unknown as WorkerPool;
  const compiler = pooledCompiler(poolOf('tried'), poolOf('delivered'));
  const stored = { hogql_query: QUERY, schema: null, filters: null };
  await compiler.fields({ hogql_query: QUERY }, { ...ours, user: 'ada' });
  await compiler.selection(stored, { ...ours, user: 'ada' });
  await compiler.selection(stored, { ...ours, isDelivery: true });
  expect(asked).toEqual([
    { name: 'tried', owner: 'ours', user: 'ada' },
    { name: 'tried', owner: 'ours', user: 'ada' },
    { name: 'delivered', owner: 'ours', user: undefined },
  ]);
});
