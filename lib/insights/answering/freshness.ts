/** How long an answer is true: until a file comes that touches what was looked at, or its relative dates mean another time. */
import { hash } from 'node:crypto';
import { isObject } from '../../basics/json.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../basics/units.ts';
import { readDate, type ToldDate } from '../kinds/parts/told-date.ts';
import type { SentQuery } from '../kinds/source.ts';
import { type DatesPlace, isKind, traitsOf } from '../kinds/traits.ts';
import type { Looked, WorldFile, WorldFiles } from './looking-world.ts';

/**
 * What of the clock a query depends on: nothing, the day or the hour that it shows in the project's zone, or the very
 * moment.
 */
export type ClockUse = 'nothing' | 'day' | 'hour' | 'moment';

/** Returns a date of a query; undefined: it tells none. */
const dateOf = (sent: unknown): ToldDate | undefined => (typeof sent === 'string' ? readDate(sent.trim()) : undefined);

const isAbsolute = (sent: unknown): boolean => sent === 'all' || 'local' in (dateOf(sent) ?? {});

/** Returns what of the clock the query depends on; `isNow`: its HogQL asked for the moment. */
export function clockUseOf(query: SentQuery, isNow: boolean): ClockUse {
  if (isNow) return 'moment';
  const { source: asked, kind } = query;
  // The persons behind a number are those of its own time. What says which number it is, is no kind by itself.
  if (isObject(asked) && (!isKind(kind) || traitsOf(kind).dates === 'source'))
    return clockUseOf({ ...asked, kind: typeof asked['kind'] === 'string' ? asked['kind'] : '' }, isNow);
  return CLOCK_USES[traitsOf(kind).dates](query);
}

/** What a query depends on, by where it tells its dates. */
const CLOCK_USES: Readonly<Record<DatesPlace, (query: SentQuery) => ClockUse>> = {
  source: () => 'nothing',
  'after-before': ({ after, before }) => (isAbsolute(after) && isAbsolute(before) ? 'nothing' : 'moment'),
  filters: ({ filters, ...query }) => (isObject(filters) ? clockUseOfRange(filters['dateRange'], query) : 'nothing'),
  dateRange: (query) => clockUseOfRange(query['dateRange'], query),
};

function clockUseOfRange(dateRange: unknown, query: Readonly<Record<string, unknown>>): ClockUse {
  const range = isObject(dateRange) ? dateRange : {};
  const { date_from: from, date_to: to, explicitDate } = range;
  const relative = [from, to].filter((date) => !isAbsolute(date));
  if (relative.length === 0) return 'nothing';
  if (explicitDate === true) return 'moment';
  const retention = isObject(query['retentionFilter']) ? query['retentionFilter'] : {};
  const period = retention['period'] ?? query['interval'] ?? 'day';
  const width = typeof period === 'string' ? period.toLowerCase() : 'second';
  if (width === 'minute' || width === 'second') return 'moment';
  // An end that is not told goes by the day.
  const units = relative.map(dateOf).map((date) => (date !== undefined && 'unit' in date ? date.unit : 'day'));
  if (units.includes('minute') || units.includes('second')) return 'moment';
  return width === 'hour' || units.includes('hour') ? 'hour' : 'day';
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Does the clock show the same, as far as an answer depends on it? Instants are milliseconds since 1970. */
export function meansTheSame(use: ClockUse, then: number, now: number, zone: string): boolean {
  if (use === 'nothing' || then === now) return true;
  if (use === 'moment' || Math.abs(now - then) >= DAY_MS + HOUR_MS) return false;
  // Zones differ from UTC by quarters of an hour, so two moments of one quarter are of one hour of every clock.
  if (use === 'hour') return Math.floor(then / (15 * MINUTE_MS)) === Math.floor(now / (15 * MINUTE_MS));
  return dayIn(zone, then) === dayIn(zone, now);
}

function dayIn(zone: string, instant: number): string {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
    clocks.set(zone, clock);
  }
  return clock.format(instant);
}

/** Returns a digest of the files that an answer is made of: another one, and the answer may be another. */
export function filesDigest(files: WorldFiles, { events, persons }: Looked): string {
  const isTouched = ({ min_timestamp, max_timestamp }: WorldFile): boolean =>
    events.some(({ from, to }) => max_timestamp >= (from ?? -Infinity) && min_timestamp <= (to ?? Infinity));
  const chosen = [...files.events.filter(isTouched), ...(persons ? files.persons : [])];
  const paths = chosen.map(({ path }) => `${path}\n`).toSorted();
  return hash('sha256', paths.join(''), 'base64url');
}
