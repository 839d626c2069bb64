import { importText, problemText } from '../../../lib/admin/import-report.ts';

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
