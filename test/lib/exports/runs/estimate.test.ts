import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../../../lib/basics/units.ts';
import { amountIn, laterArrivals, scanOf } from '../../../../lib/exports/runs/estimate.ts';
import { BATCH_SIZE } from '../../../../lib/exports/runs/plan.ts';
import { isTouched, type LakeFile, rowsWithin } from '../../../../lib/lake/catalog.ts';
import { FREQUENCIES, intervalsBetween, LENGTH } from '../../../../lib/lake/intervals.ts';
import { toJsonText } from '../../../../lib/ports/table/json-text.ts';

const PRICE = { dollarsPerTerabyte: 5, minimumBytes: 10_000_000 };

/** A file of one arrival day, whose first and last rows arrived in hours that have rows. */
const files = fc
  .record({
    day: fc.integer({ min: 0, max: 40 }),
    hours: fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 24, maxLength: 24 }),
    bytes: fc.integer({ min: 1, max: 1e10 }),
    into: fc.integer({ min: 0, max: HOUR_MS - 1 }),
    ago: fc.constantFrom(0, 1, HOUR_MS, 30 * DAY_MS),
  })
  .filter(({ hours }) => hours.some((rows) => rows > 0))
  .map(({ day, hours, bytes, into, ago }): LakeFile => {
    const first = hours.findIndex((rows) => rows > 0);
    const last = hours.findLastIndex((rows) => rows > 0);
    const min_arrival = day * DAY_MS + first * HOUR_MS + Math.min(into, HOUR_MS - 2);
    const max_arrival = day * DAY_MS + last * HOUR_MS + HOUR_MS - 1;
    return {
      path: 'file.parquet',
      rows: hours.reduce((sum, rows) => sum + rows, 0),
      bytes,
      min_arrival,
      max_arrival,
      min_timestamp: min_arrival - ago,
      max_timestamp: max_arrival - ago,
      hours: toJsonText(hours),
    };
  });
const lake = fc.array(files, { maxLength: 8 });
const range = fc
  .tuple(fc.integer({ min: 0, max: 41 * 24 }), fc.integer({ min: 1, max: 41 * 24 }))
  .map(([from, hours]) => ({ from: from * HOUR_MS, to: (from + hours) * HOUR_MS }));

test('ranges that follow one another hold together what the whole holds', () => {
  fc.assert(
    fc.property(lake, range, fc.integer({ min: 1, max: 1_000 }), (all, { from, to }, part) => {
      const middle = from + Math.floor(((to - from) * part) / 1_000 / HOUR_MS) * HOUR_MS;
      const [a, b, whole] = [
        amountIn(all, { from, to: middle }),
        amountIn(all, { from: middle, to }),
        amountIn(all, { from, to }),
      ];
      expect(a.rows + b.rows).toBe(whole.rows);
      expect(Math.abs(a.bytes + b.bytes - whole.bytes)).toBeLessThanOrEqual(2);
    }),
  );
});

test('files that are apart from a range are not looked into', () => {
  const apart = (from: number): LakeFile => ({
    path: 'file.parquet',
    rows: 1,
    bytes: 1,
    min_arrival: from,
    max_arrival: from + HOUR_MS,
    min_timestamp: from,
    max_timestamp: from + HOUR_MS,
    // A batch asks about each of its intervals: to read this of every file each time takes seconds.
    get hours(): never {
      throw new Error('looked into');
    },
  });
  const all = [apart(0), apart(3 * DAY_MS)];
  expect(amountIn(all, { from: DAY_MS, to: 2 * DAY_MS })).toEqual({ rows: 0, bytes: 0 });
  expect(rowsWithin(all, DAY_MS, 2 * DAY_MS)).toBe(0);
});

test('a range around everything holds every row and every byte', () => {
  fc.assert(
    fc.property(lake, (all) => {
      const { rows, bytes } = amountIn(all, { from: 0, to: 100 * DAY_MS });
      expect(rows).toBe(all.reduce((sum, file) => sum + file.rows, 0));
      expect(Math.abs(bytes - all.reduce((sum, file) => sum + file.bytes, 0))).toBeLessThanOrEqual(1);
    }),
  );
});

test('queries read what a walk over all batches finds', () => {
  fc.assert(
    fc.property(lake, range, fc.constantFrom(...FREQUENCIES), (all, { from, to }, frequency) => {
      const intervals = intervalsBetween(from, to, frequency);
      const read: number[] = [];
      for (let n = 0; n < intervals.count; n += BATCH_SIZE) {
        const [start, end] = [intervals.at(n).start, intervals.at(Math.min(n + BATCH_SIZE, intervals.count) - 1).end];
        const touched = all.filter((file) => isTouched(file, start, end));
        if (touched.length > 0) read.push(touched.reduce((sum, file) => sum + file.bytes, 0));
      }
      const bytes = read.reduce((sum, one) => sum + Math.max(one, PRICE.minimumBytes), 0);
      const scan = scanOf(
        all.filter((file) => isTouched(file, from, to)),
        intervals,
        PRICE,
      );
      expect(scan).toMatchObject({ queries: read.length, bytes });
      expect(scan.cost_usd).toBeGreaterThanOrEqual((bytes / 1e12) * PRICE.dollarsPerTerabyte);
      expect(scan.cost_usd).toBeLessThan((bytes / 1e12) * PRICE.dollarsPerTerabyte + 0.00011);
    }),
  );
});

test('later arrivals are told of only where something of the range may have arrived after it', () => {
  fc.assert(
    fc.property(lake, range, (all, { from, to }) => {
      const later = all.filter((file) => isTouched(file, to, 100 * DAY_MS));
      const told = laterArrivals(later, { from, to });
      const isOfRange = (file: LakeFile) =>
        file.min_timestamp !== file.min_arrival && file.min_timestamp < to && file.max_timestamp >= from;
      expect(told !== null).toBe(later.some(isOfRange));
      expect(told?.first ?? to).toBeGreaterThanOrEqual(to);
      expect(told?.last ?? to).toBeGreaterThanOrEqual(told?.first ?? to);
    }),
  );
});

test('files are not too many, however many there are', () => {
  const [file] = fc.sample(files, 1) as [LakeFile];
  const many = Array.from({ length: 200_000 }, (_, n) => ({ ...file, min_timestamp: file.min_timestamp - 1 - n }));
  expect(laterArrivals(many, { from: -100 * DAY_MS, to: 100 * DAY_MS })?.last).toBe(file.max_arrival);
});

test('of 200,000 intervals the cost is found without looking at each', () => {
  const to = 200_000 * LENGTH['every 5 minutes'];
  const intervals = intervalsBetween(0, to, 'every 5 minutes');
  let looks = 0;
  const counted = {
    count: intervals.count,
    at: (n: number) => {
      looks += 1;
      return intervals.at(n);
    },
  };
  const [file] = fc.sample(files, { numRuns: 1, seed: 7 }) as [LakeFile];
  expect(scanOf([file], counted, PRICE).queries).toBeGreaterThan(0);
  // Two looks for each halving of 2,084 batches, twice, and two for each of the four batches that a day may touch.
  expect(looks).toBeLessThanOrEqual(2 * 2 * 12 + 2 * 4);
});
