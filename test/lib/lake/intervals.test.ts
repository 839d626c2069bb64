import * as fc from 'fast-check';
import { alignDown, chained, INTERVALS, isOnGrid, LENGTH, slice, slotsBetween } from '../../../lib/lake/intervals.ts';

const at = (text: string): number => Date.parse(text);
const interval = fc.constantFrom(...INTERVALS);
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
    fc.property(instant, interval, (t, interval) => {
      const [down, up] = [alignDown(t, interval), alignDown(t + LENGTH[interval] - 1, interval)];
      expect(down <= t && t <= up).toBe(true);
      expect(up - down).toBe(isOnGrid(t, interval) ? 0 : LENGTH[interval]);
    }),
  );
});

test('slots follow one another without gap or overlap from end to end, each inside one interval', () => {
  fc.assert(
    fc.property(instant, fc.integer({ min: 0, max: 400 }), interval, fc.nat(), (from, many, interval, odd) => {
      const to = from + Math.floor(many * LENGTH[interval] * 0.7) + (odd % LENGTH[interval]);
      const slots = slice(slotsBetween(from, to, interval), 0, 1000);
      const edges = slots.flatMap(({ start, end }) => [start, end]);
      expect(edges).toEqual(edges.toSorted((a, b) => a - b));
      expect([edges.at(0), edges.at(-1)]).toEqual(from < to ? [from, to] : [undefined, undefined]);
      for (const [i, { start, end }] of slots.entries()) {
        expect(start).toBe(i === 0 ? from : slots[i - 1]?.end);
        expect(alignDown(start, interval)).toBe(alignDown(end - 1, interval));
      }
    }),
  );
});

test('the last of a million slots costs as much as the first', () => {
  const slots = slotsBetween(at('2015-01-01T00:00:00Z'), at('2026-01-01T00:00:00Z'), 'every 5 minutes');
  expect(slots.count).toBe((4018 * 24 * 60) / 5);
  expect(slots.at(slots.count - 1).end).toBe(at('2026-01-01T00:00:00Z'));
  expect(() => slots.at(slots.count)).toThrow(RangeError);
});

test('rows of slots that are chained count on through their parts', () => {
  const day = slotsBetween(at('2026-01-01T00:00:00Z'), at('2026-01-02T00:00:00Z'), 'hour');
  const week = slotsBetween(at('2026-01-02T00:00:00Z'), at('2026-01-08T00:00:00Z'), 'day');
  const both = chained([day, week]);
  expect(both.count).toBe(30);
  expect(both.at(23)).toEqual(day.at(23));
  expect(slice(both, 24, 96)).toEqual(slice(week, 0, 96));
  expect(() => both.at(30)).toThrow(RangeError);
});
