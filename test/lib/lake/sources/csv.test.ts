import * as fc from 'fast-check';
import { csvFormat, headerProblem } from '../../../../lib/lake/sources/csv.ts';
import type { Line } from '../../../../lib/lake/sources/lines.ts';
import type { SourceRecord } from '../../../../lib/lake/sources/record.ts';
import type { TableMapping } from '../../../../lib/lake/sources/table-rows.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const lineOf = (text: string, n: number): Line => ({ number: n + 1, text, encoding: 'utf8' });

/** All records but the header, of lines that come so many at a time. */
function read(text: string, mapping: TableMapping = {}, atATime = 3): SourceRecord[] {
  const lines = text.split('\n').map(lineOf);
  const format = csvFormat(mapping);
  const records: SourceRecord[] = [];
  for (let at = 0; at < lines.length; at += atATime) records.push(...format.take(lines.slice(at, at + atATime)));
  records.push(...format.end());
  if (format.problem() !== undefined) throw new Error(format.problem());
  return records.slice(1);
}

/** An event's fields, a reason, or null. */
const said = ({ content, line }: SourceRecord): unknown =>
  content === null || typeof content === 'string'
    ? [line.number, content]
    : [line.number, content.event, content.distinctId, JSON.parse(content.properties)];

const TIME = '2026-01-02T03:04:05Z';

test('columns are fields by their names, and properties else', () => {
  const text = `event,distinct_id,timestamp,plan,seats,trial,zip,note
paid,ada,${TIME},team,3,true,01234,"said ""hi"", twice"
paid,bob,1767323045,,1.50,false,123456789012345678901,`;
  expect(read(text).map(said)).toEqual([
    [2, 'paid', 'ada', { plan: 'team', seats: 3, trial: true, zip: '01234', note: 'said "hi", twice' }],
    [3, 'paid', 'bob', { seats: 1.5, trial: false, zip: Number('123456789012345678901') }],
  ]);
  const [, bob] = read(text);
  expect(bob?.content).toMatchObject({ timestamp: 1_767_323_045_000_000 });
  expect(JSON.stringify(bob?.content)).toContain('123456789012345678901');
});

test('eight digits that are a day are that day where an instant is read, and else a number', () => {
  const text = `event,distinct_id,timestamp,day
paid,ada,20261101,20261101
paid,bob,20261101.0,
paid,eve,99999999,`;
  const [ada, bob, eve] = read(text).map(({ content }) => content);
  expect(ada).toMatchObject({ timestamp: Date.UTC(2026, 10, 1) * 1000, properties: '{"day":20261101}' });
  expect(bob).toMatchObject({ timestamp: Date.UTC(2026, 10, 1) * 1000 });
  expect(eve).toMatchObject({ timestamp: 99_999_999_000_000 });
});

test('eight digits in the form of a day that there is not are refused, and no second of 1970', () => {
  const days = ['20261301', '20261131', '20260001', '20261131.0'];
  const text = `event,distinct_id,timestamp\n${days.map((day) => `paid,ada,${day}`).join('\n')}`;
  for (const { content } of read(text)) expect(content).toMatch(/^timestamp is not an instant between /);
});

test('a mapping says which column is which, and what all rows have', () => {
  const text = `Who;When;Plan;properties\nada;${TIME};team;"{""a"":1}"`;
  const columns = { distinct_id: 'Who', timestamp: 'When', 'properties.tier': 'Plan' };
  const values = { event: 'paid', 'properties.source': 'shop', 'properties.batch': '7' };
  expect(read(text, { columns, values }).map(said)).toEqual([
    [2, 'paid', 'ada', { a: 1, tier: 'team', source: 'shop', batch: 7 }],
  ]);
});

test('with a column of properties, other columns are left out', () => {
  const text = `event,distinct_id,timestamp,properties,team_id\npaid,ada,${TIME},"{""a"":1}",7`;
  expect(read(text).map(said)).toEqual([[2, 'paid', 'ada', { a: 1 }]]);
});

test('a column that stands twice keeps the file out, unless nothing is read of it', () => {
  const twice = `event,distinct_id,timestamp,plan,plan\npaid,ada,${TIME},team,free`;
  expect(() => read(twice)).toThrow('it has several columns plan');
  expect(() => read(twice, { columns: { 'properties.tier': 'plan' } })).toThrow('it has several columns plan');
  expect(read(twice, { values: { 'properties.plan': 'pro' } }).map(said)).toEqual([
    [2, 'paid', 'ada', { plan: 'pro' }],
  ]);
  // It is told what is wrong with it, and not that it is no table.
  expect(headerProblem(lineOf('event,distinct_id,timestamp,plan,plan', 0), {})).toBeUndefined();
  const unread = `event,distinct_id,timestamp,properties,plan,plan\npaid,ada,${TIME},{},team,free`;
  expect(read(unread).map(said)).toEqual([[2, 'paid', 'ada', {}]]);
});

test('of a hundred thousand columns it is told soon that one stands twice', () => {
  const names = Array.from({ length: 100_000 }, (_, n) => `c${n}`).join(',');
  // To look through all of them for each takes minutes.
  expect(() => read(`event,distinct_id,timestamp,${names},c99999`)).toThrow('it has several columns c99999');
}, 60_000);

test.each([
  ['a,b,c', {}, 'no column says what distinct_id, event, timestamp is; its columns are a, b, c'],
  ['event,distinct_id', {}, 'no column says what timestamp is'],
  ['event,distinct_id,timestamp', { columns: { event: 'Action' } }, 'it has no column Action'],
  ['"event', {}, 'no header'],
])('a header %j that does not say what an event is keeps the file out', (header, mapping, problem) => {
  expect(() => read(`${header}\n1,2,3`, mapping)).toThrow(problem);
});

test('a table is told by its header', () => {
  expect(headerProblem(lineOf('event\tdistinct_id\ttimestamp', 0), {})).toBeUndefined();
  const mapping = { columns: { distinct_id: 'who', timestamp: 'when' }, values: { event: 'x' } };
  expect(headerProblem(lineOf('who,when', 0), mapping)).toBeUndefined();
  expect(headerProblem(lineOf('hello, world', 0), {})).toBeDefined();
});

describe('a bad record', () => {
  const header = 'event,distinct_id,timestamp,note';
  const good = (who: string): string => `paid,${who},${TIME},x`;

  test.each([
    ['with too many fields', `paid,ada,${TIME},x,y`, '5 fields, and the header has 4'],
    ['with too few', 'paid,ada', '2 fields, and the header has 4'],
    ['with a quote in a field', `paid,ada,${TIME},5" disk"`, 'a quote within a field that is not quoted'],
    [
      'with a single quote in a quoted field',
      `paid,ada,${TIME},"a"b"",`,
      'a quote within a quoted field that is not doubled',
    ],
    ['that is no event', ',ada,2026-01-02,x', 'no event'],
  ])('%s is named by its line, and the others are read', (_, bad, reason) => {
    for (const atATime of [1, 2, 10])
      expect(read([header, good('ada'), bad, good('bob')].join('\n'), {}, atATime).map(said)).toEqual([
        [2, 'paid', 'ada', { note: 'x' }],
        [3, reason],
        [4, 'paid', 'bob', { note: 'x' }],
      ]);
  });

  test('whose quote is never closed costs its line only', () => {
    const text = [header, `paid,ada,${TIME},"open`, ...Array.from({ length: 2500 }, (_, n) => good(`u${n}`))].join(
      '\n',
    );
    const records = read(text, {}, 100);
    expect(said(records[0] as SourceRecord)).toEqual([2, 'a quote is not closed']);
    expect(records.slice(1).filter(({ content }) => typeof content === 'object' && content !== null)).toHaveLength(
      2500,
    );
  });
});

test('records may hold line ends, delimiters and quotes: what is written is read, however it is cut', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', ' ', ',', ';', '"', '\n', 'é', '1') });
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  fc.assert(
    fc.property(fc.array(fc.record({ who: cell, note: cell })), fc.integer({ min: 1, max: 9 }), (rows, atATime) => {
      const lines = rows.map(({ who, note }) => `paid,${quoted(`id ${who}`)},${TIME},${quoted(note)}`);
      const records = read(['event,distinct_id,timestamp,note', ...lines].join('\n'), {}, atATime);
      expect(records.map(said).map((all) => (all as unknown[]).slice(2))).toEqual(
        rows.map(({ who, note }) => [
          `id ${who}`,
          note === '' ? {} : { note: /^-?(0|[1-9]\d*)$/.test(note) ? Number(note) : note },
        ]),
      );
    }),
  );
});

test('whatever the lines hold, each is a record, part of one, or bad', () => {
  const line = fc.string({ unit: fc.constantFrom('a', ',', '"', ' ', '1', '\r', '\\') });
  fc.assert(
    fc.property(fc.array(line), fc.integer({ min: 1, max: 9 }), (lines, atATime) => {
      const records = read(['event,distinct_id,timestamp', ...lines].join('\n'), {}, atATime);
      const inOrder = records.map(({ line: { number } }) => number);
      expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b));
      expect(records.map(({ line: { text } }) => text).join('\n')).toBe(lines.join('\n'));
    }),
    { numRuns: propertyRuns(500) },
  );
});
