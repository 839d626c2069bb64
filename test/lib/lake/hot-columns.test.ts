import * as fc from 'fast-check';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { identifier, literal, openDatabase } from '../../../lib/duckdb/database.ts';
import { duckdbText } from '../../../lib/hogql/duckdb.ts';
import type { Moment } from '../../../lib/insights/answering/looking-world.ts';
import { worldDatabase } from '../../../lib/insights/answering/world.ts';
import { allFiles } from '../../../lib/lake/catalog.ts';
import { compact } from '../../../lib/lake/compact.ts';
import { hotColumn, hotPropertiesOf, withHotColumns } from '../../../lib/lake/hot-columns.ts';
import { forgetEvents, forgottenOf } from '../../../lib/lake/import/forgotten.ts';
import { afterReads, learnedProperties, propertyReads } from '../../../lib/lake/learned-properties.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { anyText } from '../../support/any-text.ts';
import { START, temporaryFolder } from '../../support/context.ts';
import { fileIn, importContext, PROJECT, run } from '../../support/imports.ts';
import { writeRows } from '../../support/lake-rows.ts';
import { onEnd } from '../../support/on-end.ts';
import { parser } from '../../support/parser.ts';
import { propertyRuns } from '../../support/property-runs.ts';

/** JSON text of a value, as whoever sends it may write it. */
const valueText = fc.oneof(
  anyText({ maxLength: 8 }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    'null',
    'true',
    'false',
    '0',
    '-0',
    '1.10',
    '1e3',
    '-1E-7',
    '1e400',
    '12345678901234567890',
    '0.1',
    '1.0',

    '"null"',
    '""',
    '"\\""',
    '"\\u0000"',
    '"\\ud83d\\ude00"',
    '"12"',
    '"a\\/b"',
    '"\\\\"',
    '"2026-01-05"',
    '123456789012345678901234567890',
    '{}',
    '[]',
    '[1,[2,"x"],null]',
    '{"a":1,"a":2}',
    '{"a":{"b":"c"},"":3,"*":4}',
    '{"a":null}',
    '[{"a":"\\""}]',
  ),
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
);

/** Members of a document in any order, some of them twice. */
const documentText = fc.oneof(
  {
    weight: 20,
    arbitrary: fc
      .array(fc.tuple(fc.constantFrom('$browser', '$session_id', '$current_url', 'plan', '$browser.a'), valueText), {
        maxLength: 5,
      })
      .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
  },
  { weight: 1, arbitrary: fc.constantFrom('{}', '[]', 'null', '"text"', 'not json', '', '{"$browser":"\\u00e9"}') },
);

test('a column has what a query reads in the document', async () => {
  const NAMES = ['$browser', 'plan', '$browser.a'];
  const inText = (name: string): string =>
    duckdbText(
      {
        operator: 'property_value',
        of: [{ column: 'properties', type: 'json' }],
        with: { path: [name] },
        type: 'text',
      },
      0n,
    );
  const database = await openDatabase({ threads: 1 });
  const connection = await database.connect();
  onEnd(() => {
    connection.closeSync();
    database.closeSync();
  });
  await fc.assert(
    fc.asyncProperty(fc.array(documentText, { minLength: 1, maxLength: 300, size: 'max' }), async (documents) => {
      const events = `(SELECT unnest([${documents.map(literal).join(', ')}]) AS properties)`;
      const rows = withHotColumns(events, ['properties'], ['plan', '$browser.a']);
      const isOther = NAMES.map((name) => `${identifier(hotColumn(name))} IS DISTINCT FROM ${inText(name)}`);
      const found = await connection.runAndReadAll(`SELECT properties FROM (${rows}) WHERE ${isOther.join(' OR ')}`);
      expect(found.getRows()).toEqual([]);
    }),
    { numRuns: propertyRuns(40) },
  );
});

const DOCUMENTS = [
  '{"$browser":"Chrome","$session_id":"s","$current_url":"/a"}',
  '{"$browser":null,"plan":"free"}',
  '{}',
  '[]',

  '{"$browser":{"a":[1.10,"x"]},"$session_id":""}',
  '{"$browser":1,"$browser":2,"$session_id":"s","$current_url":"/b"}',
];

test.each([
  ['with the columns', () => false],
  ['without them', () => true],
  ['of both kinds', (file: number) => file === 0],
])('queries over files %s', async (_, isOld) => {
  const lake = folderFiles(temporaryFolder());
  const rows = DOCUMENTS.map((properties, n) => ({ uuid: `${n}`, properties, timestamp_us: (START + n) * 1000 }));
  const files = await writeRows(
    lake,
    [rows.filter((_row, n) => n % 2 === 0), rows.filter((_row, n) => n % 2 === 1)],
    isOld,
  );
  const worlds = worldDatabase({ lake, parser });
  onEnd(() => worlds.close());
  const events = files.map((file) => ({ ...file, min_timestamp: START, max_timestamp: START + DAY_MS }));
  const moment: Moment = { now: START, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] };
  const ask = async (hogql: string) => (await worlds.world({ events, persons: [] }, moment).rows({ hogql })).rows;
  expect(
    await ask(`SELECT e.uuid, e.properties.$browser, JSONHas(e.properties, '$browser'), e.properties.$browser.a.2,
      e.properties.plan, e.$session_id, other.properties.$browser, e.session.$exit_current_url
      FROM events AS e JOIN events AS other ON e.uuid = other.uuid ORDER BY e.uuid`),
  ).toEqual([
    ['0', 'Chrome', true, null, null, 's', 'Chrome', '/b'],
    ['1', null, true, null, 'free', null, null, null],
    ['2', null, false, null, null, null, null, null],
    ['3', null, false, null, null, null, null, null],
    ['4', '{"a":[1.1,"x"]}', true, 'x', null, null, '{"a":[1.1,"x"]}', null],
    ['5', '1', true, null, null, 's', '1', '/b'],
  ]);
  expect(
    await ask(`WITH seen AS (SELECT properties.$browser AS browser, properties FROM events WHERE properties.$browser != 'y')
      SELECT browser, properties.plan, count() FROM seen GROUP BY 1, 2 ORDER BY 1, 2`),
  ).toEqual([
    ['1', null, 1],
    ['Chrome', null, 1],
    ['{"a":[1.1,"x"]}', null, 1],
    [null, 'free', 1],
    [null, null, 2],
  ]);
  expect(await ask('SELECT session_id, $entry_current_url FROM sessions')).toEqual([['s', '/a']]);
  expect(await ask('SELECT count() FROM events')).toEqual([[6]]);
});

test.each([
  ['{"$browser":"A","plan":1}', 'A'],
  ['{"$browser":null}', null],
  ['{"$browser":{"a":"A"}}', '{"a":"A"}'],
  ['{"$browser":1.10}', '1.1'],
  ['{}', null],
])('of %s the column holds %s', async (properties, expected) => {
  const lake = folderFiles(temporaryFolder());
  const [file] = await writeRows(lake, [[{ properties }]]);
  expect(await rowsOf(lake.address(file?.path ?? ''), 'SELECT "properties.$browser"')).toEqual([[expected]]);
});

async function rowsOf(path: string, select: string): Promise<unknown[][]> {
  const database = await openDatabase({ places: [path] });
  const connection = await database.connect();
  const found = await connection.runAndReadAll(`${select} FROM '${path}' ORDER BY inserted_us, timestamp_us, uuid`);
  connection.closeSync();
  database.closeSync();
  return found.getRows();
}

const EVENTS = ['ada', 'bob', 'ada'].map((distinct_id, n) =>
  JSON.stringify({ event: 'e', distinct_id, timestamp: START - n * 1000, properties: { $browser: distinct_id, n } }),
);

test('an import, a compaction and a person that is forgotten write the columns, and nothing else changes in a file', async () => {
  const context = await importContext();
  const browsers = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const { path } of await allFiles(context.table, PROJECT, 'events')) {
      const rows = await rowsOf(
        context.lake.address(path),
        'SELECT json_extract_string(properties, \'$."$browser"\'), "properties.$browser"',
      );
      for (const [inText, column] of rows) {
        expect(column).toBe(inText);
        found.push(String(column));
      }
    }
    return found.toSorted();
  };
  for (const [n, line] of EVENTS.entries()) {
    context.clock.advance(1000);
    await run(context, fileIn(context, `${n}.jsonl`, line), { arrived: 'now' });
  }
  expect(await browsers()).toEqual(['ada', 'ada', 'bob']);
  context.clock.advance(2 * DAY_MS);
  expect(await compact(context, PROJECT)).toMatchObject({ joined: 3 });
  expect(await browsers()).toEqual(['ada', 'ada', 'bob']);
  await forgetEvents(context, PROJECT, [forgottenOf('ada', context.clock())]);
  expect(await browsers()).toEqual(['bob']);
});

test('a file tells which properties have columns in it', async () => {
  const lake = folderFiles(temporaryFolder());
  const [old, hot] = (await writeRows(lake, [[{}], [{}]], (file) => file === 0)).map(({ path }) => lake.address(path));
  const database = await openDatabase({ places: [lake.root] });
  const connection = await database.connect();
  const found = await hotPropertiesOf(connection, [old ?? '', hot ?? '']);
  connection.closeSync();
  database.closeSync();
  expect(found.get(old ?? '')).toEqual(new Set());
  expect(found.get(hot ?? '')).toContain('$browser');
});

/** What a project has learned, from nothing. */
const learnedFrom = (reads: Readonly<Record<string, number>>) =>
  afterReads({ properties: [], counts: {}, halvedAt: START }, reads, START);

test('a property is learned when it was read twenty times, eight of a project at most', () => {
  expect(learnedFrom({ plan: 19, page: 20, size: 40 }).properties).toEqual(['size', 'page']);
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`p${n}`, 20 + n]));
  const { properties, counts } = learnedFrom(many);
  expect(properties).toEqual(['p199', 'p198', 'p197', 'p196', 'p195', 'p194', 'p193', 'p192']);
  expect(Object.keys(counts)).toHaveLength(100);
  expect(learnedFrom({ Plan: 30, plan: 20 }).properties).toEqual(['Plan']);
});

test('what was learned stays until it is hardly read any more, and others take its place then', () => {
  const before = learnedFrom(Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`p${n}`, 20])));
  const soon = afterReads(before, { busy: 1_000 }, START + DAY_MS);
  expect(soon.properties).toEqual(before.properties);
  let now = soon;
  const weeks = [1, 2, 3].map((week) => {
    now = afterReads(now, { busy: 20, p0: 20 }, START + week * 7 * DAY_MS);
    return now.properties;
  });
  expect(weeks).toEqual([before.properties, before.properties, before.properties]);
  expect(afterReads(now, { busy: 20, p0: 20 }, START + 28 * DAY_MS).properties).toEqual(['p0', 'busy']);
});

test('files get columns of what queries of their project read often, but for long values, and old ones are read beside', async () => {
  const context = await importContext();
  const line = (n: number): string =>
    JSON.stringify({
      event: 'e',
      distinct_id: 'ada',
      uuid: `01940000-0000-7000-8000-00000000000${n}`,
      timestamp: START - n * 1000,
      properties: { plan: n % 2 === 0 ? n : { n: [`${n}`] }, text: 'x'.repeat(201) },
    });
  const add = async (n: number): Promise<void> => {
    context.clock.advance(1000);
    await run(context, fileIn(context, `${n}.jsonl`, line(n)), { arrived: 'now' });
  };
  const columns = async () => {
    const files = await allFiles(context.table, PROJECT, 'events');
    return Promise.all(
      files.map(async ({ path }) => {
        const database = await openDatabase({ places: [context.lake.address(path)] });
        const connection = await database.connect();
        const hot =
          (await hotPropertiesOf(connection, [context.lake.address(path)])).values().next().value ?? new Set();
        connection.closeSync();
        database.closeSync();
        return ['plan', 'text', 'n'].filter((name) => hot.has(name));
      }),
    );
  };
  const worlds = worldDatabase({ lake: context.lake, parser });
  onEnd(() => worlds.close());
  const plans = async () => {
    const events = await allFiles(context.table, PROJECT, 'events');
    const moment: Moment = { now: START, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] };
    const world = worlds.world({ events, persons: [] }, moment);
    const { rows } = await world.rows({ hogql: 'SELECT properties.plan FROM events ORDER BY uuid' });
    return [rows.flat(), world.looked().properties];
  };
  await add(1);
  const reads = propertyReads(context);
  for (let n = 0; n < 21; n += 1) await reads.note(PROJECT, ['plan', 'text', '$browser', 'odd "name"', '$OS']);
  expect(await learnedProperties(context.table, PROJECT)).toEqual(['plan', 'text']);
  await add(2);
  expect(await columns()).toEqual([[], ['plan']]);
  expect(await plans()).toEqual([['{"n":["1"]}', '2'], ['plan']]);
  await add(3);
  context.clock.advance(2 * DAY_MS);
  await compact(context, PROJECT);
  expect(await columns()).toEqual([['plan']]);
  expect(await plans()).toEqual([['{"n":["1"]}', '2', '{"n":["3"]}'], ['plan']]);
  await forgetEvents(context, PROJECT, [forgottenOf('bob', context.clock())]);
  expect(await columns()).toEqual([['plan']]);
  expect(await learnedProperties(context.table, 8)).toEqual([]);
});

test('counts that cannot be told keep nobody from an answer', async () => {
  const context = await importContext();
  const table = { ...context.table, get: () => Promise.reject(new Error('gone')) };
  await propertyReads({ ...context, table }).note(PROJECT, ['plan']);
  expect(await learnedProperties(context.table, PROJECT)).toEqual([]);
});
