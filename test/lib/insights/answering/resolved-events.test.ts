import type { DuckDBConnection } from '@duckdb/node-api';
import { openDatabase } from '../../../../lib/duckdb/database.ts';
import { OutOfMemory, resolvedEvents } from '../../../../lib/insights/answering/resolved-events.ts';
import { Failure } from '../../../../lib/ports/errors.ts';
import { temporaryFolder } from '../../../support/context.ts';
import { onEnd } from '../../../support/on-end.ts';

const EVENTS = `(SELECT * FROM (VALUES ('seen', 1, 'phone', NULL), ('paid', 2, 'laptop', NULL), ('seen', 3, 'nobody', 'own'))
  AS of_the_files (event, timestamp_us, distinct_id, person_id))`;
const TIES = `(SELECT * FROM (VALUES ('phone', 'ada'), ('laptop', 'ada')) AS tied (distinct_id, person_id))`;

async function keeper(count = 'SELECT 3', explained = (error: unknown) => error) {
  const database = await openDatabase({ tempDirectory: temporaryFolder() });
  onEnd(() => database.closeSync());
  const connected = async <T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> => {
    const connection = await database.connect();
    try {
      return await work(connection);
    } catch (error) {
      throw explained(error);
    } finally {
      connection.closeSync();
    }
  };
  const events = { paths: ['a file'], rows: async () => ({ events: EVENTS, ties: TIES, count }) };
  const rowsOf = async (sql: string) => {
    const rows = await connected(async (connection) => (await connection.runAndReadAll(sql)).getRows());
    return rows.map((row) => row.map(String));
  };
  return { resolved: resolvedEvents(connected), events, rowsOf };
}

/** Asks whose the events are, and for the person's texts. */
const TEXTS = { isTied: true, isResolved: true, isNumbered: false, isSorted: false, isRepeated: false };
const NUMBERS = { ...TEXTS, isNumbered: true };
const SORTED = { ...NUMBERS, isSorted: true };

type Found = Parameters<Parameters<ReturnType<typeof resolvedEvents>['during']>[2]>[0];
const told = async (found: Found) => found;

const NOTHING = undefined;
const A_TABLE = { events: expect.any(String) };
const PERSONS = { persons: { ties: expect.any(String), personOf: expect.any(Function) } };

/** SQL of the resolved events, by what there is. */
const whose = (found: Found): string => {
  if (found === undefined) throw new Error('there is nothing');
  if ('events' in found) return `SELECT * FROM ${found.events} ORDER BY timestamp_us`;
  const { ties, personOf } = found.persons;
  return `SELECT event, timestamp_us, ${personOf('ties.person_id', 'coalesce(lake.person_id, lake.distinct_id)')}
    FROM ${EVENTS} AS lake LEFT JOIN ${ties} AS ties ON lake.distinct_id = ties.distinct_id ORDER BY timestamp_us`;
};

test('a table of the events and of whose they are is made when they are asked about for the second time', async () => {
  const { resolved, events, rowsOf } = await keeper();
  expect(await resolved.during(events, TEXTS, told)).toEqual(NOTHING);
  expect(await resolved.during(events, TEXTS, (found) => rowsOf(whose(found)))).toEqual([
    ['seen', '1', 'ada'],
    ['paid', '2', 'ada'],
    ['seen', '3', 'own'],
  ]);
});

test('it is made at once where it is known that others ask', async () => {
  const { resolved, events } = await keeper();
  expect(await resolved.during(events, { ...TEXTS, isRepeated: true }, told)).toEqual(A_TABLE);
});

test('a question that does not ask whose events are takes the table that is there, and makes none', async () => {
  const { resolved, events } = await keeper();
  const untied = { ...TEXTS, isTied: false };
  for (let n = 0; n < 3; n += 1) expect(await resolved.during(events, untied, told)).toEqual(NOTHING);
  await resolved.during(events, { ...TEXTS, isRepeated: true }, told);
  expect(await resolved.during(events, untied, told)).toEqual(A_TABLE);
});

test('where numbers do for persons, the table has numbers', async () => {
  const { resolved, events, rowsOf } = await keeper();
  await resolved.during(events, NUMBERS, told);
  expect(await resolved.during(events, NUMBERS, (found) => rowsOf(whose(found)))).toEqual([
    ['seen', '1', '0'],
    ['paid', '2', '0'],
    ['seen', '3', '1'],
  ]);
});

test('who sorts events by persons has numbers for them at once, and the table when they are asked again', async () => {
  const { resolved, events, rowsOf } = await keeper();
  const first = await resolved.during(events, SORTED, async (found) => ({ found, rows: await rowsOf(whose(found)) }));
  expect(first).toEqual({
    found: PERSONS,
    rows: [
      ['seen', '1', '0'],
      ['paid', '2', '0'],
      ['seen', '3', '1'],
    ],
  });
  expect(await resolved.during(events, SORTED, told)).toEqual(A_TABLE);
});

test('a question for more than the table has is told of the persons alone, if it sorts by them', async () => {
  const { resolved, events } = await keeper();
  await resolved.during(events, { ...TEXTS, isRepeated: true }, told);
  expect(await resolved.during(events, { ...SORTED, isResolved: false }, told)).toEqual(PERSONS);
  expect(await resolved.during(events, { ...NUMBERS, isResolved: false }, told)).toEqual(NOTHING);
  expect(await resolved.during(events, { ...TEXTS, isResolved: false }, told)).toEqual(NOTHING);
});

test('what has no memory left beside the table is done without it, and the table is gone', async () => {
  const { resolved, events, rowsOf } = await keeper();
  await resolved.during(events, TEXTS, told);
  const asked: Found[] = [];
  const work = async (found: Found) => {
    asked.push(found);
    if (found !== undefined) throw new OutOfMemory();
    return 'of the files';
  };
  expect(await resolved.during(events, TEXTS, work)).toBe('of the files');
  expect(asked).toEqual([A_TABLE, NOTHING]);
  expect(await rowsOf('SELECT table_name FROM duckdb_tables()')).toEqual([]);
  expect(await rowsOf('SELECT type_name FROM duckdb_types() WHERE NOT internal')).toEqual([]);
  expect(await resolved.during(events, TEXTS, told)).toEqual(NOTHING);
});

test('it is not made again for who asks after that', async () => {
  const { resolved, events } = await keeper();
  const tile = { ...TEXTS, isRepeated: true };
  const large = async (found: Found) => {
    if (found !== undefined) throw new OutOfMemory();
  };
  await resolved.during(events, tile, large);
  expect(await resolved.during(events, tile, told)).toEqual(NOTHING);
});

test('where another question uses it, it goes with that', async () => {
  const { resolved, events, rowsOf } = await keeper();
  const tile = { ...TEXTS, isRepeated: true };
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const other = resolved.during(events, tile, () => isOver);
  await resolved.during(events, tile, async (found) => {
    if (found !== undefined) throw new OutOfMemory();
  });
  const tables = () => rowsOf('SELECT count(*) > 0 FROM duckdb_tables()');
  expect(await tables()).toEqual([['true']]);
  end();
  await other;
  expect(await tables()).toEqual([['false']]);
});

test('what fails with the table otherwise is done without it, or fails as that does, and the table stays', async () => {
  const { resolved, events } = await keeper();
  const tile = { ...TEXTS, isRepeated: true };
  const ofTexts = async (found: Found) => {
    if (found !== undefined) throw new Error('it is no text');
    return 'of the files';
  };
  const wrong = async () => {
    throw new Failure('validation', { detail: 'There is no such value.' });
  };
  expect(await resolved.during(events, tile, ofTexts)).toBe('of the files');
  await expect(resolved.during(events, tile, wrong)).rejects.toThrow('There is no such value.');
  expect(await resolved.during(events, tile, told)).toEqual(A_TABLE);
});

test('what is defective of it is told, and what only has no memory or no such value is not', async () => {
  const { resolved, events } = await keeper();
  const warned: unknown[] = [];
  const asked = { ...events, warn: (error: unknown) => void warned.push(error) };
  const failing = (error: Error) => async (found: Found) => {
    if (found !== undefined) throw error;
  };
  const tile = { ...TEXTS, isRepeated: true };
  const defect = new Error('it is no text');
  for (const error of [defect, new Failure('validation', { detail: 'There is no such value.' }), new OutOfMemory()])
    await resolved.during(asked, tile, failing(error));
  expect(warned).toEqual([defect]);
});

test.each([
  ['SELECT count FROM nowhere', EVENTS, TIES],
  ['SELECT 3', '(SELECT 1 AS nothing)', TIES],
  ['SELECT 3', EVENTS, '(SELECT 1 AS nothing)'],
])('what it cannot be made of is told: %s of %s and %s', async (count, from, ties) => {
  const { resolved } = await keeper();
  const warned: unknown[] = [];
  const rows = async () => ({ events: from, ties, count });
  const asked = { paths: ['a file'], rows, warn: (error: unknown) => void warned.push(error) };
  expect(await resolved.during(asked, { ...TEXTS, isRepeated: true }, told)).toEqual(NOTHING);
  expect(warned).toEqual([expect.objectContaining({ message: expect.stringMatching(/Error/) })]);
});

test('what fails while it is made is told, also what a question is refused for, but not that there is no memory', async () => {
  const refused = new Failure('validation', { detail: 'There is no such value.' });
  for (const [error, warnings] of [
    [refused, [refused]],
    [new OutOfMemory(), []],
  ] as const) {
    const { resolved, events } = await keeper('SELECT count FROM nowhere', () => error);
    const warned: unknown[] = [];
    const asked = { ...events, warn: (one: unknown) => void warned.push(one) };
    expect(await resolved.during(asked, { ...TEXTS, isRepeated: true }, told)).toEqual(NOTHING);
    expect(warned).toEqual(warnings);
  }
});

test('there is none of too many events, but numbers for persons', async () => {
  const { resolved, events, rowsOf } = await keeper('SELECT 12_000_001');
  for (let n = 0; n < 3; n += 1) expect(await resolved.during(events, TEXTS, told)).toEqual(NOTHING);
  // Nobody was listed for a table that there cannot be.
  expect(await rowsOf('SELECT type_name FROM duckdb_types() WHERE NOT internal')).toEqual([]);
  expect(await resolved.during(events, SORTED, told)).toEqual(PERSONS);
});
