import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { DAY_MS } from '../../../../lib/basics/units.ts';
import { parquet } from '../../../../lib/duckdb/database.ts';
import { filesBetween } from '../../../../lib/lake/catalog.ts';
import { compact } from '../../../../lib/lake/compact.ts';
import { fence, lowerLiveOps } from '../../../../lib/lake/fence.ts';
import { PersonFold } from '../../../../lib/lake/persons/fold.ts';
import { PERSON_COLUMNS } from '../../../../lib/lake/schema.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { keys } from '../../../../lib/ports/table/keys.ts';
import { compareText } from '../../../../lib/ports/table/semantics.ts';
import type { Item } from '../../../../lib/ports/table/table.ts';
import { onAnyFile } from '../../../support/any-file.ts';
import { START } from '../../../support/context.ts';
import { fileIn, importContext, killableContext, PROJECT, run } from '../../../support/imports.ts';

const MAY_17 = Date.UTC(2015, 4, 17);
const END = Date.UTC(9999, 0);

type Stored = Readonly<Record<(typeof PERSON_COLUMNS)[number]['name'], unknown>>;

/** All rows of the lake's persons, in order of arrival. */
async function rowsIn(context: Context, projectId = PROJECT): Promise<Stored[]> {
  const files = await filesBetween(context.table, projectId, 'persons', 0, END);
  if (files.length === 0) return [];
  const columns = PERSON_COLUMNS.map(({ name, type }) => (type === 'BIGINT' ? `${name}::DOUBLE AS ${name}` : name));
  const answer = await onAnyFile((connection) =>
    connection.runAndReadAll(
      `SELECT ${columns.join(', ')} FROM ${parquet(files.map(({ path }) => context.lake.address(path)))}
        ORDER BY inserted_us, distinct_id`,
    ),
  );
  return answer.getRowObjects() as unknown as Stored[];
}

/** The newest state of each distinct_id: whose it is, and what is known of the person. */
async function statesIn(context: Context): Promise<Readonly<Record<string, unknown[]>>> {
  const rows = await rowsIn(context);
  return Object.fromEntries(rows.map((row) => [row.distinct_id, [row.person_id, row.properties, row.is_deleted]]));
}

const line = (change: object): string =>
  JSON.stringify({ event: '$set', distinct_id: 'ada', timestamp: new Date(MAY_17).toISOString(), ...change });
const set = (day: number, properties: object, distinctId = 'ada'): string =>
  line({
    distinct_id: distinctId,
    timestamp: new Date(MAY_17 + day * DAY_MS).toISOString(),
    properties: { $set: properties },
  });
const identify = (day: number, distinctId: string, anonymous: string): string =>
  line({
    event: '$identify',
    distinct_id: distinctId,
    timestamp: new Date(MAY_17 + day * DAY_MS).toISOString(),
    properties: { $anon_distinct_id: anonymous },
  });
const importLines = async (
  context: Awaited<ReturnType<typeof importContext>>,
  lines: readonly string[],
  options = {},
) => run(context, fileIn(context, 'events.jsonl', lines.join('\n')), options);

test('events that change nobody make no person, and no file', async () => {
  const context = await importContext();
  const report = await importLines(context, [line({ event: '$pageview' }), line({ event: 'paid' })]);
  expect(report).toMatchObject({ added: 2, persons: { rows: 0, refused: 0 } });
  expect(await rowsIn(context)).toEqual([]);
  expect(await context.table.get(keys.personsState(PROJECT))).toBeUndefined();
});

test('history is told at its own time, in order of time, whatever the order of the lines', async () => {
  const context = await importContext();
  const lines = [identify(2, 'ada', 'visitor'), set(1, { plan: 'free' }), set(0, { page: '/' }, 'visitor')];
  expect(await importLines(context, lines)).toMatchObject({ added: 3, persons: { rows: 4, refused: 0 } });
  const rows = await rowsIn(context);
  expect(
    rows.map((row) => [row.distinct_id, (Number(row.inserted_us) / 1000 - MAY_17) / DAY_MS, row.properties]),
  ).toEqual([
    ['visitor', 0, '{"page":"/"}'],
    ['ada', 1, '{"plan":"free"}'],
    ['ada', 2, '{"page":"/","plan":"free"}'],
    ['visitor', 2, '{"page":"/","plan":"free"}'],
  ]);
  expect(rows[3]).toMatchObject({
    team_id: PROJECT,
    person_id: rows[1]?.person_id,
    person_version: (MAY_17 + 2 * DAY_MS) * 1000,
    created_us: MAY_17 * 1000,
    is_deleted: false,
  });
});

test('a line as long as a line may be sets as much as a person may have', async () => {
  const context = await importContext();
  const long = line({ properties: { rest: 'y'.repeat(500_000), $set: { a: 'x'.repeat(500_000) } } });
  expect(await importLines(context, [long])).toMatchObject({ added: 1, bad: 0, persons: { rows: 1 } });
});

test('a value that is nested too deeply to be read again makes a bad line, and keeps no other out', async () => {
  const context = await importContext();
  const deep = `${'['.repeat(4_000)}${']'.repeat(4_000)}`;
  const lines = [set(0, { n: 'N' }).replace('"N"', '12345678901234567890'), set(1, { deep: 'D' }).replace('"D"', deep)];
  expect(await importLines(context, [...lines, set(2, { x: 1 })])).toMatchObject({
    added: 2,
    rejected: [{ line: 2, reason: 'nested too deeply' }],
    persons: { rows: 2 },
  });
});

test('what comes later than the state arrives now, after the fence', async () => {
  const context = await importContext();
  await importLines(context, [set(5, { a: 1 })]);
  await fence(context, PROJECT, START + DAY_MS);
  await importLines(context, [set(3, { b: 2 })]);
  const [, late] = await rowsIn(context);
  expect([late?.inserted_us, late?.properties]).toEqual([(START + DAY_MS) * 1000, '{"a":1,"b":2}']);
});

test('in a project with an export a state arrives now, and each import is newer than the one before', async () => {
  const context = await importContext();
  await context.table.write(await lowerLiveOps(context.table, PROJECT, MAY_17 - 30 * DAY_MS));
  await importLines(context, [set(0, { a: 1 }), set(1, { a: 2 })]);
  await importLines(context, [set(2, { a: 3 })]);
  expect((await rowsIn(context)).map((row) => [Number(row.inserted_us) / 1000, row.properties])).toEqual([
    [START, '{"a":2}'],
    [START + 1, '{"a":3}'],
  ]);
});

test('the same file twice changes nobody', async () => {
  const context = await importContext();
  const lines = [set(0, { a: 1 }), identify(1, 'ada', 'v'), set(2, { a: 2 }), line({ event: '$delete_person' })];
  await importLines(context, lines);
  const before = await rowsIn(context);
  context.clock.advance(DAY_MS);
  expect(await importLines(context, lines)).toMatchObject({ added: 0, persons: { rows: 0, refused: 0 } });
  expect(await rowsIn(context)).toEqual(before);
});

test('a person is found again by any distinct_id, by a merge of others, and by its own id', async () => {
  const context = await importContext();
  const id = '0194f1e2-0000-7000-8000-00000000000a';
  await importLines(context, [identify(0, 'a1', 'a2'), identify(0, 'b1', 'b2'), set(1, { a: 1 }, 'a2')]);
  await importLines(context, [set(2, { b: 1 }, 'b1')]);
  const merge = { event: '$merge_dangerously', distinct_id: 'a2', properties: { alias: 'b2', $set: { c: 1 } } };
  await importLines(context, [line({ ...merge, timestamp: new Date(MAY_17 + 3 * DAY_MS).toISOString() })]);
  const { a1, a2, b1, b2 } = await statesIn(context);
  expect([a2, b1, b2]).toEqual([a1, a1, a1]);
  expect(a1).toEqual([expect.any(String), '{"b":1,"a":1,"c":1}', false]);

  await importLines(context, [line({ distinct_id: 'c1', person_id: id, properties: { $set: { x: 1 } } })]);
  await importLines(context, [line({ distinct_id: 'c2', person_id: id, properties: { $set: { y: 1 } } })]);
  const both = [id, '{"x":1,"y":1}', false];
  expect(await statesIn(context)).toMatchObject({ c1: both, c2: both });
});

test('a visitor of whom only properties were told by $identify, or who named nobody, becomes a part of whom they are', async () => {
  const context = await importContext();
  const alone = (day: number, properties: object, event = '$identify'): string =>
    line({
      event,
      distinct_id: 'visitor',
      timestamp: new Date(MAY_17 + day * DAY_MS).toISOString(),
      properties,
    });
  await importLines(context, [
    alone(0, {}),
    alone(1, { $set: { name: 'Ada' } }),
    alone(1, {}, '$create_alias'),
    identify(2, 'visitor', 'visitor'),
    identify(2, 'visitor', 'null'),
    set(2, { plan: 'team' }),
  ]);
  expect(await importLines(context, [identify(3, 'ada', 'visitor')])).toMatchObject({ persons: { refused: 0 } });
  const { ada, visitor } = await statesIn(context);
  expect(visitor).toEqual(ada);
  expect(ada).toEqual([expect.anything(), '{"name":"Ada","plan":"team"}', false]);
  expect((await rowsIn(context)).map(({ is_identified }) => is_identified).slice(-2)).toEqual([true, true]);
});

test('all of very many distinct_ids have the properties of their person after each change', async () => {
  const context = await importContext();
  const names = Array.from({ length: 40 }, (_, n) => `ada-${n}`);
  await importLines(context, [
    ...names.map((name) => identify(0, 'ada', name)),
    set(1, { a: 1 }),
    set(1, { b: 1 }, 'bob'),
  ]);
  await importLines(context, [set(2, { a: 2 }, 'ada-7'), set(3, { c: 3 }, 'ada-8'), set(3, { b: 2 }, 'bob')]);
  const { bob, ...others } = await statesIn(context);
  expect(Object.keys(others).toSorted(compareText)).toEqual(['ada', ...names].toSorted(compareText));
  const [id] = others['ada'] ?? [];
  expect(Object.values(others)).toEqual(Array.from({ length: 41 }, () => [id, '{"a":2,"c":3}', false]));
  expect(bob).toEqual([expect.not.stringMatching(String(id)), '{"b":2}', false]);
  const rows = await rowsIn(context);
  expect(rows.filter(({ distinct_id }) => distinct_id === 'ada-9').map(({ properties }) => properties)).toEqual([
    '{}',
    '{"a":1}',
    '{"a":2}',
    '{"a":2,"c":3}',
  ]);
});

test('of a person with several distinct_ids only their own buckets are read whole', async () => {
  const context = await importContext();
  const persons = Array.from({ length: 300 }, (_, n) => identify(0, `user-${n}`, `visitor-${n}`));
  const days = Array.from({ length: 40 }, (_, day) => set(day + 1, { day }, 'user-3'));
  await importLines(context, [...persons, ...days]);
  expect(await context.table.get(keys.personsState(PROJECT))).toMatchObject({ rows: 600 });
  const runs = jest.spyOn(DuckDBConnection.prototype, 'run');
  await importLines(context, [set(100, { late: 1 }, 'user-5')]);
  const wide = runs.mock.calls
    .map(([sql]) => sql.replace('EXCLUDE (properties)', ''))
    .filter((sql) => /properties|\*/.test(sql))
    .flatMap((sql) => sql.match(/bucket=\d\d/g) ?? []);
  runs.mockRestore();
  expect(wide.length).toBeGreaterThan(0);
  expect(new Set(wide).size).toBeLessThanOrEqual(2);
  expect(await statesIn(context)).toMatchObject({ 'visitor-5': [expect.anything(), '{"late":1}', false] });
});

describe('the snapshot', () => {
  /** More days than change files are kept. */
  const year = (from: number): string[] =>
    Array.from({ length: 40 }, (_, day) => set(from + day, { [`p${day % 3}`]: day }, `user-${day % 7}`));
  const last = [identify(200, 'ada', 'user-3'), set(201, { z: 1 }, 'user-5'), set(100, { late: 1 }, 'user-6')];

  const namedIn = (state: Item | undefined): string[] =>
    Object.values<{ path: string }>(JSON.parse(String(state?.['buckets'])))
      .map(({ path }) => path)
      .toSorted(compareText);
  const pathsIn = async (context: Context): Promise<string[]> => {
    const paths: string[] = [];
    for await (const { path } of context.lake.list(`persons_state/team_id=${PROJECT}/`)) paths.push(path);
    return paths;
  };

  test('is made of many changes, and gives the next import the same states as all rows', async () => {
    const context = await importContext();
    await importLines(context, year(0));
    const state = await context.table.get(keys.personsState(PROJECT));
    expect(state).toMatchObject({ at: START, rows: 7 });
    expect(await pathsIn(context)).toEqual(namedIn(state));
    await importLines(context, last);
    const withSnapshot = await statesIn(context);

    const other = await importContext();
    await importLines(other, year(0));
    await other.table.write([{ remove: keys.personsState(PROJECT) }]);
    await importLines(other, last);
    expect(withSnapshot).toEqual(await statesIn(other));
  });

  test('is replaced whole by the next one', async () => {
    const context = await importContext();
    await importLines(context, year(0));
    const [first] = await pathsIn(context);
    await importLines(context, [...year(40), set(1, { b: 1 }, 'somebody')]);
    const state = await context.table.get(keys.personsState(PROJECT));
    expect(state).toMatchObject({ rows: 8 });
    expect(await pathsIn(context)).not.toContain(first);
    expect(await pathsIn(context)).toEqual(namedIn(state));
  });

  /** Seven persons for each of these numbers change on 40 days. */
  const years = (from: number, numbers: number): string[] =>
    Array.from({ length: numbers }, (_, n) => year(from).map((line) => line.replaceAll('user-', `user-${n}-`))).flat();
  const few = (from: number, user: string, days = 40): string[] =>
    Array.from({ length: days }, (_, day) => set(from + day, { few: day }, user));
  const recentIn = (state: Item | undefined) => JSON.parse(String(state?.['recent'])) as { readonly path: string };

  test('stays as it is while few of many change, in however many files', async () => {
    const context = await importContext();
    await importLines(context, years(0, 60));
    const { rows, ...before } = (await context.table.get(keys.personsState(PROJECT))) as Item;
    expect(rows).toBe(420);
    for (const from of [40, 80]) await importLines(context, few(from, 'user-3-3'));
    const state = await context.table.get(keys.personsState(PROJECT));
    expect(namedIn(state)).toEqual(namedIn(before as Item));
    const recent = recentIn(state);
    expect(recent).toMatchObject({ rows: 1 });
    expect(await pathsIn(context)).toEqual([...namedIn(state), recent.path].toSorted(compareText));
    expect(await statesIn(context)).toMatchObject({
      'user-3-3': [expect.anything(), expect.stringContaining('"few":39'), false],
    });
  });

  test('holds each person once, though files of the day with rows that it holds and later ones were joined', async () => {
    const context = await importContext();
    await importLines(context, years(0, 60));
    await importLines(context, few(40, 'user-3-3', 35));
    expect(recentIn(await context.table.get(keys.personsState(PROJECT)))).toMatchObject({ rows: 1 });
    context.clock.advance(1_000);
    await importLines(context, [set(74, { z: 1 }, 'user-4-4')]);
    await compact(context, PROJECT);
    await importLines(context, few(80, 'user-5-5', 35));
    expect(recentIn(await context.table.get(keys.personsState(PROJECT)))).toMatchObject({ rows: 3 });
  });

  test('that holds persons several times gives each of them once, and is made again with each of them once', async () => {
    const context = await importContext();
    await importLines(context, years(0, 60));
    const { buckets, ...state } = (await context.table.get(keys.personsState(PROJECT))) as Item;
    const doubled = JSON.parse(String(buckets)) as Record<string, { path: string; rows: number; sha256: string }>;
    for (const bucket of Object.values(doubled)) {
      const file = join(context.folder, 'doubled.parquet');
      const rows = `FROM ${parquet([context.lake.address(bucket.path)])}`;
      await onAnyFile((connection) =>
        connection.run(`COPY (${rows} UNION ALL ${rows} ORDER BY distinct_id) TO '${file}' (FORMAT parquet)`),
      );
      const content = readFileSync(file);
      Object.assign(bucket, { rows: 2 * bucket.rows, bytes: content.length, sha256: hash('sha256', content) });
      await context.lake.write(bucket.path, content);
    }
    await context.table.write([
      { put: { ...state, ...keys.personsState(PROJECT), rows: 840, buckets: JSON.stringify(doubled) } },
    ]);
    const known = jest.spyOn(PersonFold.prototype, 'know');
    await importLines(context, [set(100, { z: 1 }, 'user-4-4')]);
    expect(known.mock.calls.map(([{ distinct_id }]) => distinct_id)).toEqual(['user-4-4']);
    known.mockRestore();
    await importLines(
      context,
      years(200, 60).filter((line) => !line.includes('-3"')),
    );
    expect(await context.table.get(keys.personsState(PROJECT))).toMatchObject({ rows: 420 });
  });

  test('stays as it was where memory is too little to renew it, and what came is added', async () => {
    const context = await importContext();
    const runs: DuckDBConnection['run'] = Reflect.get(DuckDBConnection.prototype, 'run');
    const full = jest.spyOn(DuckDBConnection.prototype, 'run').mockImplementation(function (
      this: DuckDBConnection,
      sql,
    ) {
      if (!sql.includes('TABLE person_renewed')) return runs.call(this, sql);
      return Promise.reject(new Error('Out of Memory Error: could not allocate block of size 492.0 KiB'));
    });
    try {
      expect(await importLines(context, year(0))).toMatchObject({ added: 40 });
    } finally {
      full.mockRestore();
    }
    expect(await context.table.get(keys.personsState(PROJECT))).toBeUndefined();
    expect(context.lines).toContainEqual(
      expect.objectContaining({ message: 'there is too little memory to put the states of persons together' }),
    );
    await importLines(context, [set(40, { z: 1 })]);
    expect(await context.table.get(keys.personsState(PROJECT))).toMatchObject({ rows: 8 });
  });

  test('may be cut off by a death at any of its steps', async () => {
    const whole = await importContext();
    const file = fileIn(whole, 'events.jsonl', year(0).join('\n'));
    const { dying, changes } = killableContext(whole, Number.POSITIVE_INFINITY);
    await run(dying, file);
    await importLines(whole, last);
    const expected = await statesIn(whole);
    const all = changes();
    // From the end: the lease, then the snapshot's item and its files; and in the middle what publishes.
    for (const n of [all - 1, all - 4, Math.floor(all / 2)]) {
      const context = await importContext();
      const dead = killableContext(context, n);
      await expect(run(dead.dying, fileIn(context, 'events.jsonl', year(0).join('\n')))).rejects.toThrow('killed');
      context.clock.advance(61_000);
      await run(context, fileIn(context, 'events.jsonl', year(0).join('\n')));
      await importLines(context, last);
      expect(await statesIn(context)).toEqual(expected);
    }
  });
});
