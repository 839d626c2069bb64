/**
 * The arrival rule: which clock an imported event gets. `inserted_us` is the one clock that data intervals select by,
 * so a row that is put into a project with running exports must not land in an interval that has been exported, unless
 * it is history that no schedule was ever meant to take.
 */
import { DAY_MS } from '../basics/units.ts';

/** `now`: everything arrives when it is committed. `then`: everything keeps its own time. `auto`: only history does. */
export type Arrived = 'auto' | 'now' | 'then';

/**
 * The instant (milliseconds) before which an event's own time is its arrival. `live` is the earliest start of a first
 * interval among the project's exports, null while there is none: then everything is history.
 */
export function historyEnd(arrived: Arrived, live: number | null, historyDays: number): number {
  if (arrived === 'now') return Number.NEGATIVE_INFINITY;
  if (arrived === 'then' || live === null) return Number.POSITIVE_INFINITY;
  return live - historyDays * DAY_MS;
}

/**
 * Arrival of a row in microseconds, as SQL over the column `timestamp_us`, for a batch stamped `at` (milliseconds):
 * an event's own time when it happened before `end`, but never after `at` and never before 1970; else `at`.
 */
export function arrivalSql(end: number, at: number): string {
  const stamp = `${Math.trunc(at) * 1000}::BIGINT`;
  const own = `least(greatest(timestamp_us, 0), ${stamp})`;
  if (end === Number.POSITIVE_INFINITY) return own;
  if (end === Number.NEGATIVE_INFINITY) return stamp;
  return `CASE WHEN timestamp_us < ${Math.trunc(end) * 1000} THEN ${own} ELSE ${stamp} END`;
}
