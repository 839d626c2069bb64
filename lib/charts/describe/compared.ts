/** Which number of the period before stands at a point, where clocks are moved in one of the two. */
import { DAY_MS, HOUR_MS } from '../../basics/units.ts';
import { clockOf } from './read.ts';

/** The clocks of a zone are moved by so much. */
const MOVED_MS = HOUR_MS;

/**
 * Returns for each point the place of the number of the period before that stands there; -1: there is none. The places
 * are the same, but of hours and minutes whole days apart those of the same time by the clock: of an hour that is told
 * twice in one of the two periods only, the second has no other, and one that is left out in one has none. As many points
 * that begin or end in an hour that is told twice are of the same length, and keep their places.
 */
export function placesBefore(days: readonly unknown[], daysBefore: readonly unknown[]): readonly number[] {
  const [clocks, clocksBefore] = [days.map(clockOf), daysBefore.map(clockOf)];
  const [first = NaN, firstBefore = NaN] = [clocks[0], clocksBefore[0]];
  const wholeMs = Math.round((first - firstBefore) / DAY_MS) * DAY_MS;
  const isApart = first - firstBefore === wholeMs || isFirstHourLeftOut(clocks, clocksBefore);
  const isAsLong = clocks.length === clocksBefore.length && (endsTwice(clocks) || endsTwice(clocksBefore));
  if (!(wholeMs > 0) || !isApart || isAsLong || !isOfHours(clocks)) return days.map((_, at) => at);
  const places = Map.groupBy(clocksBefore.keys(), (at) => (clocksBefore[at] as number) + wholeMs);
  return clocks.map((clock) => places.get(clock)?.shift() ?? -1);
}

type Clocks = readonly number[];

/** Whether points lie less than a day apart. Of a point alone it does not matter. */
const isOfHours = ([first = NaN, second = NaN]: Clocks): boolean => second - first < DAY_MS;

/** Whether one begins with a day whose first hour is left out, and the other at midnight, and both end at one time of the day. */
function isFirstHourLeftOut(clocks: Clocks, clocksBefore: Clocks): boolean {
  const timesOf = (at: number): number[] => [clocks, clocksBefore].map((all) => (all.at(at) ?? NaN) % DAY_MS);
  const [begins, [end, endBefore]] = [timesOf(0), timesOf(-1)];
  return begins.includes(0) && begins.includes(MOVED_MS) && end === endBefore;
}

/** Whether the first or the last point is of a time that is told twice, or both are, for the clock shows less at the end. */
function endsTwice(clocks: Clocks): boolean {
  const [first = NaN, last = NaN] = [clocks[0], clocks.at(-1)];
  return clocks.lastIndexOf(first) > 0 || clocks.indexOf(last) < clocks.length - 1 || last < first;
}
