/** Which number of the period before stands at a point, where clocks are moved in one of the two. */
import { DAY_MS, HOUR_MS } from '../../basics/units.ts';
import { clockOf } from './read.ts';

/** The clocks of a zone are moved by so much. */
const MOVED_MS = HOUR_MS;

/**
 * Returns for each point the place of the number of the period before that stands there; -1: there is none. The places
 * are the same, but of hours and minutes whole days apart those of the same time by the clock: of an hour that is told
 * twice in one of the two periods only, the second has no other, and one that is left out in one has none.
 */
export function placesBefore(days: readonly unknown[], daysBefore: readonly unknown[]): readonly number[] {
  const [clocks, clocksBefore] = [days.map(clockOf), daysBefore.map(clockOf)];
  const apartMs = (clocks[0] ?? NaN) - (clocksBefore[0] ?? NaN);
  const wholeMs = Math.round(apartMs / DAY_MS) * DAY_MS;
  // Where the day begins with the hour that is left out, the two begin an hour apart, and one has more hours.
  const isByClock =
    wholeMs > 0 &&
    (apartMs === wholeMs || (days.length !== daysBefore.length && Math.abs(apartMs - wholeMs) <= MOVED_MS));
  if (!isByClock || !isOfHours(clocks)) return days.map((_, at) => at);
  const places = Map.groupBy(clocksBefore.keys(), (at) => (clocksBefore[at] as number) + wholeMs);
  return clocks.map((clock) => places.get(clock)?.shift() ?? -1);
}

/** Whether points lie less than a day apart. Of a point alone it does not matter. */
const isOfHours = ([first = NaN, second = NaN]: readonly number[]): boolean => second - first < DAY_MS;
