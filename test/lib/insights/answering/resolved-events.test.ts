import type { DuckDBConnection } from '@duckdb/node-api';
import { openDatabase } from '../../../../lib/duckdb/database.ts';
import { resolvedEvents } from '../../../../lib/insights/answering/resolved-events.ts';
import { temporaryFolder } from '../../../support/context.ts';
import { onEnd } from '../../../support/on-end.ts';

const EVENTS = `(SELECT * FROM (VALUES ('seen', 1, 'phone', NULL), ('paid', 2, 'laptop', NULL), ('seen', 3, 'nobody', 'own'))
  AS of_the_files (event, timestamp_us, distinct_id, person_id))`;
const TIES = `(SELECT * FROM (VALUES ('phone', 'ada'), ('laptop', 'ada')) AS tied (distinct_id, person_id))`;

async function keeper(count = 'SELECT 3') {
  const database = await openDatabase({ tempDirectory: temporaryFolder() });
  onEnd(() => database.closeSync());
  const connected = async <T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> => {
    const connection = await database.connect();
    try {
      return await work(connection);
    } finally {
      connection.closeSync();
    }
  };
  const events = { paths: ['a file'], isTied: true, rows: async () => ({ events: EVENTS, ties: TIES, count }) };
  const rowsOf = (sql: string) => connected(async (connection) => (await connection.runAndReadAll(sql)).getRows());
  return { resolved: resolvedEvents(connected), events, rowsOf };
}

const told = async (table: string | undefined) => table;

test('a table of the events and of whose they are is made when they are asked about for the second time', async () => {
  const { resolved, events, rowsOf } = await keeper();
  expect(await resolved.during(events, told)).toBeUndefined();
  const rows = await resolved.during(events, (table) => rowsOf(`SELECT * FROM ${table} ORDER BY timestamp_us`));
  expect(rows.map((row) => row.map(String))).toEqual([
    ['seen', '1', 'ada'],
    ['paid', '2', 'ada'],
    ['seen', '3', 'own'],
  ]);
});

test('it is made at once where it is known that others ask', async () => {
  const { resolved, events } = await keeper();
  expect(await resolved.during({ ...events, isRepeated: true }, told)).toEqual(expect.any(String));
});

test('what fails with the table is done without it, and the table is gone', async () => {
  const { resolved, events, rowsOf } = await keeper();
  await resolved.during(events, told);
  const asked: (string | undefined)[] = [];
  const work = async (table: string | undefined) => {
    asked.push(table);
    if (table !== undefined) throw new Error('there is no memory left');
    return 'of the files';
  };
  expect(await resolved.during(events, work)).toBe('of the files');
  expect(asked).toEqual([expect.any(String), undefined]);
  expect(await rowsOf('SELECT table_name FROM duckdb_tables()')).toEqual([]);
  expect(await rowsOf('SELECT type_name FROM duckdb_types() WHERE NOT internal')).toEqual([]);
  expect(await resolved.during(events, told)).toBeUndefined();
});

test('there is none of too many events', async () => {
  const { resolved, events } = await keeper('SELECT 12_000_001');
  for (let n = 0; n < 3; n += 1) expect(await resolved.during(events, told)).toBeUndefined();
});
