import * as fc from 'fast-check';
import { MINUTE_MS } from '../../../lib/basics/units.ts';
import {
  alignDown,
  backfillRanges,
  chained,
  FREQUENCIES,
  intervalsBetween,
  isOnGrid,
  LENGTH,
  MAX_BACKFILL_INTERVALS,
  slice,
} from '../../../lib/lake/intervals.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const at = (text: string): number => Date.parse(text);
const interval = fc.constantFrom(...FREQUENCIES);
const instant = fc.integer({ min: at('1960-01-01T00:00:00Z'), max: at('2100-01-01T00:00:00Z') });

test('a day begins at midnight UTC, a week on Sunday, and short intervals on multiples', () => {
  const thursday = at('2026-11-19T13:47:11.5Z');
  expect(alignDown(thursday, 'every 5 minutes')).toBe(at('2026-11-19T13:45:00Z'));
  expect(alignDown(thursday, 'every 15 minutes')).toBe(at('2026-11-19T13:45:00Z'));
  expect(alignDown(thursday, 'hour')).toBe(at('2026-11-19T13:00:00Z'));
  expect(alignDown(thursday, 'day')).toBe(at('2026-11-19T00:00:00Z'));
  expect(alignDown(thursday, 'week')).toBe(at('2026-11-15T00:00:00Z'));
  expect(new Date(alignDown(thursday + LENGTH.week, 'week')).getUTCDay()).toBe(0);
});

test('alignment holds before 1970 too', () => {
  expect(alignDown(at('1969-12-31T23:59:00Z'), 'hour')).toBe(at('1969-12-31T23:00:00Z'));
  expect(alignDown(at('1969-12-31T00:00:00Z'), 'week')).toBe(at('1969-12-28T00:00:00Z'));
});

test('an instant lies between its two boundaries, which are a length apart unless it is one itself', () => {
  fc.assert(
    fc.property(instant, interval, (t, frequency) => {
      const [down, up] = [alignDown(t, frequency), alignDown(t + LENGTH[frequency] - 1, frequency)];
      expect(down <= t && t <= up).toBe(true);
      expect(up - down).toBe(isOnGrid(t, frequency) ? 0 : LENGTH[frequency]);
    }),
  );
});

test('intervals follow one another without gap or overlap from end to end, each inside one interval', () => {
  fc.assert(
    fc.property(instant, fc.integer({ min: 0, max: 400 }), interval, fc.nat(), (from, many, frequency, odd) => {
      const to = from + Math.floor(many * LENGTH[frequency] * 0.7) + (odd % LENGTH[frequency]);
      const intervals = slice(intervalsBetween(from, to, frequency), 0, 1000);
      const edges = intervals.flatMap(({ start, end }) => [start, end]);
      expect(edges).toEqual(edges.toSorted((a, b) => a - b));
      expect([edges.at(0), edges.at(-1)]).toEqual(from < to ? [from, to] : [undefined, undefined]);
      for (const [i, { start, end }] of intervals.entries()) {
        expect(start).toBe(i === 0 ? from : intervals[i - 1]?.end);
        expect(alignDown(start, frequency)).toBe(alignDown(end - 1, frequency));
      }
    }),
  );
});

test('the last of a million intervals costs as much as the first', () => {
  const intervals = intervalsBetween(at('2015-01-01T00:00:00Z'), at('2026-01-01T00:00:00Z'), 'every 5 minutes');
  expect(intervals.count).toBe((4018 * 24 * 60) / 5);
  expect(intervals.at(intervals.count - 1).end).toBe(at('2026-01-01T00:00:00Z'));
  expect(() => intervals.at(intervals.count)).toThrow(RangeError);
});

test('rows of intervals that are chained count on through their parts', () => {
  const day = intervalsBetween(at('2026-01-01T00:00:00Z'), at('2026-01-02T00:00:00Z'), 'hour');
  const week = intervalsBetween(at('2026-01-02T00:00:00Z'), at('2026-01-08T00:00:00Z'), 'day');
  const both = chained([day, week]);
  expect(both.count).toBe(30);
  expect(both.at(23)).toEqual(day.at(23));
  expect(slice(both, 24, 96)).toEqual(slice(week, 0, 96));
  expect(() => both.at(30)).toThrow(RangeError);
});

test('ranges are delivered by as few backfills as there may be, which cut weeks nowhere', () => {
  const range = (from: string, to: string) => ({ from: at(from), to: at(to) });
  const hours = ['2019-05-05', '2019-05-07', '2023-05-05'].map((day) => range(`${day}T10:00:00Z`, `${day}T11:00:00Z`));
  expect(backfillRanges(hours)).toEqual([
    range('2019-05-05T10:00:00Z', '2019-05-07T11:00:00Z'),
    range('2023-05-05T10:00:00Z', '2023-05-05T11:00:00Z'),
  ]);
  const cut = backfillRanges([range('2019-05-05T10:00:00Z', '2023-05-05T11:00:00Z')]);
  expect(cut).toHaveLength(3);
  for (const { from, to } of cut)
    expect((to - from) / LENGTH['every 5 minutes']).toBeLessThanOrEqual(MAX_BACKFILL_INTERVALS);
  expect(cut.slice(1).map(({ from }) => new Date(from).getUTCDay())).toEqual([0, 0]);
});

test('no two backfills of ranges are of one week', () => {
  const minutes = fc.oneof(fc.nat(3 * 60), fc.nat(1_500_000), fc.constantFrom(999_400, 999_995, 1_000_000, 1_000_005));
  const ranges = fc.array(fc.tuple(minutes, minutes), { minLength: 1, maxLength: 8 }).map((steps) => {
    let end = at('2015-01-01T00:00:00Z');
    return steps.map(([gap, length]) => {
      const from = end + gap * MINUTE_MS;
      end = from + (length + 1) * MINUTE_MS;
      return { from, to: end };
    });
  });
  const property = fc.property(ranges, (needed) => {
    const weeks = backfillRanges(needed).map(
      ({ from, to }) => [alignDown(from, 'week'), alignDown(to - 1, 'week')] as const,
    );
    expect(weeks.every(([first], n) => n === 0 || first > (weeks[n - 1] as readonly [number, number])[1])).toBe(true);
  });
  fc.assert(property, { numRuns: propertyRuns(500) });
});
