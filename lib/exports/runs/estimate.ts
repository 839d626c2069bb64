/** Estimates what a range holds and costs from the lake's list of files, without a query: exact to hours of arrival. */
import { arrivalsOf, firstOf, isTouched, type LakeFile, lastOf } from '../../lake/catalog.ts';
import { type ArrivalRange, type Intervals } from '../../lake/intervals.ts';
import type { Settings } from '../../ports/settings.ts';
import { BATCH_SIZE, batchesOf } from './plan.ts';

/** Returns the rows and stored bytes of these files that arrived in a range. Of an hour that it cuts, an even share. */
export function amountIn(files: readonly LakeFile[], range: ArrivalRange) {
  let [rows, bytes] = [0, 0];
  for (const file of files) {
    const found = rowsIn(file, range);
    rows += found;
    bytes += (file.bytes * found) / file.rows;
  }
  return { rows: Math.round(rows), bytes: Math.round(bytes) };
}

function rowsIn(file: LakeFile, { from, to }: ArrivalRange): number {
  if (file.max_arrival < from || file.min_arrival >= to) return 0;
  let found = 0;
  for (const { start, end, rows } of arrivalsOf(file)) {
    found += rows * Math.max(0, (Math.min(end, to) - Math.max(start, from)) / (end - start));
  }
  return found;
}

/**
 * Returns what the queries of a backfill read at most: one for each batch that a file touches, which reads its files
 * whole. The cost is rounded up to a hundredth of a cent.
 */
export function scanOf(files: readonly LakeFile[], intervals: Intervals, price: NonNullable<Settings['scanPrice']>) {
  const read = new Map<number, number>();
  for (const file of files) {
    const last = batchAt(intervals, file.max_arrival);
    for (let n = batchAt(intervals, file.min_arrival); n <= last; n++) {
      const { from, to } = batchRange(intervals, n);
      if (isTouched(file, from, to)) read.set(n, (read.get(n) ?? 0) + file.bytes);
    }
  }
  const bytes = [...read.values()].reduce((sum, one) => sum + Math.max(one, price.minimumBytes), 0);
  const cost_usd = Math.ceil((bytes / 1e12) * price.dollarsPerTerabyte * 10_000) / 10_000;
  return { queries: read.size, bytes, cost_usd };
}

const batchRange = (intervals: Intervals, n: number): ArrivalRange => ({
  from: intervals.at(n * BATCH_SIZE).start,
  to: intervals.at(Math.min((n + 1) * BATCH_SIZE, intervals.count) - 1).end,
});

/** Returns the batch that an instant is in, or the nearest one: intervals follow one another without a gap. */
function batchAt(intervals: Intervals, instant: number): number {
  let [low, high] = [0, batchesOf(intervals.count) - 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (batchRange(intervals, middle).to <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns whether everything in the file arrived when it happened: history is imported with its own times. */
const isHistory = (file: LakeFile): boolean =>
  file.min_arrival === file.min_timestamp && file.max_arrival === file.max_timestamp;

/**
 * Returns the rows with timestamps in a range that arrived after it, at most, and when the first and the last of them
 * did (milliseconds since 1970); null: none. `later`: the files of what arrived after the range.
 */
export function laterArrivals(later: readonly LakeFile[], { from, to }: ArrivalRange) {
  const ofRange = later.filter((file) => !isHistory(file) && file.min_timestamp < to && file.max_timestamp >= from);
  if (ofRange.length === 0) return null;
  const after = { from: to, to: Number.POSITIVE_INFINITY };
  return {
    rows: amountIn(ofRange, after).rows,
    first: Math.max(to, firstOf(ofRange, 'min_arrival')),
    last: lastOf(ofRange, 'max_arrival'),
  };
}
