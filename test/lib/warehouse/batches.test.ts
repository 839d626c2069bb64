import { join } from 'node:path';
import { Readable } from 'node:stream';
import { HOUR_MS } from '../../../lib/basics/units.ts';
import type { Expression } from '../../../lib/hogql/expression.ts';
import type { Interval } from '../../../lib/lake/intervals.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { batched } from '../../../lib/warehouse/batches.ts';
import { type BatchWarehouse, duckdbWarehouse } from '../../../lib/warehouse/duckdb.ts';
import type { FrozenPlan, LineForm, RowQuery, Warehouse } from '../../../lib/warehouse/warehouse.ts';
import { temporaryFolder } from '../../support/context.ts';
import { LINES, planOf, writeRows } from '../../support/lake-rows.ts';
import { seeded } from '../../support/random.ts';

const never = new AbortController().signal;
const START = Date.UTC(2026, 0, 1);
const COUNT = 24;
const STEP = HOUR_MS / COUNT;
const intervals = Array.from({ length: COUNT }, (_, n) => ({ start: START + n * STEP, end: START + (n + 1) * STEP }));
const COPY: LineForm = { ...LINES, format: 'CopyText' };

const opened: { close(): Promise<void> }[] = [];
afterAll(() => Promise.all(opened.map((warehouse) => warehouse.close())));

/** A lake of events at random times in three files that overlap, and the calls that reach the warehouse over it. */
async function lakeOf(query: Partial<RowQuery> = {}) {
  const random = seeded(7);
  const lake = folderFiles(join(temporaryFolder(), 'lake'));
  const row = (n: number) => {
    // Some intervals have none.
    const at = START + Math.floor(random() * COUNT * 0.8) * STEP + Math.floor(random() * STEP);
    return {
      uuid: `u${n}`,
      event: n % 3 === 0 ? 'left' : 'paid',
      inserted_us: at * 1000,
      elements_chain: 'x'.repeat(n % 700),
    };
  };
  const rows = Array.from({ length: 3 }, (_, file) =>
    Array.from({ length: 400 }, (_, n) => row(file * 1_000 + n)).toSorted((a, b) => a.inserted_us - b.inserted_us),
  );
  const files = (await writeRows(lake, rows)).map((file) => ({ ...file, from: START, to: START + HOUR_MS - 1 }));
  const warehouse = duckdbWarehouse({ lake });
  opened.push(warehouse);
  const calls: string[] = [];
  const source: BatchWarehouse = {
    ...warehouse,
    count: (...args) => (calls.push('count'), warehouse.count(...args)),
    counts: (...args) => (calls.push('counts'), warehouse.counts(...args)),
    read: (...args) => (calls.push('read'), warehouse.read(...args)),
    readAll: (...args) => (calls.push('readAll'), warehouse.readAll(...args)),
  };
  const plan = planOf({ files, intervals }, { query });
  return { warehouse, source, plan, calls };
}

async function textOf(
  warehouse: Warehouse,
  plan: FrozenPlan,
  n: number,
  form: LineForm,
  signal = never,
): Promise<string> {
  let text = '';
  for await (const piece of warehouse.read(plan, intervals[n] ?? { start: 0, end: 0 }, form, signal)) {
    expect(piece.at(-1)).toBe(10);
    text += piece.toString();
  }
  return text;
}

/** Counts and reads all intervals as a delivery does, four at a time. */
async function delivered(
  warehouse: Warehouse,
  plan: FrozenPlan,
  form: LineForm,
): Promise<[rows: number, text: string][]> {
  const found: [rows: number, text: string][] = [];
  const left = intervals.keys();
  const lane = async (): Promise<void> => {
    for (const n of left) {
      const rows = await warehouse.count(plan, intervals[n] ?? { start: 0, end: 0 }, never);
      found[n] = [rows, rows === 0 ? '' : await textOf(warehouse, plan, n, form)];
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
  return found;
}

const one: Expression = { column: 'event', type: 'text' };

test.each<[what: string, query: Partial<RowQuery>, form: LineForm]>([
  ['all events, as lines of JSON', {}, LINES],
  ['some events, as lines of COPY', { includeEvents: ['paid'] }, COPY],
  [
    'events that pass a condition',
    { where: { operator: 'equal', of: [one, { constant: 'left', type: 'text' }], type: 'boolean' } },
    LINES,
  ],
])('intervals that are read together have the bytes that each has alone: %s', async (_, query, form) => {
  const { warehouse, source, plan, calls } = await lakeOf(query);
  const apart = await delivered(warehouse, plan, form);
  expect(await delivered(batched(source, 50_000), plan, form)).toEqual(apart);
  expect(apart.some(([rows]) => rows === 0)).toBe(true);
  expect(calls.filter((call) => call === 'counts')).toHaveLength(1);
  expect(calls.filter((call) => call === 'readAll').length).toBeGreaterThan(1);
  expect(calls.filter((call) => call === 'count' || call === 'read')).toEqual([]);
});

test.each(['gzip', 'brotli'] as const)(
  'intervals that are read together are packed as each is alone: %s',
  async (packing) => {
    const { warehouse, source, plan, calls } = await lakeOf();
    const form: LineForm = { ...LINES, format: 'JSONLines', packing };
    const together = batched(source, 50_000);
    const bytesOf = async (from: Warehouse, interval: Interval): Promise<Buffer> => {
      const rows = await from.count(plan, interval, never);
      return rows === 0
        ? Buffer.alloc(0)
        : Buffer.concat(await Readable.from(from.read(plan, interval, form, never)).toArray());
    };
    for (const interval of intervals)
      expect(await bytesOf(together, interval)).toEqual(await bytesOf(warehouse, interval));
    expect(calls).toContain('readAll');
    expect(calls).not.toContain('read');
  },
);

test('an interval that is large, and one that is asked for again, are read alone', async () => {
  const { warehouse, source, plan, calls } = await lakeOf();
  const large = batched(source, 10);
  const [rows, text] = (await delivered(large, plan, LINES))[0] ?? [];
  expect([rows, text]).toEqual((await delivered(warehouse, plan, LINES))[0]);
  expect(calls.filter((call) => call === 'readAll')).toHaveLength(1);
  const small = batched(source);
  await delivered(small, plan, LINES);
  calls.length = 0;
  expect(await textOf(small, plan, 0, LINES)).toBe(text);
  expect(calls).toEqual(['read']);
});

test('a query that asks for the time, persons, and one interval are read alone', async () => {
  const { source, plan, calls } = await lakeOf();
  const now: Expression = {
    operator: 'less',
    of: [
      { now: true, type: 'instant' },
      { column: 'inserted_us', type: 'instant' },
    ],
    type: 'boolean',
  };
  const warehouse = batched(source);
  await delivered(warehouse, { ...plan, attempt: 'a', query: { ...plan.query, where: now } }, LINES);
  await warehouse.count(
    { ...plan, attempt: 'b', intervals: intervals.slice(0, 1) },
    intervals[0] ?? { start: 0, end: 0 },
    never,
  );
  expect(new Set(calls)).toEqual(new Set(['count']));
});

test('a failure of reading together is left to those who read alone', async () => {
  const { warehouse, source, plan } = await lakeOf();
  const broken: BatchWarehouse = {
    ...source,
    readAll: () => {
      throw new Error('together it is too much');
    },
  };
  expect(await delivered(batched(broken), plan, LINES)).toEqual(await delivered(warehouse, plan, LINES));
  const uncounted = { ...source, counts: () => Promise.reject(new Error('together it is too much')) };
  expect(await delivered(batched(uncounted), plan, LINES)).toEqual(await delivered(warehouse, plan, LINES));
});

test('an abort of all who wait ends what they wait for, and the batch can be read again', async () => {
  const { warehouse, source, plan } = await lakeOf();
  let ended: AbortSignal | undefined;
  const begun = Promise.withResolvers<void>();
  const slow: BatchWarehouse = {
    ...source,
    counts: (_plan, _intervals, signal) => {
      ended ??= signal;
      begun.resolve();
      return ended === signal
        ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
        : warehouse.counts(plan, intervals, signal);
    },
  };
  const leaving = [new AbortController(), new AbortController()];
  const batch = batched(slow);
  const waiting = leaving.map(({ signal }, n) => batch.count(plan, intervals[n] ?? { start: 0, end: 0 }, signal));
  await begun.promise;
  leaving[0]?.abort(new Error('cancelled'));
  await expect(waiting[0]).rejects.toThrow('cancelled');
  expect(ended?.aborted).toBe(false);
  leaving[1]?.abort(new Error('cancelled'));
  await expect(waiting[1]).rejects.toThrow('cancelled');
  expect(ended?.aborted).toBe(true);
  expect(await delivered(batch, plan, LINES)).toEqual(await delivered(warehouse, plan, LINES));
});
