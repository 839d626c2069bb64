import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../lib/basics/units.ts';
import { initialPlan, planFields } from '../../../../lib/exports/runs/plan.ts';
import { filesBetween } from '../../../../lib/lake/catalog.ts';
import { lowerLiveOps } from '../../../../lib/lake/fence.ts';
import { ImportUnderWay } from '../../../../lib/lake/lease.ts';
import type { Model } from '../../../../lib/lake/schema.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { keys, places } from '../../../../lib/ports/table/keys.ts';
import { duckdbWarehouse } from '../../../../lib/warehouse/duckdb.ts';
import { START } from '../../../support/context.ts';
import { fileIn, importContext, killableContext, PROJECT, run } from '../../../support/imports.ts';
import { LINES, planOf } from '../../../support/lake-rows.ts';
import { propertyRuns } from '../../../support/property-runs.ts';
import { watchWrites } from '../../../support/table-override.ts';

const MAY_17 = Date.UTC(2015, 4, 17);

/** What an export of all time would deliver. */
async function exported(context: Context, projectId = PROJECT): Promise<string> {
  const warehouse = duckdbWarehouse({ lake: context.lake });
  const interval = { start: 0, end: START + 400 * DAY_MS };
  const found = await filesBetween(context.table, projectId, 'events', interval.start, interval.end);
  const files = found.map(({ path, min_arrival, max_arrival }) => ({ path, from: min_arrival, to: max_arrival }));
  const plan = planOf({ files, intervals: [interval] }, { teamId: projectId });
  let text = '';
  for await (const piece of warehouse.read(plan, interval, LINES, new AbortController().signal))
    text += piece.toString();
  await warehouse.close();
  return text;
}

interface Exported {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly properties: Record<string, unknown>;
  readonly timestamp: string;
  readonly created_at: string;
  readonly _inserted_at: string;
}

const eventsIn = async (context: Context, projectId = PROJECT): Promise<Exported[]> =>
  (await exported(context, projectId))
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Exported);

const requestAt = (minute: number, path = '/'): string =>
  `192.0.2.${minute % 250} - - [17/May/2015:${String(10 + Math.floor(minute / 60)).padStart(2, '0')}:` +
  `${String(minute % 60).padStart(2, '0')}:00 +0000] "GET ${path} HTTP/1.1" 200 5 "-" "Browser/${minute}"`;
const requests = (count: number): string[] => Array.from({ length: count }, (_, n) => requestAt(n, `/page-${n}`));
const jsonLine = (change: object = {}): string =>
  JSON.stringify({ event: 'paid', distinct_id: 'ada', timestamp: '2015-05-17T10:00:00Z', ...change });

describe('a log of a web server', () => {
  test('becomes page views that arrive when they happened', async () => {
    const context = await importContext();
    const lines = requests(100);
    const file = fileIn(context, 'access.log', `${lines.join('\n')}\n${requestAt(100).slice(0, -12)}`);
    expect(await run(context, file)).toEqual({
      files: [
        {
          file,
          format: 'combined',
          bytes: expect.any(Number),
          events: 101,
          persons: 0,
          bad: 0,
          blank: 0,
          problem: null,
          rejected: null,
        },
      ],
      events: 101,
      added: 101,
      known: 0,
      forgotten: 0,
      persons: { read: 0, rows: 0, refused: 0 },
      bad: 0,
      rejected: [],
      arrival: { from: MAY_17 + 10 * HOUR_MS, to: MAY_17 + 11 * HOUR_MS + 40 * 60_000 },
      backfills: [],
    });
    const events = await eventsIn(context);
    expect(events.map(({ properties }) => properties['$current_url'])).toEqual([
      ...Array.from({ length: 100 }, (_, n) => `/page-${n}`),
      '/',
    ]);
    expect(events.every(({ timestamp, _inserted_at }) => timestamp === _inserted_at)).toBe(true);
    expect(new Set(events.map(({ created_at }) => created_at))).toEqual(new Set(['2026-01-01T00:00:00.000000Z']));
  });

  test('lies in files of its days, each with the rows of its hours', async () => {
    const context = await importContext();
    const next = requestAt(3).replace('17/May', '18/May');
    await run(context, fileIn(context, 'access.log', [next, ...requests(90)].join('\n')));
    const files = await filesBetween(context.table, PROJECT, 'events', 0, START);
    expect(files.map(({ path, rows }) => [path.split('/')[2], rows])).toEqual([
      ['day=2015-05-17', 90],
      ['day=2015-05-18', 1],
    ]);
    expect((JSON.parse(files[0]?.hours ?? '') as number[]).slice(9, 13)).toEqual([0, 60, 30, 0]);
    expect(files[0]).toMatchObject({
      min_arrival: MAY_17 + 10 * HOUR_MS,
      max_arrival: MAY_17 + 11 * HOUR_MS + 29 * 60_000,
    });
  });

  test('gives other uuids in another project', async () => {
    const context = await importContext();
    const file = fileIn(context, 'access.log', requests(3).join('\n'));
    await run(context, file);
    await run(context, file, { projectId: 8 });
    const both = [...(await eventsIn(context)), ...(await eventsIn(context, 8))].map(({ uuid }) => uuid);
    expect(new Set(both).size).toBe(6);
  });
});

describe('repeating an import', () => {
  test('adds nothing: the same file, a copy, a packed one', async () => {
    const context = await importContext();
    const content = requests(50).join('\n');
    await run(context, fileIn(context, 'access.log', content));
    const before = await exported(context);
    context.clock.advance(DAY_MS);
    for (const file of [
      fileIn(context, 'access.log', content),
      fileIn(context, 'copy', content.replaceAll('\n', '\r\n')),
      fileIn(context, 'access.log.1.gz', gzipSync(content)),
    ])
      expect(await run(context, file)).toMatchObject({ events: 50, added: 0, known: 50, arrival: null });
    expect(await exported(context)).toBe(before);
  });

  test('adds the new lines of a file that has grown', async () => {
    const context = await importContext();
    await run(context, fileIn(context, 'access.log', requests(50).join('\n')));
    expect(await run(context, fileIn(context, 'access.log', requests(70).join('\n')))).toMatchObject({
      added: 20,
      known: 50,
    });
    expect(new Set((await eventsIn(context)).map(({ uuid }) => uuid)).size).toBe(70);
  });

  describe('of a file that grows', () => {
    /** 300 bytes each: a file is read in pieces of some 900 lines, and in every minute there are ten. */
    const long = (count: number, from = 0): string[] =>
      Array.from({ length: count }, (_, n) => requestAt(Math.floor((from + n) / 10), `/${'x'.repeat(210)}/${n % 3}`));
    const write = (context: Context & { folder: string }, lines: readonly string[], name = 'access.log') =>
      fileIn(context as never, name, `${lines.join('\n')}\n`);
    const uuids = async (context: Context) => (await eventsIn(context)).map(({ uuid }) => uuid).toSorted();

    test('reads what is new, and some before it, so that equal lines stay apart', async () => {
      const [grown, whole] = [await importContext(), await importContext()];
      const lines = long(4_000);
      await run(grown, write(grown, lines.slice(0, 2_995)));
      const report = await run(grown, write(grown, lines));
      expect(report).toMatchObject({ added: 1_005, files: [{ from: expect.any(Number) }] });
      expect(report.events).toBeLessThan(2_500);
      await run(whole, write(whole, lines));
      expect(await uuids(grown)).toEqual(await uuids(whole));
    });

    test('reads from further back when an older line comes', async () => {
      const [grown, whole] = [await importContext(), await importContext()];
      const lines = long(3_000);
      // Equal to lines that lie before the place from which it is read on.
      const late = [...long(5, 3_000), lines[0] as string, lines[1] as string, lines[0] as string];
      await run(grown, write(grown, lines));
      expect(await run(grown, write(grown, [...lines, ...late]))).toMatchObject({ added: 8 });
      await run(whole, write(whole, [...lines, ...late]));
      expect(await uuids(grown)).toEqual(await uuids(whole));
    });

    test('names and copies a bad line once, though an older line behind it has it read again', async () => {
      const context = await importContext();
      const lines = long(3_000);
      await run(context, write(context, lines));
      const more = [...lines, 'nonsense', ...long(5, 3_000), 'rubbish', lines[0] as string, 'trash'];
      const report = await run(context, write(context, more));
      expect(report).toMatchObject({ added: 6, bad: 3 });
      expect(report.rejected.map(({ line }) => line)).toEqual([3_001, 3_007, 3_009]);
      expect(readFileSync(report.files[0]?.rejected ?? '', 'utf8')).toBe('nonsense\nrubbish\ntrash\n');
    });

    test('reads all of a file that begins or ends otherwise, was moved and filled anew, or has not grown', async () => {
      const context = await importContext();
      const lines = long(3_000);
      const changed = lines.with(2_999, requestAt(299, '/other'));
      await run(context, write(context, lines));
      for (const [content, added] of [
        [[...changed, requestAt(301)], 2],
        [[requestAt(500), ...lines], 1],
        [changed, 0],
      ] as const) {
        const [file] = (await run(context, write(context, content))).files;
        expect(file).not.toHaveProperty('from');
        expect(file?.events).toBe(content.length);
        expect(added).toBeGreaterThanOrEqual(0);
      }
      expect(await eventsIn(context)).toHaveLength(3_003);
    });

    test('goes on by whatever name, and keeps the copy of what was bad', async () => {
      const context = await importContext();
      const lines = ['nonsense', ...long(3_000)];
      const first = await run(context, write(context, lines));
      expect(first).toMatchObject({ bad: 1, events: 3_000 });
      const moved = await run(context, write(context, [...lines, ...long(10, 3_000)], 'access.log.1'));
      expect(moved).toMatchObject({ bad: 0, added: 10, files: [{ from: expect.any(Number), rejected: null }] });
      const more = [...lines, ...long(10, 3_000), 'rubbish', ...long(10, 3_010)];
      const again = await run(context, write(context, more));
      expect(again).toMatchObject({ bad: 1, added: 10 });
      expect(readFileSync(again.files[0]?.rejected ?? '', 'utf8')).toBe('nonsense\nrubbish\n');
    });

    test('leaves a line alone that is being written, when asked to', async () => {
      const context = await importContext();
      const file = fileIn(context, 'access.log', `${requestAt(1)}\n${requestAt(2).slice(0, 40)}`);
      expect(await run(context, file, { onlyEnded: true })).toMatchObject({ events: 1, added: 1 });
      writeFileSync(file, `${requestAt(1)}\n${requestAt(2)}\n`);
      expect(await run(context, file, { onlyEnded: true })).toMatchObject({ added: 1 });
    });

    test('is so with lines of JSON that bring their uuids', async () => {
      const context = await importContext();
      const line = (n: number): string =>
        jsonLine({ timestamp: 1_700_000_000 + n * 60, uuid: `018f0000-0000-7000-8000-${String(n).padStart(12, '0')}` });
      const lines = Array.from({ length: 3_010 }, (_, n) => line(n));
      await run(context, write(context, lines.slice(0, 3_000), 'a.jsonl'));
      const { events, added } = await run(context, write(context, lines, 'a.jsonl'));
      expect(added).toBe(10);
      expect(events).toBeLessThan(2_500);
    });
  });

  test('keeps equal lines of one file apart, and takes those of two files for the same', async () => {
    const context = await importContext();
    const thrice = fileIn(context, 'thrice', [requestAt(1), requestAt(2), requestAt(1), requestAt(1)].join('\n'));
    const twice = fileIn(context, 'twice', [requestAt(1), requestAt(1)].join('\n'));
    expect(await run(context, [twice, thrice])).toMatchObject({ events: 6, added: 4, known: 2 });
    expect(await run(context, thrice)).toMatchObject({ added: 0, known: 4 });
    const events = await eventsIn(context);
    expect(events).toHaveLength(4);
    expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(4);
  });

  test('counts equal lines on across the batches of a long file', async () => {
    const context = await importContext();
    // Each piece of a file becomes a batch when a minute has passed since the last.
    const minutes = { onProgress: () => context.clock.advance(61_000) };
    const padding = 'x'.repeat(1000);
    const lines = Array.from({ length: 2000 }, (_, n) => requestAt(n % 10, `/${padding}`));
    const file = fileIn(context, 'access.log', lines.join('\n'));
    expect(await run(context, file, minutes)).toMatchObject({ events: 2000, added: 2000 });
    expect((await filesBetween(context.table, PROJECT, 'events', 0, START)).length).toBeGreaterThan(3);
    expect(new Set((await eventsIn(context)).map(({ uuid }) => uuid)).size).toBe(2000);
    expect(await run(context, file)).toMatchObject({ events: 2000, added: 0 });
    expect(await run(context, file, minutes)).toMatchObject({ events: 2000, added: 0 });
  });
});

describe('JSON lines', () => {
  test('keep their own uuids, once at one time', async () => {
    const context = await importContext();
    const uuid = '0194F1E2-0000-7000-8000-00000000000A';
    const lines = [
      jsonLine({ uuid }),
      jsonLine({ uuid, properties: { again: true } }),
      jsonLine({ uuid: uuid.toLowerCase() }),
      jsonLine({ uuid, timestamp: '2015-05-17T10:00:01Z' }),
      jsonLine(),
      jsonLine(),
    ];
    expect(await run(context, fileIn(context, 'a.jsonl', lines.join('\n')))).toMatchObject({ added: 4, known: 2 });
    expect(await run(context, fileIn(context, 'b.jsonl', lines.slice(0, 3).join('\n')))).toMatchObject({ added: 0 });
    const own = (await eventsIn(context)).filter((event) => event.uuid === uuid.toLowerCase());
    expect(own.map(({ timestamp, properties }) => [timestamp, properties])).toEqual([
      ['2015-05-17T10:00:00.000000Z', {}],
      ['2015-05-17T10:00:01.000000Z', {}],
    ]);
  });

  test('that an export delivered give the same export in another project', async () => {
    const context = await importContext();
    const lines = [
      jsonLine({ $set: { plan: 'free' }, properties: { id: 1, list: [null, 1.5, 'x'] } }),
      jsonLine({ timestamp: '2015-05-18T00:00:00.123456Z', person_properties: { a: 1 }, elements_chain: 'a:b' }),
      ...Array.from({ length: 30 }, (_, n) => jsonLine({ distinct_id: `${n} "quoted" \\ 漢` })),
    ];
    await run(context, fileIn(context, 'a.jsonl', lines.join('\n')));
    const first = await exported(context);
    await run(context, fileIn(context, 'b.jsonl', first), { projectId: 8 });
    expect(await exported(context, 8)).toBe(first);
  });

  test('keep every character that text may have', async () => {
    const context = await importContext();
    const odd = [
      ' leading',
      'trailing ',
      'NULL',
      '\\N',
      ...Array.from({ length: 0xa0 }, (_, n) => String.fromCharCode(n + 1)),
      '\u2028',
      '😀',
      "'",
      '\x1aX',
    ];
    const file = fileIn(
      context,
      'a.jsonl',
      odd.map((c) => jsonLine({ event: `<${c}>`, distinct_id: `${c}!` })).join('\n'),
    );
    expect(await run(context, file)).toMatchObject({ bad: 0, added: odd.length });
    const events = await eventsIn(context);
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(odd.map((c) => `<${c}>`)));
    expect(new Set(events.map(({ distinct_id }) => distinct_id))).toEqual(new Set(odd.map((c) => `${c}!`)));
  });

  test('may hold a megabyte', async () => {
    const context = await importContext();
    const big = jsonLine({ properties: { text: '漢'.repeat(300_000) } });
    expect(await run(context, fileIn(context, 'a.jsonl', [big, jsonLine()].join('\n')))).toMatchObject({
      added: 2,
      bad: 0,
    });
  });

  test('may all be long: they come in batches that memory holds', async () => {
    const context = await importContext();
    const text = 'long '.repeat(195_000);
    const file = fileIn(context, 'long.jsonl', '');
    for (let n = 0; n < 220; n += 1) appendFileSync(file, `${jsonLine({ properties: { n, text } })}\n`);
    expect(await run(context, file)).toMatchObject({ events: 220, added: 220, bad: 0 });
  });
});

describe('lines that are no events', () => {
  test('are counted, reported and copied as they were, and end nothing', async () => {
    const context = await importContext();
    const latin = Buffer.from([0xe4, 0x20, 0x62]);
    const content = Buffer.concat([
      Buffer.from(`${requestAt(1)}\n\nhello\n`),
      latin,
      Buffer.from(`\n  \n${requestAt(2)}\nNUL\0NUL\n${'x'.repeat(1024 * 1024 + 1)}\n${requestAt(3)}`),
    ]);
    const file = fileIn(context, 'access.log', content);
    const report = await run(context, file);
    expect(report).toMatchObject({ events: 3, added: 3, bad: 4, files: [{ events: 3, bad: 4, blank: 2 }] });
    expect(report.rejected).toEqual([
      { file, line: 3, reason: 'no time in brackets' },
      { file, line: 4, reason: 'no time in brackets' },
      { file, line: 7, reason: 'holds a NUL byte' },
      { file, line: 8, reason: 'longer than 1048576 bytes' },
    ]);
    const copy = readFileSync(report.files[0]?.rejected ?? '');
    const expected = [Buffer.from('hello\n'), latin, Buffer.from(`\nNUL\0NUL\n${'x'.repeat(1024 * 1024)}\n`)];
    expect(copy.equals(Buffer.concat(expected))).toBe(true);

    writeFileSync(file, requestAt(1));
    expect((await run(context, file)).files[0]?.rejected).toBeNull();
    expect(() => readFileSync(report.files[0]?.rejected ?? '')).toThrow('ENOENT');
  });

  test('are copied up to 100 MB, of a file that unpacks to more too, and counted beyond', async () => {
    const context = await importContext();
    const long = `${'a'.repeat(1024 * 1024 - 1)}\n`;
    const file = fileIn(context, 'a.jsonl.gz', gzipSync(`${jsonLine()}\n${long.repeat(110)}`, { level: 1 }));
    const report = await run(context, file);
    expect(report).toMatchObject({ added: 1, bad: 110 });
    const [{ rejected, problem } = {}] = report.files;
    const { size } = statSync(rejected ?? '');
    expect(size).toBe(Math.floor(100e6 / long.length) * long.length);
    expect(problem).toBe('more than 100 MB of it were rejected: the others were not copied');
  }, 120_000);

  test('are copied up to 100 MB of a file that grows, too', async () => {
    const context = await importContext();
    const file = fileIn(context, 'a.jsonl', `${jsonLine()}\nno event\n`);
    const copy = (await run(context, file)).files[0]?.rejected ?? '';
    truncateSync(copy, 100e6 - 3);
    appendFileSync(file, `${jsonLine()}\nx\nno event\ny\n`);
    const [again] = (await run(context, file)).files;
    expect(again).toMatchObject({ bad: 3, rejected: copy, problem: expect.stringContaining('100 MB') });
    expect(statSync(copy).size).toBe(100e6 - 1);
  });

  test('are named up to twenty, and counted beyond', async () => {
    const context = await importContext();
    const file = fileIn(context, 'a.jsonl', `${jsonLine()}\n${'{}\n'.repeat(500)}`);
    const report = await run(context, file);
    expect(report.bad).toBe(500);
    expect(report.rejected).toHaveLength(20);
    expect(report.rejected[0]).toEqual({ file, line: 2, reason: 'no event' });
  });

  test('of JSON must be UTF-8', async () => {
    const context = await importContext();
    const line = Buffer.from(jsonLine({ distinct_id: 'ä' }), 'latin1');
    const report = await run(
      context,
      fileIn(context, 'a.jsonl', Buffer.concat([Buffer.from(`${jsonLine()}\n`), line])),
    );
    expect(report).toMatchObject({ added: 1, bad: 1, rejected: [{ line: 2, reason: 'not UTF-8' }] });
  });

  test('may be anything: each line is an event, bad or blank', async () => {
    const context = await importContext();
    const line = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom(requestAt(1), jsonLine(), '', '{}').map((text) => Buffer.from(text)),
    );
    let files = 0;
    const everyFile = fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 40 }),
      fc.constantFrom('combined' as const, 'jsonl' as const),
      async (lines, format) => {
        // A first line of its own: a file that begins with all of an earlier one would go on where that ended.
        files += 1;
        const content = Buffer.concat(
          [Buffer.from(`file ${files}`), ...lines].flatMap((bytes) => [bytes, Buffer.from('\n')]),
        );
        const report = await run(context, fileIn(context, 'any', content), { format });
        const [{ events, bad, blank }] = report.files as [(typeof report.files)[number]];
        expect(events + bad + blank).toBe(content.filter((byte) => byte === 10).length);
        expect(report.added + report.known).toBe(events);
      },
    );
    await fc.assert(everyFile, { numRuns: propertyRuns(25) });
  });
});

describe('the format', () => {
  test('is told for each file, and may be given', async () => {
    const context = await importContext();
    const log = fileIn(context, 'a', ['hello', ...requests(3)].join('\n'));
    const json = fileIn(context, 'b', ['hello', jsonLine(), jsonLine()].join('\n'));
    const found = await run(context, [log, json]);
    expect(found.files.map(({ format, events, bad }) => [format, events, bad])).toEqual([
      ['combined', 3, 1],
      ['jsonl', 2, 1],
    ]);
    expect((await run(context, log, { format: 'jsonl' })).files[0]).toMatchObject({
      format: 'jsonl',
      events: 0,
      bad: 4,
    });
  });

  test('that cannot be told keeps one file out, and not the others', async () => {
    const context = await importContext();
    const files = [fileIn(context, 'notes.txt', 'hello\nworld\n'), fileIn(context, 'b', jsonLine())];
    const report = await run(context, files);
    expect(report).toMatchObject({ events: 1, added: 1, bad: 0 });
    expect(report.files[0]).toMatchObject({
      format: null,
      problem: 'its first lines are in no known format (combined, jsonl, csv, parquet); nothing of it was imported',
    });
  });

  test.each([
    [
      'Who,When,Plan\nada,2026-01-01,pro\n',
      {},
      'no column says what distinct_id, event, timestamp is; its columns are Who, When, Plan',
    ],
    ['Who\nada\n', { columns: { distinct_id: 'Who' } }, 'no column says what event, timestamp is; its columns are Who'],
    ['Who\nada\n', { columns: { event: 'Action' } }, 'it has no column Action; its columns are Who'],
    ['[{"event": "e", "distinct_id": "d"}, {"event": "f"}]\n', {}, 'It is a JSON array: write one object a line'],
    ['[\n{"event": "e"},\n{"event": "f"}\n]\n', {}, 'It is a JSON array: write one object a line'],
    [
      '{"event_type": "Signed up", "user_id": "ada", "event_time": "2026-01-01 10:00:00"}\n',
      {},
      'As JSON lines, its first one cannot be read: it has no event, distinct_id, timestamp; its fields are event_type, user_id, event_time',
    ],
    [
      '{"event": "Signed up", "properties": {"distinct_id": "ada", "time": 1767225600}}\n',
      {},
      'cannot be read: it has no timestamp; its fields are event, properties',
    ],
    [
      `{${Array.from({ length: 23 }, (_, n) => `"f${n}": 1`).join(', ')}}\n`,
      {},
      'it has no event, distinct_id, timestamp; its fields are f0, f1,',
    ],
    [`{${Array.from({ length: 23 }, (_, n) => `"f${n}": 1`).join(', ')}}\n`, {}, ', f18, f19 and 3 more'],
    [
      '{"event": "e", "distinct_id": "d", "timestamp": "soon"}\n',
      {},
      'its first one cannot be read: timestamp is not an instant',
    ],
  ])('that may be a table, objects or an array says what it lacks: %j', async (content, mapping, lacks) => {
    const context = await importContext();
    const report = await run(context, fileIn(context, 'table', content), { mapping });
    expect(report.files[0]?.problem).toMatch(/^its first lines are in no known format /);
    expect(report.files[0]?.problem).toContain(lacks);
  });

  test('of JSON lines that are not UTF-8 says that', async () => {
    const context = await importContext();
    const line = Buffer.from('{"event": "\xe4", "distinct_id": "d", "timestamp": "2026-01-01"}\n', 'latin1');
    const report = await run(context, fileIn(context, 'lines', line));
    expect(report.files[0]?.problem).toContain('its first one cannot be read: it is not UTF-8. Save the file as UTF-8');
  });

  test.each([
    [
      'UTF-16 with its low bytes first',
      Buffer.from('\ufeffevent,distinct_id,timestamp\n', 'utf16le'),
      'it is UTF-16: save it as UTF-8',
    ],
    [
      'UTF-16 with its high bytes first',
      Buffer.from('\ufeffevent\n', 'utf16le').swap16(),
      'it is UTF-16: save it as UTF-8',
    ],
    ['a ZIP archive', Buffer.from('504b03041400000008000a0a', 'hex'), 'it is a ZIP archive: unpack it'],
    ['a ZIP archive without a line end', Buffer.from('504b03041400000008', 'hex'), 'it is a ZIP archive: unpack it'],
  ])('of %s says what is to be done first', async (_, content, says) => {
    const context = await importContext();
    for (const file of [content, gzipSync(content)]) {
      const report = await run(context, fileIn(context, 'file', file));
      expect(report).toMatchObject({ events: 0, bad: 0, files: [{ format: null }] });
      expect(report.files[0]?.problem).toBe(`${says} first; nothing of it was imported`);
    }
  });

  test('of an empty file does not matter', async () => {
    const context = await importContext();
    expect(await run(context, [fileIn(context, 'a', ''), fileIn(context, 'b', '\n\n')])).toMatchObject({
      events: 0,
      files: [
        { format: null, blank: 0, problem: null },
        { format: null, blank: 2, problem: null },
      ],
    });
  });
});

test('a packed file whose end is missing gives what is there, and the whole one the rest', async () => {
  const context = await importContext();
  const packed = gzipSync(requests(800).join('\n'));
  const cut = await run(context, fileIn(context, 'a.gz', packed.subarray(0, packed.length / 2)));
  expect(cut.files[0]).toMatchObject({ bad: 1, problem: 'the gzip data is cut off: its end is missing' });
  expect(cut.added).toBeGreaterThan(100);
  const whole = await run(context, fileIn(context, 'b.gz', packed));
  expect(whole).toMatchObject({ events: 800, known: cut.added, added: 800 - cut.added });
});

describe('a project with exports', () => {
  const NOW = Date.UTC(2026, 0, 1, 12, 30);

  async function live(model: Model = 'events') {
    const context = await importContext();
    context.clock.set(NOW);
    await context.table.write(await lowerLiveOps(context.table, PROJECT, NOW - 10 * DAY_MS));
    const plan = initialPlan({ interval: 'hour' }, NOW);
    const ran = [{ from: NOW - 10 * DAY_MS, to: Date.UTC(2026, 0, 1, 12), frequency: 'hour' as const }];
    await context.table.write([
      {
        put: {
          ...keys.batchExport('e'),
          ...places.exportOf('o', 1, 'e'),
          id: 'e',
          name: 'To S3',
          model,
          team_id: PROJECT,
          deleted_at: null,
        },
      },
      { put: { ...keys.plan('e'), ...planFields({ ...plan, ran }) } },
    ]);
    const lines = [400, 12, 1].map((days) => jsonLine({ timestamp: NOW - days * DAY_MS }));
    return { context, file: fileIn(context, 'a.jsonl', lines.join('\n')) };
  }

  const hourOf = (days: number): number => Math.floor((NOW - days * DAY_MS) / HOUR_MS) * HOUR_MS;

  const daysAgo = async (context: Context): Promise<number[]> =>
    (await eventsIn(context)).map((event) => (NOW - Date.parse(event._inserted_at)) / DAY_MS);

  test('gets history then, and all else now', async () => {
    const { context, file } = await live();
    const from = hourOf(400);
    const history = { export: 'e', name: 'To S3', from, to: from + HOUR_MS };
    expect(await run(context, file)).toMatchObject({ added: 3, backfills: [history] });
    expect(await daysAgo(context)).toEqual([400, 0, 0]);
  });

  test('gets everything now when asked for', async () => {
    const { context, file } = await live();
    await run(context, file, { arrived: 'now' });
    expect(await daysAgo(context)).toEqual([0, 0, 0]);
  });

  test('is told of no hour of which the schedule has passed only what came before the first of them', async () => {
    const { context, file } = await live();
    const plan = initialPlan({ interval: 'every 5 minutes' }, NOW);
    await context.table.write([{ put: { ...keys.plan('e'), ...planFields(plan) } }]);
    context.clock.advance(MINUTE_MS);
    expect(await run(context, file, { arrived: 'now' })).toMatchObject({ added: 3, backfills: [] });
    expect(plan.next).toBe(NOW);
  });

  test('gets everything then when asked for, and is told which hours need a backfill, as the schedule is past them', async () => {
    const { context, file } = await live();
    const report = await run(context, file, { arrived: 'then' });
    expect(await daysAgo(context)).toEqual([400, 12, 1]);
    const hours = [400, 12, 1].map(hourOf);
    expect(report.backfills).toEqual(hours.map((from) => ({ export: 'e', name: 'To S3', from, to: from + HOUR_MS })));
  });

  describe('is told, once, the hours of an import that did not end as well, when it is repeated', () => {
    const needed = [400, 12, 1].map(hourOf).map((from) => ({ export: 'e', name: 'To S3', from, to: from + HOUR_MS }));

    test('for it was killed before any change', async () => {
      for (let deaths = 1, alive = false; !alive; deaths += 1) {
        const { context, file } = await live();
        const { dying, hasDied } = killableContext(context, deaths);
        await run(dying, file, { arrived: 'then' }).catch(() => {});
        alive = !hasDied();
        const hasEnded = (await context.table.get(keys.importing(PROJECT))) === undefined;
        const isAdded = (await eventsIn(context)).length > 0;
        context.clock.advance(61_000);
        const again = await run(context, file, { arrived: 'then' });
        expect(again.backfills).toEqual(hasEnded && isAdded ? [] : needed);
        expect(await run(context, file, { arrived: 'then' })).toMatchObject({ added: 0, backfills: [] });
      }
    });

    const stoppedAtItsEnd = (context: Awaited<ReturnType<typeof importContext>>) => ({
      ...context,
      table: watchWrites(context.table, (ops) => {
        if (ops.some((op) => 'put' in op && op.put.sk.startsWith('BOOKMARK#'))) throw new Error('stopped');
      }),
    });

    test('for it failed after states of persons were added', async () => {
      const { context } = await live('persons');
      const states = [400, 12, 1].map((days) => {
        const at = NOW - days * DAY_MS;
        const state = { distinct_id: `u${days}`, person_id: randomUUID(), properties: { days }, person_version: at };
        return JSON.stringify({ ...state, _inserted_at: new Date(at).toISOString() });
      });
      const file = fileIn(context, 'states.jsonl', states.join('\n'));
      await expect(run(stoppedAtItsEnd(context), file, { arrived: 'then' })).rejects.toThrow('stopped');
      expect(await run(context, file, { arrived: 'then' })).toMatchObject({ persons: { rows: 0 }, backfills: needed });
      expect((await run(context, file, { arrived: 'then' })).backfills).toEqual([]);
    });

    test('for it failed, or was stopped', async () => {
      const { context, file } = await live();
      await expect(run(stoppedAtItsEnd(context), file, { arrived: 'then' })).rejects.toThrow('stopped');
      expect((await run(context, file, { arrived: 'then' })).backfills).toEqual(needed);
      expect(await context.table.get(keys.importing(PROJECT))).toBeUndefined();
      expect((await run(context, file, { arrived: 'then' })).backfills).toEqual([]);
    });
  });
});

describe('is refused', () => {
  test('for a project that is not there, or was deleted', async () => {
    const context = await importContext();
    const file = fileIn(context, 'a', requestAt(1));
    await expect(run(context, file, { projectId: 99 })).rejects.toThrow('There is no project 99.');
    await context.table.write([{ change: keys.project(PROJECT), set: { deleted_at: 1 } }]);
    await expect(run(context, file)).rejects.toThrow('There is no project 7.');
  });

  test('for a file that is not there, or is a folder, before anything is read', async () => {
    const context = await importContext();
    mkdirSync(join(context.folder, 'sub'));
    const there = fileIn(context, 'a', requestAt(1));
    await expect(run(context, [there, '/nowhere/x.log'])).rejects.toThrow('There is no file /nowhere/x.log.');
    await expect(run(context, [join(there, 'x.log')])).rejects.toThrow(`There is no file ${there}/x.log.`);
    await expect(run(context, [there, join(context.folder, 'sub')])).rejects.toThrow('/sub is not a file.');
    const loop = join(context.folder, 'loop');
    symlinkSync(loop, loop);
    // As of one in a folder that may not be searched.
    await expect(run(context, [there, loop])).rejects.toThrow(
      `ELOOP: too many symbolic links encountered, stat '${loop}'`,
    );
    expect(await eventsIn(context)).toEqual([]);
  });

  test('while another import into the project runs', async () => {
    const context = await importContext();
    const file = fileIn(context, 'a', requests(20).join('\n'));
    const both = await Promise.allSettled([run(context, file), run(context, file)]);
    const [refused] = both.filter(({ status }) => status === 'rejected');
    expect((refused as PromiseRejectedResult).reason).toBeInstanceOf(ImportUnderWay);
    expect(await eventsIn(context)).toHaveLength(20);
  });
});

test('progress is told, up to all bytes', async () => {
  const context = await importContext();
  const files = ['a', 'b'].map((name) => fileIn(context, name, gzipSync(requests(100).join('\n'))));
  const told: { bytes: number; totalBytes: number; events: number }[] = [];
  await run(context, files, { onProgress: (progress) => told.push(progress) });
  expect(told.at(-1)).toMatchObject({ bytes: told[0]?.totalBytes, events: 200, bad: 0 });
});

test('a death before any change loses nothing, and doubles nothing', async () => {
  let deaths = 0;
  for (let alive = false; !alive; deaths += 1) {
    const context = await importContext();
    const file = fileIn(context, 'access.log', [requestAt(3).replace('17/May', '18/May'), ...requests(5)].join('\n'));
    const { dying, hasDied } = killableContext(context, deaths + 1);
    const outcome = await run(dying, file).then(
      () => 'lived',
      (error: Error) => error.message,
    );
    alive = !hasDied();
    expect(outcome).toBe(alive ? 'lived' : 'killed');
    context.clock.advance(61_000);
    const again = await run(context, file);
    expect(again.added + again.known).toBe(6);
    expect(new Set((await eventsIn(context)).map(({ uuid }) => uuid)).size).toBe(6);
    expect(await filesBetween(context.table, PROJECT, 'events', 0, START)).toHaveLength(2);
    const left: string[] = [];
    for await (const { path } of context.lake.list('')) left.push(path);
    expect(left).toHaveLength(2);
  }
  expect(deaths).toBeGreaterThan(8);
});

test('a death before any change keeps no repetition from forgetting answers with a person that the import deletes', async () => {
  const deletion = { event: '$delete_person', distinct_id: 'ada', timestamp: '2015-05-17T00:00:00Z' };
  let deaths = 0;
  for (let isOver = false; !isOver; deaths += 1) {
    const context = await importContext();
    const file = fileIn(context, 'deletion.jsonl', `${JSON.stringify(deletion)}\n`);
    const { dying, hasDied } = killableContext(context, deaths + 1);
    await run(dying, file).catch(() => {});
    isOver = !hasDied();
    context.clock.advance(HOUR_MS);
    await run(context, file);
    expect((await context.table.get(keys.project(PROJECT)))?.answers_forgotten).toBeGreaterThanOrEqual(1);
  }
  expect(deaths).toBeGreaterThan(5);
});

test('an import that fails has forgotten answers with a person whom it had deleted by then', async () => {
  const context = await importContext();
  const timestamp = '2015-05-17T00:00:00Z';
  const records = [
    { event: '$set', distinct_id: 'ada', timestamp, properties: { $set: { plan: 'free' } } },
    { event: '$delete_person', distinct_id: 'ada', timestamp },
    { event: 'clicked', distinct_id: 'bob', timestamp },
  ].map((record) => `${JSON.stringify(record)}\n`);
  const personFiles = () => filesBetween(context.table, PROJECT, 'persons', 0, START + DAY_MS);
  /** It fails when the batch before it is in the lake. */
  const failing = {
    name: 'elsewhere',
    size: 0,
    save: async () => {
      while ((await personFiles()).length === 0) await new Promise((resolve) => setImmediate(resolve));
      throw new Error('it is elsewhere');
    },
  };
  const files = [
    fileIn(context, 'deletion.jsonl', records.slice(0, 2).join('')),
    fileIn(context, 'more.jsonl', records.slice(2).join('')),
    failing,
  ];
  // Batches end by the clock.
  const onProgress = () => context.clock.advance(2 * MINUTE_MS);
  await expect(run(context, files, { onProgress })).rejects.toThrow('it is elsewhere');
  expect((await context.table.get(keys.project(PROJECT)))?.answers_forgotten).toBe(1);
});
