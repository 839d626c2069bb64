/** When subscriptions are due, beside the reference of rules of recurrence, over clocks that change. */
import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import type { RRule as Rule } from 'rrule';
import { Temporal } from 'temporal-polyfill';
import { DAY_MS } from '../../../../lib/basics/units.ts';
import { FREQUENCIES, type Schedule, WEEKDAYS } from '../../../../lib/notifications/subscriptions/model.ts';
import { nextTime } from '../../../../lib/notifications/subscriptions/schedule.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

// Its types are those of a module, the package is none.
const { RRule } = createRequire(import.meta.url)('rrule') as { RRule: typeof Rule };

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata'];

/** The times of a rule that is told in local time, each as the clocks of the zone show it. */
function reference(schedule: Schedule, zone: string, until: number): number[] {
  const local = Temporal.Instant.fromEpochMilliseconds(schedule.start_date).toZonedDateTimeISO(zone).toPlainDateTime();
  const rule = new RRule({
    freq: { daily: RRule.DAILY, weekly: RRule.WEEKLY, monthly: RRule.MONTHLY, yearly: RRule.YEARLY }[
      schedule.frequency
    ],
    interval: schedule.interval,
    byweekday: schedule.byweekday.length === 0 ? null : schedule.byweekday.map((day) => WEEKDAYS.indexOf(day)),
    bysetpos: schedule.bysetpos,
    count: schedule.count,
    dtstart: new Date(local.toZonedDateTime('UTC').epochMilliseconds),
    until: new Date(until + 2 * DAY_MS),
  });
  return rule
    .all()
    .map((date) => {
      const at = Temporal.Instant.fromEpochMilliseconds(date.getTime()).toZonedDateTimeISO('UTC').toPlainDateTime();
      return Math.max(at.toZonedDateTime(zone).epochMilliseconds, schedule.start_date);
    })
    .filter((at) => at <= (schedule.until_date ?? Infinity));
}

const START = Date.UTC(2024, 0, 1);

/** So far the reference looks: 29 February comes after 20 years where a rule is of each fifth year. */
const YEARS = { daily: 12, weekly: 12, monthly: 12, yearly: 25 } as const;

const schedules = fc
  .record({
    frequency: fc.constantFrom(...FREQUENCIES),
    interval: fc.integer({ min: 1, max: 5 }),
    days: fc.uniqueArray(fc.constantFrom(...WEEKDAYS), { maxLength: 7 }),
    // The reference takes the first of four for the fifth last.
    position: fc.option(fc.constantFrom(1, 2, 3, 4, 5, -1, -2, -4)),
    count: fc.option(fc.integer({ min: 1, max: 30 })),
    start_date: fc.integer({ min: 0, max: 800 * 24 * 4 }).map((quarters) => START + quarters * 900_000),
    until_date: fc.option(fc.integer({ min: 0, max: 1500 }).map((days) => START + days * DAY_MS)),
  })
  .map(({ days, position, ...rest }): Schedule => {
    const hasDays = (rest.frequency === 'weekly' || rest.frequency === 'monthly') && days.length > 0;
    const byweekday = hasDays ? days : [];
    return { ...rest, byweekday, bysetpos: hasDays && rest.frequency === 'monthly' ? position : null };
  });

const rule = (fields: Partial<Schedule>): Schedule => ({
  frequency: 'daily',
  interval: 1,
  byweekday: [],
  bysetpos: null,
  count: null,
  start_date: Date.UTC(2026, 2, 27, 1, 30),
  until_date: null,
  ...fields,
});

test('each time is the one that the reference has next, whatever the clocks do', () => {
  fc.assert(
    fc.property(schedules, fc.constantFrom(...ZONES), fc.integer({ min: -30, max: 1800 }), (schedule, zone, days) => {
      const after = START + days * DAY_MS + 1;
      const all = reference(schedule, zone, START + YEARS[schedule.frequency] * 365 * DAY_MS);
      expect(nextTime(schedule, after, zone)).toBe(all.find((at) => at > after) ?? null);
    }),
    {
      numRuns: propertyRuns(300),
      examples: [[rule({ frequency: 'yearly', interval: 5, start_date: Date.UTC(2024, 1, 29) }), 'UTC', 59]],
    },
  );
});

test('seven in the morning stays seven when the clocks change; what they skip is an hour later', () => {
  const times = (schedule: Schedule, count: number): string[] => {
    const found: string[] = [];
    for (let after = schedule.start_date - 1; found.length < count; ) {
      const next = nextTime(schedule, after, 'Europe/Berlin');
      if (next === null) break;
      found.push(new Date(next).toISOString());
      after = next;
    }
    return found;
  };
  // 02:30 is not there on 29 March.
  expect(times(rule({}), 4)).toEqual([
    '2026-03-27T01:30:00.000Z',
    '2026-03-28T01:30:00.000Z',
    '2026-03-29T01:30:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ]);
  const monday = rule({ frequency: 'monthly', byweekday: ['monday'], bysetpos: -1, count: 2 });
  expect(times(monday, 5)).toEqual(['2026-03-30T00:30:00.000Z', '2026-04-27T00:30:00.000Z']);
});

test('it does not begin before its start, where the clocks show that time twice', () => {
  const start_date = Date.UTC(2026, 9, 25, 1, 30);
  expect(nextTime(rule({ start_date }), Date.UTC(2026, 9, 24), 'Europe/Berlin')).toBe(start_date);
});

test('a rule that began long ago, or has no time left, is told at once', () => {
  const old = rule({ start_date: Date.UTC(1, 0, 1), interval: 7 });
  expect(nextTime(old, Date.UTC(2026, 0, 1), 'UTC')).toBeGreaterThan(Date.UTC(2026, 0, 1));
  expect(nextTime(rule({ count: 1 }), Date.UTC(2027, 0, 1), 'UTC')).toBeNull();
  expect(nextTime(rule({ start_date: Date.UTC(9999, 0, 1) }), Date.UTC(2026, 0, 1), 'UTC')).toBe(Date.UTC(9999, 0, 1));
});

test('of thousands of counted times that have passed, the clocks are asked about those around the instant alone', () => {
  const asked = jest.spyOn(Temporal.PlainDate.prototype, 'toZonedDateTime');
  const fifth = { frequency: 'monthly', byweekday: ['monday'], bysetpos: 5, count: 10_000 } as const;
  for (const counted of [rule(fifth), rule({ frequency: 'yearly', count: 10_000 })]) {
    const old = { ...counted, start_date: Date.parse('0002-01-01T07:00:00Z') };
    const next = nextTime(old, Date.UTC(2026, 0, 1), 'Europe/Berlin');
    expect(next).toBe(nextTime({ ...old, count: null }, Date.UTC(2026, 0, 1), 'Europe/Berlin'));
  }
  expect(asked.mock.calls.length).toBeLessThan(20);
});

test('a rule whose next time lies behind all times has none', () => {
  expect(nextTime(rule({ frequency: 'yearly', interval: 9_000 }), Date.UTC(2027, 0, 1), 'UTC')).toBeNull();
});
