/** Instants by the clock of the reader: in fields of date and time, and in words. */

const MINUTE_MS = 60_000;
/** `2026-01-05T07:00` */
const LENGTH = 16;

/** Returns an instant as a field of date and time has it, by the clock of the reader. */
export function localOf(at: string): string {
  const instant = new Date(at);
  return new Date(instant.getTime() - instant.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, LENGTH);
}

const DAY_MS = 86_400_000;
const UNITS = [
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
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
  const [unit, length] = UNITS.find(([, size]) => Math.abs(apart) >= size) ?? ['second', 1_000];
  return words.format(Math.trunc(apart / length), unit);
}
