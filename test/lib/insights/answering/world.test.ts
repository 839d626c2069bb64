import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hogqlParser } from '../../../../lib/hogql/parse.ts';
import { call, constant } from '../../../../lib/hogql/write.ts';
import type { WorldFile, WorldFiles } from '../../../../lib/insights/answering/looking-world.ts';
import { worldDatabase } from '../../../../lib/insights/answering/world.ts';
import { folderFiles } from '../../../../lib/ports/files/folder.ts';
import { temporaryFolder } from '../../../support/context.ts';
import { insightWorld } from '../../../support/insight-world.ts';
import { writePersons, writeRows } from '../../../support/lake-rows.ts';
import { onEnd } from '../../../support/on-end.ts';
import { parser } from '../../../support/parser.ts';

const EVENTS = [
  { event: 'seen', distinct_id: 'phone', timestamp: '2026-01-01T10:00:00Z', properties: { n: 1 } },
  { event: 'seen', distinct_id: 'laptop', timestamp: '2026-01-02T10:00:00Z', properties: { n: 2 } },
  { event: 'paid', distinct_id: 'laptop', timestamp: '2026-01-03T10:00:00Z', properties: { n: 3 } },
  { event: 'seen', distinct_id: 'nobody', timestamp: '2026-01-04T10:00:00Z', properties: { n: 4 } },
  { event: 'seen', distinct_id: 'named', timestamp: '2026-01-05T10:00:00Z', person_id: 'of-the-event' },
];

const MERGED = [
  { id: 'p1', distinct_ids: ['phone'], created_at: '2026-01-01T00:00:00Z', properties: { plan: 'free' } },
  { id: 'p2', distinct_ids: ['laptop'], created_at: '2025-12-01T00:00:00Z' },
  { id: 'p2', distinct_ids: ['phone', 'laptop'], created_at: '2025-12-01T00:00:00Z', properties: { plan: 'pro' } },
];

test('two distinct_ids that became one are one person, also in events from before', async () => {
  const world = await insightWorld({ events: EVENTS, persons: MERGED });
  const { rows } = await world.rows({
    hogql: 'SELECT distinct_id, person_id FROM events ORDER BY timestamp',
  });
  expect(rows).toEqual([
    ['phone', 'p2'],
    ['laptop', 'p2'],
    ['laptop', 'p2'],
    ['nobody', 'nobody'],
    ['named', 'of-the-event'],
  ]);
  expect((await world.rows({ hogql: 'SELECT count(DISTINCT person_id) FROM events' })).rows).toEqual([[3]]);
});

test('persons are those that are there now, and events know since when theirs is', async () => {
  const persons = [...MERGED, { id: 'gone', distinct_ids: ['named'], is_deleted: true }];
  const world = await insightWorld({ events: EVENTS, persons });
  expect(
    (await world.rows({ hogql: 'SELECT id, properties.plan, distinct_ids, created_at FROM persons ORDER BY id' })).rows,
  ).toEqual([['p2', 'pro', ['laptop', 'phone'], Date.parse('2025-12-01T00:00:00Z')]]);
  const { rows } = await world.rows({
    hogql: 'SELECT DISTINCT distinct_id, person.created_at FROM events ORDER BY distinct_id',
  });
  expect(rows).toEqual([
    ['laptop', Date.parse('2025-12-01T00:00:00Z')],
    ['named', Date.UTC(2026, 0, 1)],
    ['nobody', null],
    ['phone', Date.parse('2025-12-01T00:00:00Z')],
  ]);
});

test('an event that carries no properties of its person has those of now, through merges, and keeps those that it carries', async () => {
  const carrying = { distinct_id: 'phone', timestamp: '2026-01-06T10:00:00Z', person_properties: { plan: 'old' } };
  const events = [...EVENTS, { event: 'seen', ...carrying }];
  const deleted = { id: 'gone', distinct_ids: ['named'], is_deleted: true, properties: { plan: 'none' } };
  const world = await insightWorld({ events, persons: [...MERGED, deleted] });
  const hogql = 'SELECT distinct_id, person.properties.plan, person_properties FROM events ORDER BY timestamp';
  expect((await world.rows({ hogql })).rows).toEqual([
    ['phone', 'pro', '{"plan":"pro"}'],
    ['laptop', 'pro', '{"plan":"pro"}'],
    ['laptop', 'pro', '{"plan":"pro"}'],
    ['nobody', null, null],
    ['named', null, null],
    ['phone', 'old', '{"plan":"old"}'],
  ]);
  expect(world.looked().persons).toBe(true);
  const pro = "SELECT count() FROM events WHERE person.properties.plan = 'pro'";
  expect((await world.rows({ hogql: pro })).rows).toEqual([[3]]);
});

test('distinct_ids are told with whose they are now', async () => {
  const world = await insightWorld({
    events: EVENTS,
    persons: [...MERGED, { id: 'gone', distinct_ids: ['named'], is_deleted: true }],
  });
  const asked = async (hogql: string) => (await world.rows({ hogql })).rows;
  expect(await asked('SELECT distinct_id, person_id FROM person_distinct_ids ORDER BY distinct_id')).toEqual([
    ['laptop', 'p2'],
    ['phone', 'p2'],
  ]);
  expect(world.looked()).toMatchObject({ events: [], persons: true });
  expect(await asked('SELECT count() FROM person_distinct_ids')).toEqual([[2]]);
  expect(
    await asked('SELECT count() FROM events AS e JOIN person_distinct_ids AS p ON e.distinct_id = p.distinct_id'),
  ).toEqual([[3]]);
});

test('sessions are what their events say', async () => {
  const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  const of = (session: string, minute: number, url?: string) => ({
    event: '$pageview',
    distinct_id: 'a',
    timestamp: at(minute),
    properties: { $session_id: session, ...(url === undefined ? {} : { $current_url: url }) },
  });
  const world = await insightWorld({
    events: [of('s1', 0), of('s1', 1, '/in'), of('s1', 9, '/out'), of('s2', 3, '/x'), { ...of('', 5) }],
  });
  expect(
    (
      await world.rows({
        hogql: `SELECT session_id, $start_timestamp, $session_duration, $entry_current_url, $exit_current_url, $pageview_count
          FROM sessions ORDER BY session_id`,
      })
    ).rows,
  ).toEqual([
    ['s1', Date.parse(at(0)), 540, '/in', '/out', 3],
    ['s2', Date.parse(at(3)), 0, '/x', '/x', 1],
  ]);
  expect(
    (await world.rows({ hogql: "SELECT max(session.$session_duration) FROM events WHERE $session_id = 's1'" })).rows,
  ).toEqual([[540]]);
});

test('a session tells where it came from, by its first event that says so, and how many addresses it saw', async () => {
  const of = (session: string, minute: number, properties: Readonly<Record<string, string>>) => ({
    event: '$pageview',
    distinct_id: 'a',
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
    properties: { $session_id: session, ...properties },
  });
  const [first, later] = ['first', 'later'].map((word) =>
    Object.fromEntries(['source', 'medium', 'campaign', 'term', 'content'].map((one) => [`utm_${one}`, word + one])),
  );
  const world = await insightWorld({
    events: [
      of('s1', 0, { $current_url: '/a' }),
      of('s1', 1, { $current_url: '/b', $host: 'www.example.com', ...first }),
      of('s1', 2, { $current_url: '/a', $host: 'other.example.com', ...later }),
      of('s2', 0, {}),
    ],
  });
  const entries = ['source', 'medium', 'campaign', 'term', 'content'].map((one) => `$entry_utm_${one}`);
  const { rows } = await world.rows({
    hogql: `SELECT ${entries.join(', ')}, $entry_hostname, $num_uniq_urls FROM sessions ORDER BY session_id`,
  });
  expect(rows).toEqual([
    ['firstsource', 'firstmedium', 'firstcampaign', 'firstterm', 'firstcontent', 'www.example.com', 2],
    [null, null, null, null, null, null, 0],
  ]);
  const ofEvents = 'SELECT DISTINCT session.$entry_utm_source AS source FROM events ORDER BY source';
  expect((await world.rows({ hogql: ofEvents })).rows).toEqual([['firstsource'], [null]]);
});

test('a session lasts as many seconds as its clock passes, as dateDiff counts them', async () => {
  const of = (session: string, timestamp: string) => ({
    event: 'x',
    distinct_id: 'a',
    timestamp,
    properties: { $session_id: session },
  });
  const world = await insightWorld({
    events: [
      of('s1', '2026-01-01T00:00:00.900Z'),
      of('s1', '2026-01-01T00:00:10.100Z'),
      of('s2', '2026-01-01T00:00:00.100Z'),
      of('s2', '2026-01-01T00:00:00.900Z'),
    ],
  });
  const hogql = `SELECT $session_duration, dateDiff('second', $start_timestamp, $end_timestamp) FROM sessions ORDER BY session_id`;
  expect((await world.rows({ hogql })).rows).toEqual([
    [10, 10],
    [0, 0],
  ]);
});

test('files are chosen by the range, and what was looked at is told', async () => {
  const world = await insightWorld({ events: EVENTS, persons: MERGED });
  expect((await world.rows({ hogql: 'SELECT count() FROM events', from: Date.UTC(2027, 0, 1) })).rows).toEqual([[0]]);
  expect(world.looked()).toMatchObject({
    events: [{ from: Date.UTC(2027, 0, 1), to: null }],
    persons: false,
    now: false,
    hogql: expect.stringContaining('count()'),
  });
  await world.rows({ hogql: 'SELECT person_id FROM events WHERE timestamp < now()', to: 5 });
  expect(world.looked()).toMatchObject({ events: [{}, { from: null, to: 5 }], persons: true, now: true });
});

test('what a caller wrote has a limit, and says whether there is more', async () => {
  const world = await insightWorld({ events: EVENTS });
  const limit = { otherwise: 2, most: 3 };
  const asked = async (hogql: string) => {
    const { rows, ...rest } = await world.rows({ hogql, limit });
    return { n: rows.length, limit: rest.limit, hasMore: rest.hasMore };
  };
  expect(await asked('SELECT event FROM events')).toEqual({ n: 2, limit: 2, hasMore: true });
  expect(await asked('SELECT event FROM events LIMIT 1')).toEqual({ n: 1, limit: 1, hasMore: true });
  expect(await asked('SELECT event FROM events LIMIT 100')).toEqual({ n: 3, limit: 3, hasMore: true });
  expect(await asked("SELECT event FROM events WHERE event = 'paid'")).toEqual({ n: 1, limit: 2, hasMore: false });
  expect(await asked('SELECT event FROM events LIMIT 1000000000000')).toEqual({ n: 3, limit: 3, hasMore: true });
});

test.each(['-1', '1.5', "'1'", '1 + 1'])('a limit that is no whole number is not taken for none: %s', async (limit) => {
  const world = await insightWorld({ events: EVENTS });
  await expect(
    world.rows({ hogql: `SELECT event FROM events LIMIT ${limit}`, limit: { otherwise: 2, most: 3 } }),
  ).rejects.toMatchObject({ body: { attr: 'query', detail: 'LIMIT takes a whole number from 0 (line 1, column 32)' } });
});

test('what is not supported is a 400 that says so', async () => {
  const world = await insightWorld({ events: [] });
  await expect(world.rows({ hogql: 'SELECT nothing FROM events' })).rejects.toMatchObject({ body: { attr: 'query' } });
  await expect(world.rows({ hogql: 'SELECT event FROM cohort_people' })).rejects.toMatchObject({
    body: { attr: 'query' },
  });
  await expect(world.expression('1 +')).rejects.toMatchObject({ body: { attr: 'query' } });
});

const MOMENT = { now: 0, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] } as const;

/** Returns a state of a distinct_id. */
const of = (distinct_id: string, person_id: string, inserted_us: number) => ({
  distinct_id,
  person_id,
  inserted_us,
  created_us: 1,
});

/** Returns files as those of a world that any range touches. */
const written = async (files: ReturnType<typeof writeRows>) =>
  (await files).map((file) => ({ ...file, min_timestamp: 0, max_timestamp: Date.UTC(2027, 0, 1) }));

test('events that are asked about again are kept with whose they are, until there are other files', async () => {
  const folder = temporaryFolder();
  const lake = folderFiles(folder);
  const worlds = worldDatabase({ lake, parser });
  onEnd(() => worlds.close());
  const rows = EVENTS.map(({ timestamp, event, distinct_id, person_id = null }, n) => ({
    event,
    distinct_id,
    person_id,
    uuid: `u${n}`,
    timestamp_us: Date.parse(timestamp) * 1000,
  }));
  const events = await written(writeRows(lake, [rows]));
  const merged = await written(
    writePersons(lake, [[of('phone', 'p1', 1), of('laptop', 'p2', 1)], [of('phone', 'p2', 2)]]),
  );
  const apart = merged.slice(0, 1);
  const asked = async (files: WorldFiles, hogql: string): Promise<unknown> =>
    (await worlds.world(files, MOMENT).rows({ hogql })).rows;
  const persons = 'SELECT count(DISTINCT person_id) FROM events';
  for (let n = 0; n < 3; n += 1) expect(await asked({ events, persons: apart }, persons)).toEqual([[4]]);
  for (let n = 0; n < 3; n += 1) expect(await asked({ events, persons: merged }, persons)).toEqual([[3]]);
  const all = await Promise.all([persons, persons].map((one) => asked({ events, persons: merged }, one)));
  expect(all).toEqual([[[3]], [[3]]]);
  // Nothing is read of files that are kept.
  for (const { path } of events) await lake.remove(path);
  expect(await asked({ events, persons: merged }, persons)).toEqual([[3]]);
  expect(await asked({ events, persons: merged }, "SELECT count() FROM events WHERE event = 'seen'")).toEqual([[4]]);
  await expect(asked({ events, persons: merged }, 'SELECT count(uuid) FROM events')).rejects.toThrow('it is not there');
  await expect(asked({ events, persons: apart }, persons)).rejects.toThrow('it is not there');
});

const pathsOf = (of: readonly WorldFile[]): string[] => of.map(({ path }) => path);

/** Events of one session in files of a day each, who some of them are, and which files are read in worlds of them. */
async function eventsByDay() {
  const lake = folderFiles(temporaryFolder());
  const worlds = worldDatabase({ lake, parser });
  onEnd(() => worlds.close());
  const rows = EVENTS.map(({ timestamp, event, distinct_id, properties = {} }, n) => ({
    event,
    distinct_id,
    uuid: `u${n}`,
    timestamp_us: Date.parse(timestamp) * 1000,
    properties: JSON.stringify({ ...properties, $session_id: 's' }),
  }));
  const days = EVENTS.map(({ timestamp }) => Date.parse(timestamp));
  const files = await writeRows(
    lake,
    rows.map((row) => [row]),
  );
  const events = files.map((file, n) => ({ ...file, min_timestamp: days[n] ?? 0, max_timestamp: days[n] ?? 0 }));
  const persons = await written(writePersons(lake, [[of('phone', 'p1', 1), of('laptop', 'p2', 1)]]));
  const read: string[][] = [];
  const reads = (all: readonly WorldFile[]): unknown => read.push(pathsOf(all));
  const now = Date.parse('2026-01-05T12:00:00Z');
  const world = () => worlds.world({ events, persons }, { ...MOMENT, now }, { reads });
  return { days, events, persons, read, world };
}

test('only the files are read that the conditions of a query need, and all of the persons', async () => {
  const { days, events, persons, read, world } = await eventsByDay();
  const asked = async (hogql: string) => {
    const asking = world();
    const found = (await asking.rows({ hogql })).rows;
    return { found, read: read.at(-1), looked: asking.looked().events };
  };
  const lastDay = 'timestamp > now() - INTERVAL 1 DAY';

  const hour = Date.parse('2026-01-04T12:00:00Z');
  expect(await asked(`SELECT distinct_id FROM events WHERE ${lastDay}`)).toEqual({
    found: [['named']],
    read: pathsOf(events.slice(4)),
    looked: [{ from: hour - 1, to: null }],
  });
  const between = "timestamp >= '2026-01-02' AND timestamp < '2026-01-04'";
  expect(await asked(`SELECT count(), uniq(person_id) FROM events WHERE ${between}`)).toMatchObject({
    found: [[2, 1]],
    read: pathsOf([...events.slice(1, 3), ...persons]),
  });
  // A session may have begun before.
  const sessions = await asked(`SELECT session.$start_timestamp FROM events WHERE ${lastDay}`);
  expect(sessions).toMatchObject({ found: [[days[0]]], read: pathsOf(events) });
  expect(
    await asked(`SELECT count() FROM sessions AS s JOIN events AS e ON e.$session_id = s.id WHERE e.${lastDay}`),
  ).toMatchObject({
    found: [[1]],
    read: pathsOf(events),
  });
});

test('a subquery in an expression that a caller wrote reads the events that it needs, whatever the range of the question', async () => {
  const { events, read, world } = await eventsByDay();
  const counted = async (text: string): Promise<unknown> => {
    const asking = world();
    const condition = await asking.expression(text);
    const hogql = 'SELECT count() FROM events WHERE timestamp >= {from} AND {condition}';
    const from = Date.parse('2026-01-03');
    const values = { from: call('fromUnixTimestamp64Milli', constant(from)), condition };
    return (await asking.rows({ hogql, values, from })).rows[0]?.[0];
  };
  expect(await counted("event IN (SELECT event FROM events WHERE timestamp < '2026-01-02')")).toBe(2);
  expect(await counted("event IN (SELECT event FROM events WHERE timestamp >= '2026-01-02')")).toBe(3);
  expect(read.at(-1)).toEqual(pathsOf(events.slice(1)));
  expect(await counted('event IN (SELECT event FROM events AS e WHERE e.session.$session_duration > 0)')).toBe(3);
  expect(await counted("event = 'seen'")).toBe(2);
  expect(read.at(-1)).toEqual(pathsOf(events.slice(2)));
});

/** Events of some persons who were merged and some who were not, with ids that are no UUIDs, and what answers of them anew. */
async function mergedPersons() {
  const lake = folderFiles(temporaryFolder());
  const names = ['', '12', 'seen', 'Seen', 'é', '{"a": 1}', "it's"];
  const rows = Array.from({ length: 40 }, (_, n) => ({
    event: names[n % names.length] ?? '',
    distinct_id: `d${n % 9}`,
    person_id: n % 3 === 0 ? (names[(n + 1) % names.length] ?? null) : null,
    uuid: `u${n}`,
    timestamp_us: n * 3_600_000_000,
  }));
  const events = await written(writeRows(lake, [rows.slice(0, 25), rows.slice(25)]));
  const persons = await written(
    writePersons(lake, [
      [of('d0', 'zed', 1), of('d1', 'a person', 1), of('d1', 'zed', 2), of('never seen', '\u{1F600}', 1)],
    ]),
  );
  const answerer = () => {
    const worlds = worldDatabase({ lake, parser });
    onEnd(() => worlds.close());
    return async (hogql: string): Promise<readonly (readonly unknown[])[]> =>
      (await worlds.world({ events, persons }, MOMENT).rows({ hogql })).rows;
  };
  return { lake, events, answerer };
}

test('who sorts events person by person has the same answer of numbers for persons as of their texts', async () => {
  const { answerer } = await mergedPersons();
  const windows = 'lag(uuid) OVER (PARTITION BY person_id ORDER BY timestamp), properties.a';
  const ofNumbers = await answerer()(`SELECT uuid, ${windows} FROM events ORDER BY uuid`);
  const ofTexts = await answerer()(`SELECT uuid, ${windows}, person_id FROM events ORDER BY uuid`);
  expect(ofNumbers).toEqual(ofTexts.map((row) => row.slice(0, -1)));
  expect(new Set(ofTexts.map((row) => row.at(-1))).size).toBeGreaterThan(5);
});

test('events that are kept answer whatever is asked as their files do', async () => {
  const { lake, events, answerer } = await mergedPersons();
  const kept = answerer();
  for (let n = 0; n < 2; n += 1) await kept('SELECT count(DISTINCT person_id) FROM events');
  const queries = [
    'SELECT event, person_id, count() FROM events GROUP BY event, person_id ORDER BY event DESC, person_id',
    'SELECT min(person_id), max(person_id), min(event), max(event) FROM events',
    "SELECT countIf(event = 'not there'), countIf(event IN ('seen', 'not there')), countIf(event = person_id) FROM events",
    "SELECT countIf(person_id < 'b'), countIf(person_id >= '12' AND person_id < 'zz'), countIf(person_id LIKE '%e%') FROM events",
    "SELECT upper(event), concat(event, '-', person_id), length(person_id), toInt(event), toFloat(person_id) FROM events ORDER BY timestamp",
    "SELECT if(event = 'seen', event, 'other') AS name, count() FROM events GROUP BY name ORDER BY name",
    'SELECT person_id, arraySort(groupArray(event)), argMax(event, timestamp), argMin((event, person_id), timestamp) FROM events GROUP BY person_id ORDER BY person_id',
    "SELECT JSONExtractString(event, 'a'), JSONHas(person_id, 'a') FROM events ORDER BY timestamp",
    'SELECT event FROM (SELECT event FROM events UNION ALL SELECT person_id FROM events) ORDER BY event',
    'SELECT person_id, lag(event) OVER (PARTITION BY person_id ORDER BY timestamp) FROM events ORDER BY timestamp',
    'SELECT count() FROM events WHERE person_id IN (SELECT event FROM events)',
    'SELECT c, count() FROM (SELECT person_id, count() AS c FROM events GROUP BY person_id) GROUP BY c ORDER BY c',
    'SELECT timestamp, lag(event) OVER (PARTITION BY person_id ORDER BY timestamp) FROM events ORDER BY timestamp',
    'SELECT count(), uniq(a.person_id) FROM events AS a JOIN (SELECT person_id AS p FROM events) AS b ON a.person_id = b.p',
  ];
  const fromFiles = await Promise.all(queries.map((query) => answerer()(query)));
  const ofJson = queries.findIndex((query) => query.includes('JSON'));
  expect(await kept(queries[ofJson] ?? '')).toEqual(fromFiles[ofJson]);
  // What is kept alone is there, so that nothing else can have answered.
  for (const { path } of events) await lake.remove(path);
  const others = queries.filter((_, n) => n !== ofJson);
  const ofTable = await Promise.all(others.map((query) => kept(query)));
  expect(others.map((query, n) => [query, ofTable[n]])).toEqual(
    queries.map((query, n) => [query, fromFiles[n]]).filter((_, n) => n !== ofJson),
  );
  await expect(kept(queries[ofJson] ?? '')).rejects.toThrow('it is not there');
});

test('a file that lies in the place of another is not read by what is known of that, whatever its times say', async () => {
  const lake = folderFiles(temporaryFolder());
  const worlds = worldDatabase({ lake, parser });
  onEnd(() => worlds.close());
  const rows = EVENTS.map(({ event }, n) => ({ event, uuid: `u${n}` }));
  const files = await written(writeRows(lake, [rows, rows.slice(1), rows.map((row) => ({ ...row, event: 'else' }))]));
  const [first, second, third] = files.map(({ path }) => lake.address(path)) as [string, string, string];
  // What was written just now is not taken from what is known of files.
  const before = new Date(Date.now() - 3_600_000);
  for (const { path } of files) utimesSync(lake.address(path), before, before);
  const asked = async (events: readonly WorldFile[], hogql: string): Promise<unknown> =>
    (await worlds.world({ events, persons: [] }, MOMENT).rows({ hogql })).rows;
  const seen = "SELECT count() FROM events WHERE event = 'seen'";
  const both = files.slice(0, 2);
  for (let n = 0; n < 2; n += 1) expect(await asked(both, seen)).toEqual([[7]]);

  const kept = readFileSync(first);
  writeFileSync(first, readFileSync(third).subarray(0, kept.length));
  utimesSync(first, before, before);
  for (const query of [seen, 'SELECT count() FROM events'])
    await expect(asked(both, query)).rejects.toThrow('is damaged');
  writeFileSync(first, kept);
  utimesSync(first, before, before);
  expect(await asked(both, seen)).toEqual([[7]]);

  // Rows of the second are in another file now, as when files are joined or a person is deleted.
  rmSync(second);
  const joined = [...files.slice(0, 1), ...files.slice(2)];
  expect(await asked(joined, 'SELECT event, count() FROM events GROUP BY event ORDER BY event')).toEqual([
    ['else', 5],
    ['paid', 1],
    ['seen', 4],
  ]);
  for (const query of [seen, 'SELECT count() FROM events'])
    await expect(asked(both, query)).rejects.toThrow('it is not there');
});

test('the questions of the program are parsed once for all processes, and what callers write is kept nowhere', async () => {
  const lake = folderFiles(temporaryFolder());
  const rows = EVENTS.map(({ event }, n) => ({ event, uuid: `u${n}` }));
  const events = (await writeRows(lake, [rows])).map((file) => ({ ...file, min_timestamp: 0, max_timestamp: 0 }));
  const kept = folderFiles(temporaryFolder());
  const own = "SELECT event, count() AS times, (1, 'x', 0.5) FROM events GROUP BY event ORDER BY event";
  const written = "SELECT count() FROM events WHERE event = 'secret'";
  /** Asks both in a process that has just started; returns what it parsed, and the rows. */
  const started = async () => {
    const parsed: string[] = [];
    const grammar = hogqlParser();
    const query = (text: string) => (parsed.push(text), grammar.query(text));
    const worlds = worldDatabase({ lake, parser: { ...grammar, query }, parsed: kept });
    const world = worlds.world(
      { events, persons: [] },
      { now: 0, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] },
    );
    const found = [
      await world.rows({ hogql: own }),
      await world.rows({ hogql: written, limit: { otherwise: 10, most: 10 } }),
    ];
    await worlds.close();
    return { parsed, rows: found.map((one) => one.rows) };
  };
  const first = await started();
  expect(first).toEqual({
    parsed: [own, written],
    rows: [
      [
        ['paid', 1, [1, 'x', 0.5]],
        ['seen', 4, [1, 'x', 0.5]],
      ],
      [[0]],
    ],
  });
  expect(await started()).toEqual({ ...first, parsed: [written] });
  const texts: string[] = [];
  for await (const { path } of kept.list('')) {
    texts.push(String(await kept.read(path)));
    await kept.write(path, '{"cut');
  }
  expect(texts).toEqual([expect.not.stringContaining('secret')]);
  expect(await started()).toEqual(first);
  expect(await started()).toEqual({ ...first, parsed: [written] });
});

test('a refusal says where in the text of the caller it is, and nothing of places in other texts', async () => {
  const world = await insightWorld({ events: [] });
  const limit = { otherwise: 2, most: 3 };
  const detailOf = (asked: Promise<unknown>): Promise<string> =>
    asked.then(
      () => 'nothing was refused',
      ({ body }: { readonly body: { readonly detail: string } }) => body.detail,
    );
  const theirs = "SELECT '😀',\n  '😀', nothing\nFROM events";
  expect(await detailOf(world.rows({ hogql: theirs, limit }))).toMatch(/ \(line 2, column 8\)$/);
  expect(await detailOf(world.rows({ hogql: 'SELECT event FROM', limit }))).toMatch(/ \(line 1, column \d+\)$/);
  expect(await detailOf(world.rows({ hogql: theirs }))).not.toContain('line');
  expect(await detailOf(world.expression("'ab' +"))).toContain('(line 1, column 7)');
  const values = { filters: await world.expression('1 = 1 AND nothing = 2') };
  const filled = "SELECT event FROM events WHERE event = 'a' AND {filters}";
  expect(await detailOf(world.rows({ hogql: filled, values, limit }))).toMatch(/ \(line 1, column 32\)$/);
});
