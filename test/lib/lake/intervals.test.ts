import * as fc from 'fast-check';
import {
  alignDown,
  chained,
  FREQUENCIES,
  intervalsBetween,
  isOnGrid,
  LENGTH,
  slice,
} from '../../../lib/lake/intervals.ts';

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
