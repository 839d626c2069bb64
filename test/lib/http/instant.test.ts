import * as fc from 'fast-check';
import { wireInstant } from '../../../lib/http/instant.ts';
import { propertyRuns } from '../../support/property-runs.ts';

test.each([
  [0, '1970-01-01T00:00:00Z'],
  [Date.UTC(2026, 10, 21, 9, 5, 7), '2026-11-21T09:05:07Z'],
  [Date.UTC(2026, 10, 21, 9, 5, 7, 8), '2026-11-21T09:05:07.008000Z'],
  [-1, '1969-12-31T23:59:59.999000Z'],
  [Date.UTC(2024, 1, 29, 23, 59, 59), '2024-02-29T23:59:59Z'],
])('%d is %s', (instant, text) => {
  expect(wireInstant(instant)).toBe(text);
});

test('every instant is written as the platform writes it, with six digits or none', () => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true }), (date) => {
      const text = date
        .toISOString()
        .replace('.000Z', 'Z')
        .replace(/\.(\d{3})Z$/, '.$1000Z');
      expect(wireInstant(date.getTime())).toBe(text);
    }),
    { numRuns: propertyRuns(1_000) },
  );
});
