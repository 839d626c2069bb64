import { DAY_MS, HOUR_MS, MINUTE_MS } from '../basics/units.ts';

/** The years whose changes of clocks are looked at. */
const YEARS = { first: Date.UTC(2000, 0), end: Date.UTC(2040, 0) };

/** So far apart clocks are looked at for one that was turned back, and then in what lies between. */
const STEPS_MS = [7 * DAY_MS, DAY_MS];
/** No zone is off by less. */
const QUARTER_MS = 15 * MINUTE_MS;

const known = new Map<string, boolean>();

/**
 * Returns whether there are days that begin twice by the clock of a zone, from 2000 to 2039: whether it is turned back over
 * a midnight, as in Havana from 1:00 to 0:00.
 */
export function hasTwoMidnights(zone: string): boolean {
  const has = known.get(zone) ?? showsMidnightTwice(clockOf(zone), YEARS.first, YEARS.end);
  known.set(zone, has);
  return has;
}

/** What a clock shows at an instant, in UTC's place. */
type ShownAt = (at: number) => number;

function showsMidnightTwice(shownAt: ShownAt, from: number, to: number, [step, ...finer] = STEPS_MS): boolean {
  if (step === undefined) {
    for (let at = from; at <= to + HOUR_MS; at += QUARTER_MS)
      if (shownAt(at) % DAY_MS === 0 && shownAt(at) === shownAt(at - HOUR_MS)) return true;
    return false;
  }
  for (let at = from; at < to; at += step) {
    const isTurnedBack = shownAt(at + step) - shownAt(at) < step;
    if (isTurnedBack && showsMidnightTwice(shownAt, at, at + step, finer)) return true;
  }
  return false;
}

function clockOf(timeZone: string): ShownAt {
  const two = '2-digit';
  const written = new Intl.DateTimeFormat('sv', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: two,
    day: two,
    hour: two,
    minute: two,
  });
  return (at) => Date.parse(`${written.format(at).replace(' ', 'T')}Z`);
}
