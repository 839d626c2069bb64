import { DAY_MS } from '../../../../lib/basics/units.ts';
import { folderFiles } from '../../../../lib/ports/files/folder.ts';
import { toJsonText } from '../../../../lib/ports/table/json-text.ts';
import { keys } from '../../../../lib/ports/table/keys.ts';
import { newestEvents } from '../../../../lib/reading/events/store.ts';
import { cursorOf } from '../../../../lib/reading/row-cursor.ts';
import { lookFor } from '../../../../lib/reading/waiting.ts';
import { duckdbReader } from '../../../../lib/warehouse/duckdb-reader.ts';
import type { Reading } from '../../../../lib/warehouse/reader.ts';
import { START, temporaryFolder, testContext } from '../../../support/context.ts';
import { importRecords } from '../../../support/imports.ts';
import { onEnd } from '../../../support/on-end.ts';
import { testService } from '../../../support/service.ts';

/** Files by the seconds of their events; each is so large that it is read by itself. */
const FILES = [
  [1, 9, 11, 12],
  [2, 3, 10, 13],
  [4, 5, 6, 7, 8],
];

const rowOf = (second: number) => ({
  uuid: `u${second}`,
  event: 'e',
  distinct_id: 'd',
  properties: '{}',
  at: String((START + second * 1000) * 1000),
  elements_chain: null,
});

async function world(most: number) {
  const { table } = testContext();
  for (const [n, seconds] of FILES.entries()) {
    const times = seconds.map((second) => START + second * 1000);
    const file = {
      path: String(n),
      bytes: 1,
      rows: 1_000_000,
      min_arrival: START,
      max_arrival: START,
      min_timestamp: Math.min(...times),
      max_timestamp: Math.max(...times),
      hours: toJsonText([1, ...Array.from({ length: 23 }, () => 0)]),
    };
    await table.write([{ put: { ...keys.lakeFile(7, 'events', '2026-01-01', START, 'b', n), ...file } }]);
  }
  /** Gives `most` rows at a time. */
  const read = async ({ files, parameters, sql }: Reading) => {
    const before = Number(parameters['place0'] ?? Infinity);
    const limit = Number(/LIMIT (\d+)/.exec(sql)?.[1]);
    const rows = files
      .flatMap(({ path }) => (FILES[Number(path)] ?? []).map(rowOf))
      .filter(({ at }) => Number(at) < before)
      .toSorted((a, b) => Number(b.at) - Number(a.at))
      .slice(0, limit);
    return { rows: rows.slice(0, most), isCut: rows.length > most };
  };
  return lookFor({ table, reader: { read } }, { organization: { id: 'o' }, project: { id: 7 } });
}

test.each([
  [1, 100],
  [2, 100],
  [2, 3],
  [3, 2],
  [100, 1],
  [100, 100],
])('pages are whole and in order, whatever a reading gives: %i rows at most, pages of %i', async (most, limit) => {
  const look = await world(most);
  const found: string[] = [];
  for (let cursor: string | undefined = cursorOf([String(START * 2000), '~', '', '']); cursor !== undefined; ) {
    const page: Awaited<ReturnType<typeof newestEvents>> = await newestEvents(look, { cursor }, limit);
    expect(page.rows.length).toBeGreaterThan(0);
    found.push(...page.rows.map(({ uuid }) => uuid));
    cursor = page.next;
  }
  expect(found).toEqual([13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((second) => `u${second}`));
});

test('a page of events that fill it is read at once, and nothing of older files', async () => {
  const lake = folderFiles(temporaryFolder());
  const reader = duckdbReader({ lake });
  onEnd(() => reader.close());
  const context = testContext({ lake });
  const { project } = await testService(context);
  for (const days of [3, 2, 1]) {
    const timestamp = new Date(START - days * DAY_MS).toISOString();
    const properties = { text: 'a'.repeat(60_000) };
    const records = Array.from({ length: 90 }, (_, n) => ({ event: `e${n}`, distinct_id: 'd', timestamp, properties }));
    await importRecords(context, project.id, records);
  }
  const read: number[] = [];
  const look = lookFor(
    {
      table: context.table,
      reader: {
        read: (reading, asker) => {
          read.push(reading.files.length);
          return reader.read(reading, asker);
        },
      },
    },
    { organization: { id: 'o' }, project: { id: project.id } },
  );
  // Each file is so large that it is read by itself.
  const files = (await look.files('events')).map((file) => ({ ...file, rows: 1_000_000 }));
  const { rows, next } = await newestEvents({ ...look, files: async () => files }, {}, 80);
  expect([rows.length > 50, typeof next, read]).toEqual([true, 'string', [1]]);
});
