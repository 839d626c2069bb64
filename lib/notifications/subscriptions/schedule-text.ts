/** Rules of recurrence in words, apart from their times: who only tells them need not load what knows all clocks. */
import { type Schedule, WEEKDAYS } from './model.ts';

export const UNITS = { daily: 'days', weekly: 'weeks', monthly: 'months', yearly: 'years' } as const;

const POSITIONS = new Map([
  [1, 'first'],
  [2, 'second'],
  [3, 'third'],
  [4, 'fourth'],
  [5, 'fifth'],
  [-1, 'last'],
  [-2, 'second to last'],
  [-3, 'third to last'],
  [-4, 'fourth to last'],
  [-5, 'fifth to last'],
]);

/** Returns a rule in words: `sent every 2 weeks on Monday and Friday`. */
export function scheduleText({ frequency, interval, byweekday, bysetpos }: Schedule): string {
  const unit = UNITS[frequency];
  const every = interval === 1 ? `every ${unit.slice(0, -1)}` : `every ${interval} ${unit}`;
  const days = WEEKDAYS.filter((day) => byweekday.includes(day)).map(
    (day) => `${day[0]?.toUpperCase()}${day.slice(1)}`,
  );
  if (days.length === 0) return `sent ${every}`;
  const names = days.length === 7 ? 'day' : new Intl.ListFormat('en', { type: 'conjunction' }).format(days);
  const position = bysetpos === null ? '' : `the ${POSITIONS.get(bysetpos) ?? `${-bysetpos}. last`} `;
  return `sent ${every} on ${position}${names}`;
}
