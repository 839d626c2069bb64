import { join } from 'node:path';
import { Damaged, Permanent } from '../../../lib/ports/errors.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { pooledReader } from '../../../lib/warehouse/pooled-reader.ts';
import { LAKE_ROWS } from '../../../lib/warehouse/reader.ts';
import { type PoolTask, WorkerLost, workerPool } from '../../../lib/workers/pool.ts';
import { LineFull } from '../../../lib/workers/turns.ts';
import { temporaryFolder } from '../../support/context.ts';
import { writeRows } from '../../support/lake-rows.ts';

const waiting = { organization: 'o', signal: new AbortController().signal };
const reading = { files: [], sql: 'SELECT 1', parameters: {} };

const failing = (error: unknown, signal = waiting.signal) =>
  pooledReader({
    run: () => Promise.reject(error),
  }).read(reading, { ...waiting, signal });

test('rows come from a worker, what was sent is only a value, and a file that was changed is not read', async () => {
  const folder = temporaryFolder();
  const root = join(folder, 'lake');
  const files = await writeRows(folderFiles(root), [[{ uuid: 'u1' }, { uuid: 'u2', event: "it's" }]]);
  const pool = workerPool({
    program: join(import.meta.dirname, '../../../lib/warehouse/row-worker.ts'),
    options: { lake: root, memoryLimit: '100MB' },
    what: 'Reading',
    turns: { atOnce: 1, each: 1 },
    memory: { each: 500, all: 500 },
    silenceMs: 60_000,
    folder,
    log: { warning: () => {} },
  });
  try {
    const reader = pooledReader(pool);
    const asked = { files, sql: `SELECT uuid FROM ${LAKE_ROWS} WHERE event = $event`, parameters: { event: "it's" } };
    expect(await reader.read(asked, waiting)).toEqual({ rows: [{ uuid: 'u2' }], isCut: false });
    const long = { files, sql: `SELECT repeat('x', 3000000) AS x FROM ${LAKE_ROWS}`, parameters: {} };
    const { rows, isCut } = await reader.read(long, waiting);
    expect([rows.length, isCut]).toEqual([1, true]);
    const changed = files.map((file) => ({ ...file, sha256: 'other' }));
    await expect(reader.read({ ...asked, files: changed }, waiting)).rejects.toBeInstanceOf(Damaged);
  } finally {
    await pool.close();
  }
});

test.each([
  ['a full line', new LineFull('x'), { kind: 'throttled', headers: { 'Retry-After': '10' } }],
  ['memory', new WorkerLost('memory', 'x'), { kind: 'unavailable', message: expect.stringContaining('more memory') }],
  ['silence', new WorkerLost('silence', 'x'), { kind: 'unavailable', message: expect.stringContaining('more time') }],
  [
    "the database's memory",
    new Permanent('x'),
    { kind: 'unavailable', message: expect.stringContaining('more memory') },
  ],
])('what is too much is told in a sentence: %s', async (_, error, failure) => {
  await expect(failing(error)).rejects.toMatchObject(failure);
});

test('who has waited too long is told so, and who has left is told nothing', async () => {
  const timeout = Object.assign(new Error('x'), { name: 'TimeoutError' });
  await expect(failing(timeout, AbortSignal.abort(timeout))).rejects.toMatchObject({ kind: 'unavailable' });
  const left = new Error('left');
  await expect(failing(left, AbortSignal.abort(left))).rejects.toBe(left);
});

test('a reading takes the turn of its organization, and of who asks', async () => {
  const asked: object[] = [];
  const run = async ({ owner, user }: PoolTask) => asked.push({ owner, user });
  await pooledReader({ run }).read(reading, { ...waiting, user: 'ada' });
  expect(asked).toEqual([{ owner: 'o', user: 'ada' }]);
});
