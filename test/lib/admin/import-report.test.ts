import { importText, problemText } from '../../../lib/admin/import-report.ts';
import { HOUR_MS } from '../../../lib/basics/units.ts';
import { intervalsOf } from '../../../lib/exports/runs/plan.ts';
import { intervalsBetween, isOnGrid, MAX_BACKFILL_INTERVALS } from '../../../lib/lake/intervals.ts';

const REPORT = {
  files: [],
  events: 7,
  added: 0,
  known: 7,
  forgotten: 0,
  persons: { read: 0, rows: 0, refused: 0 },
  bad: 0,
  rejected: [],
  arrival: null,
  backfills: [],
};

test.each([
  [0, '7 events: 0 added, 7 known already'],
  [4, '7 events: 0 added, 3 known already, 4 of deleted persons, not taken'],
])('of an import again %d events of deleted persons are told apart', (forgotten, text) => {
  const imported = { api: 'http://127.0.0.1:8010', project: 1, hasExports: true };
  expect(importText({ ...REPORT, forgotten }, imported)).toBe(text);
});

test('of a table whose columns nobody knows, the command line says by which option they are named', () => {
  const lacks =
    'its first lines are in no known format. As a table, no column says what event is; its columns are A, B';
  expect(problemText(lacks)).toBe(`${lacks}. Name them with --column <field>=<column>`);
  expect(problemText('it is UTF-16: save it as UTF-8')).toBe('it is UTF-16: save it as UTF-8');
});

describe('the commands that deliver what was imported', () => {
  const at = (text: string): number => Date.parse(text);
  const hourAt = (text: string) => ({ export: 'e', name: 'To S3', from: at(text), to: at(text) + HOUR_MS });
  const rangesIn = (text: string) =>
    [...text.matchAll(/-d '(.*)'/g)].map(([, body = '']) => JSON.parse(body) as { start_at: string; end_at: string });

  test('are one for what lies near, and so many that each backfill is one that the API takes', () => {
    const needed = ['2019-05-05T10:00:00Z', '2019-05-07T10:00:00Z', '2023-05-05T10:00:00Z'].map(hourAt);
    const told = importText({ ...REPORT, backfills: needed }, { api: '$API', project: 1, hasExports: true });
    expect(told).toContain('has passed 3 ranges of it; 2 backfills deliver them:');
    expect(rangesIn(told)).toEqual([
      { start_at: '2019-05-05T10:00:00Z', end_at: '2019-05-07T11:00:00Z' },
      { start_at: '2023-05-05T10:00:00Z', end_at: '2023-05-05T11:00:00Z' },
    ]);
    const near = importText(
      { ...REPORT, backfills: needed.slice(0, 2) },
      { api: '$API', project: 1, hasExports: true },
    );
    expect(near).toContain('has passed 2 ranges of it; a backfill delivers them:');
    expect(rangesIn(near)).toEqual([{ start_at: '2019-05-05T10:00:00Z', end_at: '2019-05-07T11:00:00Z' }]);
  });

  test('are taken by an export that was asked for more often before', () => {
    const often = { from: at('2021-01-03'), to: at('2022-11-20'), frequency: 'every 5 minutes' } as const;
    const plan = { version: 2, next: at('2026-01-01'), skipped: [], ran: [often], claimed: [], active: [] };
    const backfills = [{ export: 'e', name: 'To S3', from: at('2019-01-03'), to: at('2023-11-20') }];
    const counts = rangesIn(importText({ ...REPORT, backfills }, { api: '$API', project: 1, hasExports: true })).map(
      ({ start_at, end_at }) => intervalsOf(plan, 'hour', { from: at(start_at), to: at(end_at) }).count,
    );
    expect(counts.filter((count) => count > MAX_BACKFILL_INTERVALS)).toEqual([]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(MAX_BACKFILL_INTERVALS);
  });

  test('cut what is longer than a backfill at edges of every frequency, for an export that is yet to be made, too', () => {
    const arrival = { from: at('2019-05-05T10:00:00Z'), to: at('2023-05-05T10:00:00Z') };
    const cut = rangesIn(importText({ ...REPORT, arrival }, { api: '$API', project: 1, hasExports: false }));
    expect(cut.map(({ start_at }) => start_at)).toEqual([
      '2019-05-05T10:00:00Z',
      ...cut.slice(0, -1).map(({ end_at }) => end_at),
    ]);
    expect(cut.at(-1)?.end_at).toBe('2023-05-05T10:00:00.001000Z');
    for (const { start_at, end_at } of cut) {
      expect(intervalsBetween(at(start_at), at(end_at), 'every 5 minutes').count).toBeLessThanOrEqual(200_000);
    }
    expect(cut.slice(1).filter(({ start_at }) => !isOnGrid(at(start_at), 'week'))).toEqual([]);
  });
});
