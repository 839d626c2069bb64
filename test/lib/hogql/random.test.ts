/** What people, and nobody, would write: nothing but a refusal is thrown, and what is accepted runs on any row. */
import * as fc from 'fast-check';
import { literal, openDatabase } from '../../../lib/duckdb/database.ts';
import { checkedQuery } from '../../../lib/exports/query/events-query.ts';
import { filterCondition } from '../../../lib/exports/query/filters.ts';
import { AGGREGATE_NAMES } from '../../../lib/hogql/aggregates.ts';
import { textConstant } from '../../../lib/hogql/build.ts';
import { duckdbColumn, duckdbText } from '../../../lib/hogql/duckdb.ts';
import { duckdbSelect } from '../../../lib/hogql/duckdb-select.ts';
import type { Selected } from '../../../lib/hogql/expression.ts';
import { FUNCTION_NAMES } from '../../../lib/hogql/functions.ts';
import { hogqlParser, type Parser } from '../../../lib/hogql/parse.ts';
import { Refusal } from '../../../lib/hogql/refusal.ts';
import { checkedSelect } from '../../../lib/hogql/select/select.ts';
import type { TableFields } from '../../../lib/hogql/select/whole.ts';
import type { SelectQuery, Syntax } from '../../../lib/hogql/syntax.ts';
import { hogqlText, schemaOf } from '../../../lib/hogql/text.ts';
import { onlyTellsApart } from '../../../lib/hogql/told-apart.ts';
import { trinoColumn, trinoText } from '../../../lib/hogql/trino.ts';
import { trinoSelect } from '../../../lib/hogql/trino-select.ts';
import { WINDOW_NAMES } from '../../../lib/hogql/windows.ts';
import { EVENTS_TABLE } from '../../../lib/lake/events-table.ts';
import { EVENT_COLUMNS } from '../../../lib/lake/schema.ts';
import { anyText } from '../../support/any-text.ts';
import { onEnd } from '../../support/on-end.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { EVENT } from './constructs.ts';

const parser = hogqlParser();
const NOW = 1_767_794_400_000_000n;

/** What the work gives; undefined: it was refused. */
async function unlessRefused<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const queryOf = (expr: Syntax): SelectQuery => ({
  node: 'SelectQuery',
  select: [{ node: 'Alias', alias: 'c', expr }],
  select_from: { node: 'JoinExpr', table: { node: 'Field', chain: ['events'] }, alias: null },
});

/** Rows as no batch should hold them. */
const ODD: readonly Readonly<Record<string, string | number | bigint | null>>[] = [
  EVENT,
  {},
  ...['not json', '', '[]', 'null', '"text"', '{"a":[1,{"b":"\\u0000"}],"b":{},"c":1e400}', '{"a":"2026-13-45"}'].map(
    (properties) => ({ properties, person_properties: properties, event: properties }),
  ),
  { event: 'ä😀\n\0', timestamp_us: 253_402_300_799_999_999n, created_us: -62_135_596_800_000_000n },
  { event: '9223372036854775807', timestamp_us: 0n, inserted_us: 9_007_199_254_740_993n },
];

/** Runs an expression's SQL over the odd rows. */
let run: (sql: string) => Promise<unknown[]>;
let runAll: (sql: string) => Promise<unknown[][]>;
beforeAll(async () => {
  const database = await openDatabase({ threads: 1, places: ['/'] });
  const connection = await database.connect();
  onEnd(() => {
    connection.closeSync();
    database.closeSync();
  });
  await connection.run(`CREATE TABLE events (${EVENT_COLUMNS.map(({ name, type }) => `${name} ${type}`).join(', ')})`);
  const value = (one: string | number | bigint | null | undefined): string =>
    typeof one === 'string' ? literal(one.replaceAll('\0', '')) : String(one ?? 'NULL');
  for (const row of ODD)
    await connection.run(`INSERT INTO events VALUES (${EVENT_COLUMNS.map(({ name }) => value(row[name])).join(', ')})`);
  await connection.run(
    "CREATE TABLE others AS SELECT unnest(['a', '', NULL]) AS event, unnest([1e308, NULL, 'nan'::DOUBLE]) AS c, ['a', NULL] AS x",
  );
  runAll = async (sql) => (await connection.runAndReadAll(sql)).getRows();
  run = async (sql) => (await connection.runAndReadAll(`SELECT ${sql} FROM events`)).getRows().map(([one]) => one);
});

const field = (...chain: (string | number)[]): Syntax => ({ node: 'Field', chain });
const constant = (value: string | number | boolean | null): Syntax => ({
  node: 'Constant',
  value: typeof value === 'number' ? { number: String(value) } : value,
});
const call = (name: string, args: readonly Syntax[]): Syntax => ({ node: 'Call', name, args });

const leaf = fc.oneof(
  fc.constantFrom(
    field('event'),
    field('properties'),
    field('timestamp'),
    field('team_id'),
    field('properties', 'a', 1, 'b'),
    field('properties', 'c'),
    field('x'),
    call('now', []),
    call('toFloat', [field('properties', 'c')]),
    call('toDateTime', [field('event')]),
    call('splitByChar', [constant(','), field('event')]),
  ),
  fc.constantFrom('a', '%', 'day', '[a-z]+', 'UTC', '2026-01-05', 1, -2, 0, 2.5, true, null).map(constant),
);
const operators = fc.constantFrom('==', '!=', '<', '>=', 'like', 'ilike', '=~', 'in', 'not in');
/** Syntax of any types, as the parser gives it. */
const { syntax } = fc.letrec<{ syntax: Syntax }>((tie) => {
  const one = tie('syntax');
  const list = fc.array(one, { minLength: 1, maxLength: 3 });
  const function_ = fc.tuple(fc.constantFrom(...FUNCTION_NAMES), list).map(([name, args]) => call(name, args));
  return {
    syntax: fc.oneof(
      { maxDepth: 4 },
      leaf,
      function_,
      function_,
      fc.record({
        node: fc.constant('ArithmeticOperation'),
        op: fc.constantFrom('+', '-', '*', '/', '%'),
        left: one,
        right: one,
      }),
      fc.record({ node: fc.constant('CompareOperation'), op: operators, left: one, right: one }),
      fc.record({ node: fc.constant('BetweenExpr'), expr: one, low: one, high: one, negated: fc.boolean() }),
      fc.record({ node: fc.constantFrom('Array', 'Tuple'), exprs: list }),
      fc.record({ node: fc.constantFrom('And', 'Or'), exprs: fc.array(one, { minLength: 2, maxLength: 3 }) }),
      fc.record({ node: fc.constant('ArrayAccess'), array: one, property: one }),
      fc.record({
        node: fc.constant('TypeCast'),
        expr: one,
        type_name: fc.constantFrom('int', 'float', 'string', 'bool', 'date', 'datetime', 'uuid'),
      }),
      fc
        .tuple(fc.constantFrom('arrayMap', 'arrayFilter', 'arrayExists'), one, one)
        .map(([name, expr, of]) => call(name, [{ node: 'Lambda', args: ['x'], expr }, of])),
    ),
  };
});

/** Holds what is selected of so many random expressions, of those that are accepted. Returns how many were. */
async function ofAccepted(numRuns: number, hold: (column: Selected, query: SelectQuery) => Promise<void>) {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(syntax, async (expr) => {
      const query = queryOf(expr);
      const [column] = (await unlessRefused(() => checkedQuery(query, EVENTS_TABLE, 'Batch exports').select)) ?? [];
      if (column === undefined) return;
      accepted += 1;
      await hold(column as Selected, query);
    }),
    { numRuns },
  );
  return accepted;
}

test('what is accepted runs on any row, and is printed for Athena', async () => {
  const accepted = await ofAccepted(600, async (column, query) => {
    await run(duckdbColumn(column, NOW));
    expect(trinoColumn(column, 'interval_end')).not.toContain('{');
    expect(schemaOf(query).fields).toHaveLength(1);
  });
  expect(accepted).toBeGreaterThan(20);
});

test('what is accepted means the same when it is sent again as its normal form', async () => {
  const accepted = await ofAccepted(200, async (column, query) => {
    const again = await parser.query(schemaOf(query).hogql_query);
    const [read] = checkedQuery(again, EVENTS_TABLE, 'Batch exports').select;
    expect(await run(duckdbColumn(read as Selected, NOW))).toEqual(await run(duckdbColumn(column, NOW)));
  });
  expect(accepted).toBeGreaterThan(10);
});

const rarely = <T>(one: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: one });
const condition = fc.constantFrom(
  call('equals', [field('a', 'event'), constant('a')]),
  call('greater', [call('now', []), constant('2026-01-01')]),
  call('notEmpty', [field('a', 'event')]),
);
/** Syntax that has a type in most places; rarely any. */
const sound = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom(
      field('a', 'event'),
      field('a', 'event'),
      field('a', 'event'),
      field('c0'),
      call('toFloat', [field('a', 'event')]),
      call('length', [field('a', 'event')]),
      call('now', []),
      call('toStartOfDay', [call('now', [])]),
      call('toDateTime', [field('a', 'event')]),
      call('equals', [field('a', 'event'), constant('a')]),
      call('splitByChar', [constant(','), field('a', 'event')]),
      constant(1),
      call('plus', [
        { node: 'Constant', value: { number: '9223372036854775807' } },
        call('length', [field('a', 'event')]),
      ]),
    ),
  },
  { weight: 1, arbitrary: syntax },
);
const order = fc.record({ node: fc.constant('OrderExpr'), expr: sound, order: fc.constantFrom('ASC', 'DESC') });
const aggregate = fc
  .tuple(
    fc.constantFrom(...AGGREGATE_NAMES, ...AGGREGATE_NAMES.map((name) => `${name}If`)),
    fc.array(sound, { minLength: 1, maxLength: 2 }),
    fc.constantFrom(null, null, [constant(0.25)]),
    fc.constantFrom(false, false, true),
  )
  .map(([name, args, params, distinct]) => ({ ...call(name, args), params, distinct }));
const frameEnd = fc.record({
  frame_type: fc.constantFrom('PRECEDING', 'FOLLOWING', 'CURRENT ROW'),
  frame_value: fc.constantFrom(null, 0, 1, Number.MAX_SAFE_INTEGER),
});
const window = fc
  .tuple(
    fc.constantFrom(...AGGREGATE_NAMES, ...WINDOW_NAMES, ...WINDOW_NAMES),
    fc.array(sound, { maxLength: 2 }),
    fc.array(sound, { maxLength: 2 }),
    fc.array(order, { maxLength: 1 }),
    rarely(fc.tuple(fc.constantFrom('ROWS', 'RANGE'), frameEnd, frameEnd)),
  )
  .map(([name, exprs, partition_by, order_by, frame]) => ({
    node: 'WindowFunction',
    name,
    args: null,
    exprs,
    over_expr: {
      node: 'WindowExpr',
      partition_by,
      order_by,
      ...(frame && { frame_method: frame[0], frame_start: frame[1], frame_end: frame[2] }),
    },
  }));
const column = fc.oneof(
  syntax,
  aggregate,
  window,
  fc.constant(call('arrayJoin', [call('splitByChar', [constant(','), field('a', 'event')])])),
  fc.constantFrom(field('a', 'event'), field('event')),
);
/** A SELECT of any parts, over the table or over another. */
const { select: wholeQuery } = fc.letrec<{ select: Syntax; from: Syntax; join: object }>((tie) => ({
  from: fc.oneof({ maxDepth: 2 }, fc.constantFrom(field('events'), field('others')), tie('select')),
  join: fc.record({
    node: fc.constant('JoinExpr'),
    table: tie('from'),
    alias: fc.constantFrom('b', 'b', null),
    join_type: fc.constantFrom('JOIN', 'LEFT JOIN'),
    constraint: condition.map((expr) => ({ constraint_type: 'ON', expr })),
  }),
  select: fc
    .record({
      select: fc.array(column, { minLength: 1, maxLength: 2 }),
      table: tie('from'),
      next_join: rarely(tie('join')),
      where: rarely(fc.oneof(condition, sound)),
      group_by: fc.oneof(fc.constant([]), fc.array(sound, { minLength: 1, maxLength: 2 })),
      having: rarely(fc.constant(call('greater', [call('count', []), constant(0)]))),
      order_by: fc.array(order, { maxLength: 1 }),
      distinct: fc.boolean(),
      limit: rarely(fc.constant(constant(3))),
      limit_by: rarely(sound.map((expr) => ({ n: constant(1), offset_value: null, exprs: [expr] }))),
    })
    .map(({ select, table, next_join, ...rest }) => ({
      node: 'SelectQuery',
      ...rest,
      select: select.map((expr, n) => ({ node: 'Alias', alias: n === 0 ? 'event' : 'c0', expr })),
      select_from: { node: 'JoinExpr', table, alias: 'a', next_join },
    })),
}));

const OTHERS = new Map([
  ['event', { column: 'event', type: 'text' as const }],
  ['c', { column: 'c', type: 'float' as const }],
  ['x', { column: 'x', type: 'texts' as const }],
]);

const NUMBERED = '(SELECT * REPLACE (length(event) AS event) FROM events)';

test.each(['UTC', 'America/St_Johns'])(
  'whole SELECTs that are accepted run on any rows, by the clock of %s',
  async (zone) => {
    const tables = new Map<string, TableFields>([
      ['events', EVENTS_TABLE],
      ['others', OTHERS],
    ]);
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(wholeQuery, async (query) => {
        const found = await unlessRefused(() => checkedSelect(query, { tables, zone, weekStartDay: 1 }));
        hogqlText(query);
        if (found === undefined) return;
        accepted += 1;
        const rows = await runAll(duckdbSelect(found.query, (table) => table, NOW));
        expect(rows.every((row) => row.length === found.columns.length)).toBe(true);
        trinoSelect(found.query, (table) => table, NOW);
        if (onlyTellsApart(found.query, 'events', 'event'))
          await runAll(duckdbSelect(found.query, (table) => (table === 'events' ? NUMBERED : table), NOW));
      }),
      { numRuns: 2000 },
    );
    expect(accepted).toBeGreaterThan(20);
  },
);

const words = fc.constantFrom(
  ...'SELECT FROM events WHERE ( ) [ ] { } , . * \' " ` \\ -- /* */ a 1 1e999 ? : -> __proto__ constructor <a/> ; AS x 😀 \0'.split(
    ' ',
  ),
);
const anything = fc.oneof(
  anyText({ maxLength: 40 }),
  fc.array(words, { maxLength: 20 }).map((all) => all.join(' ')),
);

test('nothing but a refusal is thrown at any text', async () => {
  await fc.assert(
    fc.asyncProperty(anything, async (source) => {
      const select = await unlessRefused(
        async () => checkedQuery(await parser.query(source), EVENTS_TABLE, 'Batch exports').select,
      );
      expect(select?.length).not.toBe(0);
    }),
    { numRuns: propertyRuns(12), endOnFailure: true },
  );
});

const filter = fc.record(
  {
    type: fc.constantFrom('event', 'person', 'hogql', '__proto__', 3),
    key: fc.oneof(anyText(), fc.constantFrom('a', '__proto__', 'constructor', null)),
    operator: fc.constantFrom(
      'exact',
      'is_not',
      'icontains',
      'regex',
      'gt',
      'between',
      'in',
      'is_set',
      'is_date_after',
      'toString',
      7,
    ),
    value: fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom('2026-01-05', 'a(', '1', ['a', 2, true], [1, 3])),
  },
  { requiredKeys: [] },
);
const noParser: Parser = {
  query: () => Promise.reject(new Refusal('')),
  expressions: () => Promise.reject(new Refusal('')),
};

test('filters of any form are refused, or run on any row', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.array(filter, { maxLength: 2 }), fc.jsonValue()), async (filters) => {
      const condition = await unlessRefused(() => filterCondition(noParser, EVENTS_TABLE, filters, 'Batch exports'));
      if (!condition) return;
      expect((await run(duckdbText(condition, NOW))).every((one) => typeof one === 'boolean')).toBe(true);
      trinoText(condition, 'interval_end');
    }),
    { numRuns: propertyRuns(300) },
  );
});

/** What Trino reads in a literal; undefined: it does not end where it should. */
function readByTrino(sql: string): string | undefined {
  if (/^'(?:[^']|'')*'$/.test(sql)) return sql.slice(1, -1).replaceAll("''", "'");
  if (!/^U&'(?:[^'\\]|''|\\\\|\\[0-9A-F]{4})*'$/.test(sql)) return undefined;
  return sql
    .slice(3, -1)
    .replaceAll("''", "'")
    .replace(/\\(\\|[0-9A-F]{4})/g, (_, code: string) =>
      code === '\\' ? code : String.fromCharCode(Number.parseInt(code, 16)),
    );
}

const pieces = fc.array(
  fc.oneof(
    fc.constantFrom("'", "''", '\\', '{', '{try}', '}', '"', '--', ';', '\n', '%'),
    fc.string({ unit: 'grapheme' }),
  ),
);

test('a constant ends where it should, and is what it was, in both dialects', async () => {
  await fc.assert(
    fc.asyncProperty(pieces, async (all) => {
      const source = all.join('').replaceAll('\0', '');
      const [found] = await run(duckdbText(textConstant(source), NOW));
      expect(found).toBe(source);
      const printed = trinoText(textConstant(source), 'interval_end');
      expect(readByTrino(printed)).toBe(source);
      expect(printed).not.toContain('{');
    }),
    { numRuns: propertyRuns(200) },
  );
});
