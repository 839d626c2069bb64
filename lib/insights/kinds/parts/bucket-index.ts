/** In which piece of a range a time lies, counted by what the program knows of the pieces: no clock runs for a row. */
import type { Syntax } from '../../../hogql/syntax.ts';
import { call, constant } from '../../../hogql/write.ts';
import type { Bucket } from './date-range.ts';

/** Buckets of one length beside one another. */
interface Run {
  /** The number of its first bucket. */
  readonly first: number;
  readonly start: number;
  readonly widthMs: number;
}

/** Returns the first instants of buckets and the end of the last, in order. */
export const edgesOf = (buckets: readonly Bucket[]): number[] => [
  ...buckets.map(({ start }) => start),
  ...buckets.slice(-1).map(({ end }) => end),
];

/**
 * Returns the number of the bucket (the first is 0) in which a time lies, of buckets with these edges, milliseconds since
 * 1970. Of a time before them the number is at most 0, and of one behind them at least how many they are. Where there are
 * no buckets, as of a range that ends before it begins, it is 0.
 */
export function bucketIndex(edges: readonly number[], time: Syntax): Syntax {
  const runs: Run[] = [];
  edges.slice(1).forEach((end, index) => {
    const start = edges[index] ?? end;
    if (runs.at(-1)?.widthMs !== end - start) runs.push({ first: index, start, widthMs: end - start });
  });
  // In microseconds, as files hold times: none is divided for nothing.
  const instant = call('toUnixTimestamp64Micro', time);
  const choices = runs.flatMap(({ first, start, widthMs }, at) => {
    const within = call('intDiv', call('minus', instant, constant(start * 1000)), constant(widthMs * 1000));
    const index = first === 0 ? within : call('plus', within, constant(first));
    const next = runs[at + 1];
    return next === undefined ? [index] : [call('less', instant, constant(next.start * 1000)), index];
  });
  const [only = constant(0)] = choices;
  return choices.length <= 1 ? only : call('multiIf', ...choices);
}
