/** When an event happened, by the clock of the service, from what its sender says and when that came. */

import { numberText } from '../basics/raw-number.ts';
import { HOUR_MS } from '../basics/units.ts';
import { isoMicroseconds, microsecondsOf, YEARS } from '../lake/sources/event.ts';

/** An event that seems to be further ahead of the clock has happened now. */
const MAX_AHEAD_MS = 23 * HOUR_MS;
const EARLIEST = Date.UTC(YEARS.first, 0) * 1000;

interface Said {
  /** Any JSON value, as all members that are `unknown`. */
  readonly timestamp: unknown;
  /** Milliseconds that the event is old; wins over its timestamp. */
  readonly offset: unknown;
  /** True: the clock of the sender is not corrected by `sentAt`. */
  readonly ignoreSentAt: unknown;
  /** Microseconds since 1970, or null. */
  readonly sentAt: number | null;
  /** When the request came, milliseconds since 1970. */
  readonly now: number;
}

/** Why an event has not the time that its sender says, as PostHog calls it. */
export type TimeWarning = 'ignored_invalid_timestamp' | 'event_timestamp_in_future';

/**
 * Microseconds since 1970: `happened` by the clock of the service, in the years that the lake holds; `sent` as the
 * sender wrote it, in any year, or null when they did not, or in no form that is known. However often an event is sent,
 * `sent` is the same; `happened` is not. `warning` says why `happened` is not what they meant; null: it is.
 */
export function timesOf({ timestamp, offset, ignoreSentAt, sentAt, now }: Said): {
  readonly happened: number;
  readonly sent: number | null;
  readonly warning: TimeWarning | null;
} {
  const sent = instantOf(timestamp);
  const skew = ignoreSentAt === true || sentAt === null ? 0 : sentAt - now * 1000;
  const old = Number(numberText(offset));
  const unread = isOfOtherYear(timestamp) ? Number.NEGATIVE_INFINITY : now * 1000;
  const isOld = Number.isFinite(old);
  const found = isOld ? Math.round((now - old) * 1000) : sent === undefined ? unread : sent - skew;
  const isAhead = found > (now + MAX_AHEAD_MS) * 1000;
  const isIgnored = !isOld && !isNone(timestamp) && (sent === undefined || found < EARLIEST);
  return {
    // Before what the lake holds is 1970, as PostHog keeps what it cannot.
    happened: isAhead ? now * 1000 : found < EARLIEST ? 0 : found,
    sent: sent ?? null,
    warning: isIgnored ? 'ignored_invalid_timestamp' : isAhead ? 'event_timestamp_in_future' : null,
  };
}

/** Whether a sender who writes this says no time. */
const isNone = (timestamp: unknown): boolean => timestamp === undefined || timestamp === null || timestamp === '';

/** Any year that four digits can write: what only tells a clock's skew need not be held. */
const ANY_YEAR = { first: 0, last: 9999 };

/** Whether a text names a date of a year that four digits cannot write, of which nothing can be kept. */
const isOfOtherYear = (value: unknown): boolean => {
  const year = Number(typeof value === 'string' ? /^\s*([+-]?\d{4,})-\d\d-\d\d/.exec(value)?.[1] : Number.NaN);
  return year < ANY_YEAR.first || year > ANY_YEAR.last;
};

/** By how many digits it has, a number is in seconds, milliseconds, microseconds or nanoseconds. */
const UNITS: ReadonlyMap<number, number> = new Map([
  [10, 1e6],
  [13, 1e3],
  [16, 1],
  [19, 1e-3],
]);

/** What JavaScript prints ends with the name of a zone, which languages write with up to so many characters. */
const LONGEST = 128;

/**
 * Returns an instant in microseconds since 1970, undefined when the value is none: RFC 3339 and its kin, a date alone,
 * `2026/11/22 13:07` and `11/22/2026`, with AM or PM, too, RFC 2822, months by name, as JavaScript prints a `Date`, or a number, as text too. Without a zone it is UTC.
 */
export function instantOf(value: unknown): number | undefined {
  const number = numberText(value);
  if (number !== undefined) return numeric(number);
  if (typeof value !== 'string' || value.length > LONGEST) return undefined;
  const text = value.trim();
  return isoMicroseconds(text, ANY_YEAR) ?? numeric(text) ?? written(text);
}

function numeric(text: string): number | undefined {
  const digits = /^(\d+)(?:\.\d+)?$/.exec(text)?.[1];
  const unit = digits === undefined ? undefined : UNITS.get(digits.length);
  return unit === undefined ? undefined : Math.round(Number(text) * unit);
}

/** Newer browsers write a space that does not break (U+202F) before AM and PM. */
const TIME = String.raw`(?:[ T,]+(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.(?<fraction>\d{1,9}))?)?(?:[ \u202f]?(?<half>[ap]m))?)?`;
/** Behind an offset by its name, too, and with what its monotonic clock says, as Go puts it, and in words, as browsers do. */
const ZONE = String.raw` ?(?:Z|UTC?|GMT)?(?:(?<sign>[+-])(?<hours>\d\d):?(?<minutes>\d\d)(?: (?:[A-Z]{3,5}|[+-]\d\d(?:\d\d)?))?)?(?: m=[+-]\d+\.\d+)?(?: \([^()]*\))?`;
/** By their first three letters. */
const MONTH =
  '(?<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?';
const FORMS: readonly RegExp[] = [
  String.raw`(?<year>\d{4})[/-](?<month>\d{1,2})[/-](?<day>\d{1,2})${TIME}`,
  String.raw`(?<month>\d{1,2})/(?<day>\d{1,2})/(?<year>\d{4})${TIME}`,
  String.raw`(?:[a-z]{3,9},? )?(?<day>\d{1,2})[ -]${MONTH}[ -](?<year>\d{4})${TIME}`,
  String.raw`(?:[a-z]{3,9},? )?${MONTH} (?<day>\d{1,2}),? (?<year>\d{4})${TIME}`,
  String.raw`(?<year>\d{4})(?<month>\d\d)(?<day>\d\d)T(?<hour>\d\d)(?<minute>\d\d)(?<second>\d\d)(?:\.(?<fraction>\d{1,9}))?`,
].map((form) => new RegExp(`^${form}${ZONE}$`, 'i'));

function written(text: string): number | undefined {
  for (const form of FORMS) {
    const found = form.exec(text)?.groups;
    if (found === undefined) continue;
    const hour = hourOfDay(found);
    return hour === null ? undefined : microsecondsOf({ ...found, hour }, ANY_YEAR);
  }
  return undefined;
}

/** Returns the hour by a clock of 24, as text; null: AM or PM stands behind one that a clock of twelve has not. */
function hourOfDay({ hour, half }: Readonly<Record<string, string | undefined>>): string | undefined | null {
  if (half === undefined) return hour;
  const ofTwelve = Number(hour);
  if (ofTwelve < 1 || ofTwelve > 12) return null;
  return String((ofTwelve % 12) + (half.toLowerCase() === 'pm' ? 12 : 0));
}
