import { importText } from '../../../lib/admin/import-report.ts';

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
