/** Which of the last points of an answer were not over when it was last known to be true, so that their numbers still grow. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../basics/units.ts';
import type { Answered } from './describer.ts';
import { clockOf, type Json, object, text } from './read.ts';

type Unit = 'minute' | 'hour' | 'day' | 'week' | 'month';

/** So many of the last points are not over; each is a `unit`. */
export interface Unfinished {
  readonly count: number;
  readonly unit: Unit;
}

/** Returns what the clock of a zone shows, in milliseconds as if it were UTC; `NaN`: it cannot be told. */
function localOf(instant: string, timeZone: string): number {
  try {
    // Swedes write `2026-01-05 07:00:00`.
    const clock = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium', timeZone });
    return Date.parse(`${clock.format(new Date(instant)).replace(' ', 'T')}Z`);
  } catch {
    return NaN;
  }
}

const hourBefore = (instant: string): string => new Date(Date.parse(instant) - HOUR_MS).toISOString();

/** Returns what a point is, by its distance from the next; of a point alone it is what the query asks for. */
function unitOf(distanceMs: number, query: Json): Unit {
  if (Number.isNaN(distanceMs)) {
    const units: readonly Unit[] = ['minute', 'hour', 'week', 'month'];
    return units.find((unit) => unit === query['interval']) ?? 'day';
  }
  if (distanceMs < HOUR_MS) return 'minute';
  if (distanceMs < DAY_MS) return 'hour';
  if (distanceMs < 7 * DAY_MS) return 'day';
  return distanceMs === 7 * DAY_MS ? 'week' : 'month';
}

const LENGTHS_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS };

function endOf(start: number, unit: Unit): number {
  if (unit !== 'month') return start + LENGTHS_MS[unit];
  const at = new Date(start);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);
}

/** Had the range that was asked for an end, and was that over? An end at which it was computed goes on with the clock. */
function isOver(range: unknown, computedAt: string, trueAt: string): boolean {
  const end = Date.parse(text(object(range)['date_to']) ?? '');
  return end !== Date.parse(computedAt) && end <= Date.parse(trueAt);
}

/**
 * Returns how many of the last points were not over when an answer was last known to be true; undefined: all were, or it
 * cannot be told. Of a range that is over nothing grows, though it may end within a week or a month. `days` are the points
 * as results name them. What they are their distances tell, since a dashboard may ask for another interval than the query
 * does.
 */
export function unfinishedOf(
  query: Json,
  days: readonly unknown[],
  { computedAt, trueAt = computedAt ?? undefined, timezone, range }: Answered,
): Unfinished | undefined {
  if (computedAt == null || trueAt === undefined || timezone == null) return undefined;
  if (isOver(range, computedAt, trueAt)) return undefined;
  const starts = days.map(clockOf);
  const now = localOf(trueAt, timezone);
  if (Number.isNaN(now) || starts.some(Number.isNaN)) return undefined;
  // Clocks that are turned back show an hour twice.
  const distances = starts.map((start, at) => start - (starts[at - 1] ?? NaN));
  const unit = unitOf(distances.findLast((distance) => distance !== 0) ?? NaN, query);
  const first = starts.findLastIndex((start) => endOf(start, unit) <= now) + 1;
  const isRepeated = distances[first + 1] === 0 && localOf(hourBefore(trueAt), timezone) === now;
  const count = starts.length - first - (isRepeated ? 1 : 0);
  return count === 0 ? undefined : { count, unit };
}

/** Returns it in a sentence: `The last day is not over.` */
export const unfinishedText = ({ count, unit }: Unfinished): string =>
  count === 1 ? `The last ${unit} is not over.` : `The last ${count.toLocaleString('en')} ${unit}s are not over.`;
