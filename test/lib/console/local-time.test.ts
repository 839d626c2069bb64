/** Instants as the reader is told them. */
import { fromNow } from '../../../lib/console/client/local-time.ts';

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
