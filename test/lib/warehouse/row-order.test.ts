import * as fc from 'fast-check';
import type { RowGroup } from '../../../lib/duckdb/parquet.ts';
import { cutLongRows, stretches } from '../../../lib/warehouse/row-order.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const group = (path: string, min: number, max: number, rows = 50_000): RowGroup => ({
  path,
  min: BigInt(min),
  max: BigInt(max),
  rows,
  bytes: rows * 100,
});
const plain = (groups: readonly RowGroup[], from: number, to: number) =>
  stretches(groups, BigInt(from), BigInt(to)).map((found) => ({
    ...found,
    from: Number(found.from),
    to: Number(found.to),
  }));

test('files one after another are one stretch, read as they lie', () => {
  const groups = [group('b', 30, 39), group('a', 0, 9), group('a', 10, 19), group('c', 50, 50)];
  expect(plain(groups, 0, 100)).toEqual([{ from: 0, to: 100, paths: ['a', 'b', 'c'], sorted: false }]);
});

test('a big file that a small one overlaps is sorted only there', () => {
  const big = Array.from({ length: 20 }, (_, n) => group('a', n * 10, n * 10 + 9));
  expect(plain([...big, group('b', 102, 105, 10)], 0, 1000)).toEqual([
    { from: 0, to: 102, paths: ['a'], sorted: false },
    { from: 102, to: 130, paths: ['a', 'b'], sorted: true },
    { from: 130, to: 1000, paths: ['a'], sorted: false },
  ]);
});

test('what is small is sorted at once', () => {
  const groups = [group('a', 0, 50, 10), group('b', 20, 60, 10), group('a', 61, 90, 10), group('c', 80, 95, 10)];
  expect(plain(groups, 0, 100)).toEqual([{ from: 0, to: 100, paths: ['a', 'b', 'c'], sorted: true }]);
});

test('what does not touch the range is left out', () => {
  expect(plain([group('a', 0, 9), group('b', 10, 19), group('c', 20, 29)], 10, 20)).toEqual([
    { from: 10, to: 20, paths: ['b'], sorted: false },
  ]);
  expect(plain([group('a', 0, 9)], 10, 20)).toEqual([]);
});

/** Files of sorted rows, cut into row groups. */
const lake = fc
  .array(
    fc.record({
      arrivals: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 12 }),
      perGroup: fc.integer({ min: 1, max: 4 }),
      rows: fc.constantFrom(10, 60_000, 150_000, 300_000),
    }),
    { maxLength: 5 },
  )
  .map((files) =>
    files.map(({ arrivals, perGroup, rows }, n) => {
      const sorted = arrivals.toSorted((a, b) => a - b);
      const groups: RowGroup[] = [];
      for (let at = 0; at < sorted.length; at += perGroup) {
        const some = sorted.slice(at, at + perGroup);
        groups.push(group(`file ${n}`, some[0] ?? 0, some.at(-1) ?? 0, rows));
      }
      return { path: `file ${n}`, arrivals: sorted, groups };
    }),
  );

test('every row comes once and in order, and only small stretches are sorted', () => {
  const everyLake = fc.property(
    lake,
    fc.integer({ min: 0, max: 30 }),
    fc.integer({ min: 31, max: 61 }),
    (files, from, to) => {
      const groups = files.flatMap((file) => file.groups);
      const read = plain(groups, from, to).flatMap((stretch) => {
        const rows = stretch.paths.flatMap((path) =>
          (files.find((file) => file.path === path)?.arrivals ?? []).filter(
            (arrival) => arrival >= stretch.from && arrival < stretch.to,
          ),
        );
        return stretch.sorted ? rows.toSorted((a, b) => a - b) : rows;
      });
      const expected = files
        .flatMap(({ arrivals }) => arrivals)
        .filter((arrival) => arrival >= from && arrival < to)
        .toSorted((a, b) => a - b);
      expect(read).toEqual(expected);
      for (const stretch of plain(groups, from, to).filter(({ sorted }) => sorted)) {
        const touched = groups.filter(({ min, max }) => Number(min) < stretch.to && Number(max) >= stretch.from);
        const rows = touched.reduce((sum, one) => sum + one.rows, 0);
        // More than that is sorted only where the row groups themselves overlap: it cannot be cut further.
        expect(rows <= 200_000 || touched.every(({ min }) => Number(min) <= stretch.from)).toBe(true);
      }
    },
  );
  expect(() => fc.assert(everyLake, { numRuns: propertyRuns(2000) })).not.toThrow();
});

test('long rows are cut into pieces that memory holds, each once, and only of what is in the range', () => {
  const group = fc.record({ rows: fc.integer({ min: 1, max: 5_000 }), rowBytes: fc.integer({ min: 1, max: 400_000 }) });
  const everyFile = fc.property(
    fc.array(group, { minLength: 1, maxLength: 6 }),
    fc.nat({ max: 6 }),
    (shapes, first) => {
      const groups = shapes.map(
        ({ rows, rowBytes }, n): RowGroup => ({
          path: 'a',
          min: BigInt(n),
          max: BigInt(n),
          rows,
          bytes: rows * rowBytes,
        }),
      );
      const whole = { from: BigInt(first), to: 100n, paths: ['a'], sorted: false };
      const isShort = shapes.every(({ rows, rowBytes }) => rowBytes * Math.min(rows, 2_048) <= 8 * 1024 * 1024);
      const sum = (some: readonly RowGroup[]): number => some.reduce((rows, one) => rows + one.rows, 0);
      const found: number[] = [];
      for (const { rows } of cutLongRows([whole], groups))
        for (let n = rows?.[0] ?? -1; n < (rows?.[1] ?? 0); n += 1) found.push(n);
      const before = sum(groups.slice(0, first));
      const inRange = Array.from({ length: sum(groups) - before }, (_, n) => before + n);
      expect(found).toEqual(isShort ? [-1] : inRange);
    },
  );
  fc.assert(everyFile, { numRuns: propertyRuns(100) });
});
