import * as fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { MINUTE_MS } from '../../../../../lib/basics/units.ts';
import { behind, readDate } from '../../../../../lib/insights/kinds/parts/told-date.ts';
import { propertyRuns } from '../../../../support/property-runs.ts';

const padded = (number: number, digits: number): string => String(number).padStart(digits, '0');

/** What calendars say of a local time; undefined: they have none such. */
function known(fields: Temporal.PlainDateTimeLike): number | undefined {
  try {
    return Temporal.PlainDateTime.from(fields, { overflow: 'reject' }).toZonedDateTime('UTC').epochMilliseconds;
  } catch {
    return undefined;
  }
}

test('a date is read as calendars know it, and one that they do not have is none', () => {
  const part = (most: number) => fc.integer({ min: 0, max: most });
  const dates = fc.tuple(
    fc.integer({ min: 1, max: 9999 }),
    part(13),
    part(32),
    part(25),
    part(61),
    part(61),
    part(999),
  );
  fc.assert(
    fc.property(dates, fc.boolean(), ([year, month, day, hour, minute, second, millisecond], isShort) => {
      const [months, days, hours] = [month, day, hour].map((number) => padded(number, isShort ? 1 : 2));
      const clock = `${padded(minute, 2)}:${padded(second, 2)}.${padded(millisecond, 3)}`;
      const local = known({ year, month, day, hour, minute, second, millisecond });
      const read = readDate(`${padded(year, 4)}-${months}-${days} ${hours}:${clock}`);
      expect(read).toEqual(local === undefined ? undefined : { local, offsetMs: undefined, isDay: false });

      const start = known({ year, month, day });
      const text = `${padded(year, 4)}-${months}-${days}`;
      expect(readDate(text)).toEqual(
        start === undefined ? undefined : { local: start, offsetMs: undefined, isDay: true },
      );
      const next =
        start === undefined ? text : Temporal.PlainDate.from({ year, month, day }).add({ days: 1 }).toString();
      expect(behind(text)).toBe(next);
    }),
    { numRuns: propertyRuns(500) },
  );
});

test.each([
  ['2026-02-30', undefined],
  ['2026-01-31T24:00', undefined],
  ['0000-01-01', undefined],
  ['yesterday', undefined],
  ['d', undefined],
  ['-7d', { count: 7, unit: 'day', position: undefined }],
  ['-1mStart', { count: 1, unit: 'month', position: 'Start' }],
  ['2026-01-31T10:00Z', { local: Date.UTC(2026, 0, 31, 10), offsetMs: 0, isDay: false }],
  ['2026-01-31 10:00 -0330', { local: Date.UTC(2026, 0, 31, 10), offsetMs: -210 * MINUTE_MS, isDay: false }],
])('%s is read', (text, date) => {
  expect(readDate(text)).toEqual(date);
});

test.each([
  ['2026-12-31', '2027-01-01'],
  ['9999-12-31', '+010000-01-01'],
  ['2026-12-31T00:00', '2026-12-31T00:00'],
  ['-1d', '-1d'],
  ['never', 'never'],
])('what lies behind %s', (text, next) => {
  expect(behind(text)).toBe(next);
});
