import { Temporal } from 'temporal-polyfill';

/** The years whose changes of clocks are looked at. */
const YEARS = { first: Date.UTC(2000, 0), end: Date.UTC(2040, 0) };

const known = new Map<string, boolean>();

/**
 * Returns whether there are days that begin twice by the clock of a zone, from 2000 to 2039: whether it is turned back over
 * a midnight, as in Havana from 1:00 to 0:00.
 */
export function hasTwoMidnights(zone: string): boolean {
  const has = known.get(zone) ?? isTurnedBackOverMidnight(zone);
  known.set(zone, has);
  return has;
}

function isTurnedBackOverMidnight(zone: string): boolean {
  let at = transitionAfter(Temporal.Instant.fromEpochMilliseconds(YEARS.first).toZonedDateTimeISO(zone));
  while (at !== null && at.epochMilliseconds < YEARS.end) {
    const midnight = at.subtract({ nanoseconds: 1 }).toPlainDate().toPlainDateTime();
    if (Temporal.PlainDateTime.compare(midnight, at.toPlainDateTime()) >= 0) return true;
    at = transitionAfter(at);
  }
  return false;
}

const transitionAfter = (at: Temporal.ZonedDateTime): Temporal.ZonedDateTime | null => at.getTimeZoneTransition('next');
