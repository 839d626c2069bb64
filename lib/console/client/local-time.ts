/** Instants by the clock of the reader or of a zone: in fields of date and time, and in words. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../basics/units.ts';

/** Returns an instant as a field of date and time has it, `2026-01-05T07:00`, by the clock of a zone; default: of the reader. */
export const zonedOf = (at: string | number, timeZone?: string): string =>
  // Swedes write `2026-01-05 07:00`.
  new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'short', timeZone })
    .format(new Date(at))
    .replace(' ', 'T')
    // Of the years before 1000 it has no more figures than there are.
    .padStart('2026-01-05T07:00'.length, '0');

/** Returns what a field of date and time says, as if it were UTC. Years with more than four figures have six and a sign for `Date`. */
const utcOf = (field: string): number =>
  Date.parse(`${field.replace(/^\d{5,}/, (year) => `+${year.padStart(6, '0')}`)}Z`);

/**
 * Returns the instant that a field of date and time says by the clock of a zone, by default of the reader: the first one
 * where the clock shows it twice, and where it leaps over it, as much later as it leaps.
 */
export function instantOf(field: string, timeZone?: string): string {
  const asUtc = utcOf(field);
  const [before = 0, after = 0] = [asUtc - DAY_MS, asUtc + DAY_MS].map(
    (near) => asUtc - (utcOf(zonedOf(near, timeZone)) - near),
  );
  const isAfter = zonedOf(before, timeZone) !== field && zonedOf(after, timeZone) === field;
  return new Date(isAfter ? after : before).toISOString();
}

const utcDay = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/** Returns the day by UTC. */
export const utcDate = (at: string): string => utcDay.format(new Date(at));

const UNITS = [
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
  ['second', SECOND_MS],
] as const;

const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** Returns the number of the day by the clock of the reader, whatever its length. */
const dayOf = (ms: number): number => {
  const at = new Date(ms);
  return Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / DAY_MS;
};

/** Returns how far an instant is from now: in days of the calendar, and within a day in units that are over. */
export function fromNow(ms: number, now: number): string {
  const apart = ms - now;
  if (Math.abs(apart) >= DAY_MS) return words.format(dayOf(ms) - dayOf(now), 'day');
  const [unit, length] = UNITS.find(([, size]) => Math.abs(apart) >= size) ?? ['second', SECOND_MS];
  return words.format(Math.trunc(apart / length), unit);
}
