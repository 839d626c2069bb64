/** Instants as the reader is told them, and as fields say them. */
import { fromNow, instantOf, zonedOf } from '../../../lib/console/client/local-time.ts';

// Fields of a date without a zone are by the clock of the reader, whichever it is here.
const NOW = new Date(2026, 0, 9, 9, 30).getTime();

test.each([
  [new Date(2026, 0, 9, 9, 30), 'now'],
  [new Date(2026, 0, 9, 9, 29, 0, 400), '59 seconds ago'],
  [new Date(2026, 0, 9, 8, 30, 20), '59 minutes ago'],
  [new Date(2026, 0, 8, 9, 45), '23 hours ago'],
  [new Date(2026, 0, 8, 9, 15), 'yesterday'],
  [new Date(2026, 0, 7, 23, 0), '2 days ago'],
  [new Date(2026, 0, 6, 8, 0), '3 days ago'],
  [new Date(2026, 0, 9, 10, 29, 40), 'in 59 minutes'],
  [new Date(2026, 0, 10, 23, 0), 'tomorrow'],
  [new Date(2026, 0, 11, 0, 0), 'in 2 days'],
])('%s is told as %s', (at, told) => {
  expect(fromNow(at.getTime(), NOW)).toBe(told);
});

test.each([
  ['2030-01-07T09:00', 'UTC', '2030-01-07T09:00:00.000Z'],
  ['2030-01-07T09:00', 'Pacific/Auckland', '2030-01-06T20:00:00.000Z'],
  ['2030-07-01T09:00', 'Pacific/Auckland', '2030-06-30T21:00:00.000Z'],
  ['2030-01-07T00:15', 'Asia/Kathmandu', '2030-01-06T18:30:00.000Z'],
  // So fields say a year of which somebody has typed one figure, and one with a figure too many.
  ['0002-01-05T10:00', 'UTC', '0002-01-05T10:00:00.000Z'],
  ['20260-01-05T10:00', 'UTC', '+020260-01-05T10:00:00.000Z'],
  // Clocks of Berlin leap from 2 to 3 o'clock on 31 March 2030, and go from 3 back to 2 on 27 October.
  ['2030-03-31T01:59', 'Europe/Berlin', '2030-03-31T00:59:00.000Z'],
  ['2030-03-31T03:00', 'Europe/Berlin', '2030-03-31T01:00:00.000Z'],
  ['2030-10-27T02:30', 'Europe/Berlin', '2030-10-27T00:30:00.000Z'],
  ['2030-10-27T03:00', 'Europe/Berlin', '2030-10-27T02:00:00.000Z'],
])('%s in %s is %s, and told as that again', (field, zone, instant) => {
  expect(instantOf(field, zone)).toBe(instant);
  expect(zonedOf(instant, zone)).toBe(field);
});

test('a field is by the clock of the reader where no zone is named', () => {
  expect(instantOf('2026-01-09T09:30')).toBe(new Date(NOW).toISOString());
});

test('a time that a clock leaps over is as much later as it leaps', () => {
  expect(instantOf('2030-03-31T02:30', 'Europe/Berlin')).toBe('2030-03-31T01:30:00.000Z');
});
