/** What people, and nobody, would write: nothing but a refusal is thrown, and what is accepted runs on any row. */
import * as fc from 'fast-check';
import { literal, openDatabase } from '../../../lib/duckdb/database.ts';
import { textConstant } from '../../../lib/hogql/build.ts';
import { checkedQuery } from '../../../lib/hogql/check.ts';
import { duckdbColumn, duckdbText } from '../../../lib/hogql/duckdb.ts';
import type { Selected } from '../../../lib/hogql/expression.ts';
import { filterCondition } from '../../../lib/hogql/filters.ts';
import { FUNCTION_NAMES } from '../../../lib/hogql/functions.ts';
import { hogqlParser, type Parser } from '../../../lib/hogql/parse.ts';
import { Refusal } from '../../../lib/hogql/refusal.ts';
import type { SelectQuery, Syntax } from '../../../lib/hogql/syntax.ts';
import { schemaOf } from '../../../lib/hogql/text.ts';
import { trinoColumn, trinoText } from '../../../lib/hogql/trino.ts';
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
      fc.record({ node: fc.constantFrom('And', 'Or', 'Array', 'Tuple'), exprs: list }),
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

test('what is accepted runs on any row, and is printed for Athena', async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(syntax, async (expr) => {
      const query = queryOf(expr);
      const [column] = (await unlessRefused(() => checkedQuery(query, EVENTS_TABLE, 'Batch exports').select)) ?? [];
      if (column === undefined) return;
      accepted += 1;
      await run(duckdbColumn(column as Selected, NOW));
      expect(trinoColumn(column as Selected, 'interval_end')).not.toContain('{');
      expect(schemaOf(query).fields).toHaveLength(1);
    }),
    { numRuns: 600 },
  );
  expect(accepted).toBeGreaterThan(20);
});

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
