/** The strip of an export's intervals: which it holds, and what stands at each. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { stripOf, stripRows } from '../../../lib/console/client/intervals.ts';
import type { Schemas } from '../../../lib/console/client/schemas.ts';

type Run = Schemas['BatchExportRunDetail'];

const NOW = Date.parse('2026-03-04T10:20:00Z');

const ran = (from: string, until: string, status: Run['status'] = 'Completed', created_at = until): Run =>
  ({
    id: `${from} ${status}`,
    status,
    data_interval_start: `2026-${from}:00Z`,
    data_interval_end: `2026-${until}:00Z`,
    created_at,
  }) as Run;

const said = (strip: ReturnType<typeof stripOf>) =>
  [strip.from, strip.to].map((instant) => new Date(instant).toISOString().slice(0, 16));

test.each([
  ['every 5 minutes', undefined, '2026-03-04T05:00', '2026-03-04T11:00', 6, 12],
  ['every 5 minutes', 'day', '2026-03-03T11:00', '2026-03-04T11:00', 24, 12],
  ['every 15 minutes', undefined, '2026-03-03T12:00', '2026-03-04T12:00', 4, 24],
  ['hour', undefined, '2026-02-26T00:00', '2026-03-05T00:00', 7, 24],
  ['hour', 'month', '2026-02-03T00:00', '2026-03-05T00:00', 30, 24],
  ['day', undefined, '2026-02-01T00:00', '2026-03-08T00:00', 5, 7],
  ['week', 'unknown', '2025-01-26T00:00', '2026-04-26T00:00', 5, 13],
] as const)('the strip of %s, %s, is whole rows up to now', (interval, span, from, to, rows, cells) => {
  const strip = stripOf(interval, { span }, NOW);
  expect(said(strip)).toEqual([from, to]);
  expect(strip.isCurrent).toBe(true);
  expect(stripRows(strip, [], NOW).map((row) => row.cells.length)).toEqual(Array.from({ length: rows }, () => cells));
});

test('a strip ends with the row of what was before an instant, and never after now', () => {
  expect(said(stripOf('hour', { span: 'day', until: '2015-05-18T00:00:00Z' }, NOW))).toEqual([
    '2015-05-17T00:00',
    '2015-05-18T00:00',
  ]);
  expect(stripOf('hour', { until: '2015-05-18T00:00:00Z' }, NOW).isCurrent).toBe(false);
  for (const until of ['2099-01-01T00:00:00Z', 'nonsense'])
    expect(said(stripOf('hour', { span: 'day', until }, NOW))).toEqual(['2026-03-04T00:00', '2026-03-05T00:00']);
});

test('a row begins to be shown when the first interval of it has ended', () => {
  const ends = (now: string) => said(stripOf('every 5 minutes', {}, Date.parse(now)))[1];
  expect(ends('2026-03-04T10:04:59Z')).toBe('2026-03-04T10:00');
  expect(ends('2026-03-04T10:05:00Z')).toBe('2026-03-04T11:00');
});

test('no strip has more intervals than ten pages of runs tell of', () => {
  for (const interval of ['every 5 minutes', 'every 15 minutes', 'hour', 'day', 'week'] as const)
    for (const { value } of stripOf(interval, {}, NOW).spans) {
      const strip = stripOf(interval, { span: value }, NOW);
      expect((strip.to - strip.from) / strip.cell).toBeLessThanOrEqual(1_000);
    }
});

test('a cell has the newest run of its interval, and tells what has not run from what is not over', () => {
  const [row] = stripRows(
    stripOf('hour', { span: 'day' }, NOW),
    [
      ran('03-04T07:00', '03-04T08:00', 'Completed', '2026-03-04T09:30:00Z'),
      ran('03-04T07:00', '03-04T08:00', 'Failed', '2026-03-04T08:10:00Z'),
      ran('03-04T08:00', '03-04T09:00', 'Cancelled'),
    ],
    NOW,
  );
  expect(row?.cells.slice(7, 11).map(({ run, isOver }) => [run?.status, isOver])).toEqual([
    ['Completed', true],
    ['Cancelled', true],
    [undefined, true],
    [undefined, false],
  ]);
});

test('what ran more often before stands in one cell by its worst run, what ran less often in several', () => {
  const strip = stripOf('hour', { span: 'day' }, NOW);
  const [row] = stripRows(
    strip,
    [
      ran('03-04T01:00', '03-04T01:15'),
      ran('03-04T01:15', '03-04T01:30', 'Failed'),
      ran('03-04T01:30', '03-04T01:45', 'Running'),
      ran('03-03T00:00', '03-05T00:00', 'Starting'),
    ],
    NOW,
  );
  expect(row?.cells.map(({ run }) => run?.status)).toEqual(
    Array.from({ length: 24 }, (_, hour) => (hour === 1 ? 'Failed' : 'Starting')),
  );
  expect(row?.cells[1]?.intervals).toBe(4);
  expect([strip.cell, strip.row]).toEqual([HOUR_MS, DAY_MS]);
  expect(stripOf('every 5 minutes', {}, NOW).cell).toBe(5 * MINUTE_MS);
});
