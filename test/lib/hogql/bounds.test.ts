/** What one query may cost: to parse, to compile, and to run. Steps and lengths are counted, no time is measured. */
import * as fc from 'fast-check';
import { literal, openDatabase } from '../../../lib/duckdb/database.ts';
import { checkedCondition, checkedQuery } from '../../../lib/exports/query/events-query.ts';
import { duckdbColumn, duckdbText } from '../../../lib/hogql/duckdb.ts';
import type { Selected } from '../../../lib/hogql/expression.ts';
import { Refusal } from '../../../lib/hogql/refusal.ts';
import type { SelectQuery, Syntax } from '../../../lib/hogql/syntax.ts';
import { checkTokens } from '../../../lib/hogql/tokens.ts';
import { trinoText } from '../../../lib/hogql/trino.ts';
import { EVENTS_TABLE } from '../../../lib/lake/events-table.ts';
import { EVENT_COLUMNS } from '../../../lib/lake/schema.ts';
import { onEnd } from '../../support/on-end.ts';
import { parser } from '../../support/parser.ts';
import { propertyRuns } from '../../support/property-runs.ts';

jest.setTimeout(60_000);

const NOW = 1_767_794_400_000_000n;

const checked = (syntax: Syntax) => checkedQuery(syntax, EVENTS_TABLE, 'Batch exports');
const refusalOf = (work: () => unknown): string | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
};
/** The refusal of each expression by itself; undefined: it is accepted. */
async function refusalsOf(expressions: readonly string[]): Promise<(string | undefined)[]> {
  const list = expressions.map((one, n) => `${one} AS c${n}`).join(', ');
  const { select } = (await parser.query(`SELECT ${list} FROM events`)) as unknown as SelectQuery;
  return select.map((one) => refusalOf(() => checked(queryOf([one]))));
}

const field = (...chain: string[]): Syntax => ({ node: 'Field', chain });
const constant = (value: string | number): Syntax => ({
  node: 'Constant',
  value: typeof value === 'number' ? { number: String(value) } : value,
});
const call = (name: string, ...args: readonly Syntax[]): Syntax => ({ node: 'Call', name, args });
const alias = (name: string, expr: Syntax): Syntax => ({ node: 'Alias', alias: name, expr });
const lambda = (name: string, expr: Syntax): Syntax => ({ node: 'Lambda', args: [name], expr });
const queryOf = (select: readonly Syntax[]): SelectQuery => ({
  node: 'SelectQuery',
  select,
  select_from: { node: 'JoinExpr', table: field('events'), alias: null },
});

const ROW = 'a<&'.repeat(60);
let lengthOf: (sql: string) => Promise<number>;
beforeAll(async () => {
  const database = await openDatabase({ threads: 1 });
  const connection = await database.connect();
  onEnd(() => {
    connection.closeSync();
    database.closeSync();
  });
  await connection.run(`CREATE TABLE events (${EVENT_COLUMNS.map(({ name, type }) => `${name} ${type}`).join(', ')})`);
  await connection.run(`INSERT INTO events (event) VALUES (${literal(ROW)})`);
  lengthOf = async (sql) => {
    const { 0: row = [] } = (
      await connection.runAndReadAll(`SELECT length(CAST(${sql} AS VARCHAR)) FROM events`)
    ).getRows();
    return Number(row[0] ?? 0);
  };
});

describe('compiling', () => {
  /** How often the nodes of a query are looked at while it is checked, however that ends. */
  function visitsOf(query: SelectQuery): number {
    let visits = 0;
    const watched = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(watched);
      if (typeof value !== 'object' || value === null) return value;
      const entries = Object.entries(value).map(([key, below]) => [key, watched(below)] as const);
      const { node, ...rest } = Object.fromEntries(entries);
      if (node === undefined) return rest;
      return Object.defineProperty(rest, 'node', { enumerable: true, get: () => ((visits += 1), node) });
    };
    refusalOf(() => checked(watched(query) as Syntax));
    return visits;
  }
  const nodesOf = (query: SelectQuery): number => JSON.stringify(query).split('"node"').length - 1;

  test('an alias is built once, however often it is named', () => {
    const chain = (of: (before: Syntax) => Syntax) =>
      queryOf([
        alias('a0', field('event')),
        ...Array.from({ length: 30 }, (_, n) => alias(`a${n + 1}`, of(field(`a${n}`)))),
      ]);
    for (const query of [
      chain((before) => call('toString', before, before)),
      chain((before) => call('position', before, before)),
      chain((before) => call('if', call('empty', before), constant('a'), constant('b'))),
      chain((before) => call('concat', before, before)),
    ])
      expect(visitsOf(query)).toBeLessThan(20 * nodesOf(query));
  });

  test('ranges of ranges are written once, however deep they are', async () => {
    const nested = (depth: number): Syntax =>
      depth === 0 ? call('length', field('event')) : call('length', call('range', nested(depth - 1), constant(50)));
    const [{ expression }] = checked(queryOf([alias('deep', nested(10))])).select as [Selected];
    for (const text of [duckdbText(expression, NOW), trinoText(expression, 'interval_end')])
      expect(text.length).toBeLessThan(10 * 1000);
  });

  const names = ['a0', 'a1', 'a2', 'a3', 'a4', 'x', 'event', 'properties'];
  const { one } = fc.letrec<{ one: Syntax }>((tie) => ({
    one: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(...names).map((name) => field(name)),
      fc.constantFrom<string | number>('a', ',', 1, 2).map(constant),
      fc
        .tuple(
          fc.constantFrom(
            'concat',
            'toString',
            'replaceAll',
            'if',
            'coalesce',
            'splitByChar',
            'least',
            'equals',
            'left',
          ),
          fc.array(tie('one'), { minLength: 1, maxLength: 4 }),
        )
        .map(([name, args]) => call(name, ...args)),
      fc
        .record({ expr: tie('one'), low: tie('one'), high: tie('one') })
        .map((parts) => ({ node: 'BetweenExpr', negated: false, ...parts })),
      fc
        .tuple(fc.constantFrom('arrayMap', 'arrayFilter'), tie('one'), tie('one'))
        .map(([name, body, list]) => call(name, lambda('x', body), list)),
    ),
  }));

  test('takes steps in proportion to the text, whatever the query is', () => {
    fc.assert(
      fc.property(fc.array(one, { minLength: 5, maxLength: 5 }), (all) => {
        const query = queryOf(all.map((expr, n) => alias(`a${n}`, expr)));
        expect(visitsOf(query)).toBeLessThan(20 * nodesOf(query));
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  test('a tree that is too deep to be walked is refused', () => {
    const deep = Array.from({ length: 30_000 }).reduce<Syntax>((found) => call('assumeNotNull', found), field('event'));
    expect(refusalOf(() => checked(queryOf([alias('a', deep)])))).toBe('The query is too complex');
  });

  test('what is written once and named often counts as often as it is printed', () => {
    const long = alias('a', constant('x'.repeat(10_000)));
    const many = alias('b', call('concat', ...Array.from({ length: 9 }, () => field('a'))));
    expect(refusalOf(() => checked(queryOf([long, many])))).toBe('The query is too complex');
    const made = alias('a', call('replaceAll', constant('x'.repeat(100)), constant('x'), constant('y'.repeat(90))));
    const used = Array.from({ length: 20 }, (_, n) => alias(`b${n}`, call('concat', field('event'), field('a'))));
    expect(refusalOf(() => checked(queryOf([made, ...used])))).toBe('The query is too complex');
  });
});

test('an argument that would not be used is refused', async () => {
  const refusals = await refusalsOf([
    'toString(event, event)',
    "toString(toDate(timestamp), 'Asia/Tokyo')",
    "toDate(event, 'Asia/Tokyo')",
    "toStartOfMonth(toDate(timestamp), 'Asia/Tokyo')",
    "dateDiff('day', toDate(timestamp), toDate(created_at), 'Asia/Tokyo')",
    'now64(event)',
  ]);
  expect(refusals).toEqual([
    "toString() takes a time zone beside a time only, as in toString(timestamp, 'Asia/Tokyo')",
    "toString() takes a time zone beside a time only, as in toString(timestamp, 'Asia/Tokyo')",
    "toDate() takes a time zone beside a time only, as in toDate(timestamp, 'Asia/Tokyo')",
    "toStartOfMonth() takes a time zone beside a time only, as in toStartOfMonth(timestamp, 'Asia/Tokyo')",
    'dateDiff() of two dates takes no time zone',
    'Argument 1 of now64() must be a constant from 0 to 9',
  ]);
});

test('the time zone of one query is not that of the next', async () => {
  const [plain, moved] = (await parser.expressions([
    'toHour(timestamp) = 1',
    "toHour(toDateTime(timestamp, 'Asia/Tokyo')) = 1",
  ])) as [Syntax, Syntax];
  const text = (syntax: Syntax) => duckdbText(checkedCondition(syntax, EVENTS_TABLE, 'Batch exports'), NOW);
  const before = text(plain);
  expect(text(moved)).toContain('Asia/Tokyo');
  expect(text(plain)).toBe(before);
});

describe('texts that grow', () => {
  const TOO_LONG = expect.stringContaining('texts that may be more than 100 times as long as the event');
  const nested = (times: number, of: (inner: string) => string, from = 'event'): string =>
    Array.from({ length: times }).reduce<string>(of, from);

  test('are refused where replacements, copies and lists multiply', async () => {
    const hostile = [
      nested(12, (inner) => `replaceAll(${inner}, 'a', 'aa')`),
      nested(3, (inner) => `replaceRegexpAll(${inner}, 'b*', 'aaaaaaaaaa')`),
      nested(4, (inner) => `replaceRegexpAll(${inner}, '(.)', '\\\\1\\\\1\\\\1\\\\1')`),
      nested(4, (inner) => `arrayStringConcat(splitByChar('a', ${inner}), 'aaaaaaaaaa')`),
      `replaceAll(event, 'a', '${'b'.repeat(300)}')`,
      nested(6, (inner) => `replaceAll(${inner}, 'a', 'aaaaaaaaaa')`, `'a'`),
      "arrayMap(x -> concat(x, left(event, 500)), splitByChar(',', event))",
    ];
    expect(await refusalsOf(hostile)).toEqual(hostile.map(() => TOO_LONG));
    // Neither what JavaScript takes for a pattern, nor what it could not hold.
    const replaced = (...all: (readonly [string, string])[]) =>
      all.reduce<Syntax>((text, [from, by]) => call('replaceAll', text, constant(from), constant(by)), field('event'));
    const refusal = (text: Syntax) => refusalOf(() => checked(queryOf([alias('a', text)])));
    expect(refusal(replaced(['a', 'b'.repeat(90)], ['b', "$'$'$'$'"]))).toEqual(TOO_LONG);
    const long = (letter: string) => letter.repeat(5000);
    expect(refusal(replaced(['a', long('b')], ['b', long('c')], ['c', long('d')]))).toEqual(TOO_LONG);
    const ofElement = call(
      'replaceAll',
      call('replaceAll', field('x'), constant('a'), constant(long('b'))),
      constant('b'),
      constant(long('c')),
    );
    expect(
      refusal(call('arrayMap', lambda('x', ofElement), call('splitByChar', constant(','), field('event')))),
    ).toEqual(TOO_LONG);
    const doubled = Array.from({ length: 9 }).reduce<Syntax>((text) => call('concat', text, text), field('event'));
    expect(refusalOf(() => checked(queryOf([alias('a', doubled)])))).toEqual(TOO_LONG);
  });

  test('are refused where one text of an event is put into each piece of another', async () => {
    const [replaced, mapped] = await refusalsOf([
      "replaceAll(event, 'a', distinct_id)",
      "arrayMap(x -> concat(x, event), splitByChar(',', event))",
    ]);
    expect(replaced).toContain("as in replaceAll(event, 'x', left(distinct_id, 50))");
    expect(mapped).toContain('cut what else it takes to a constant length, as in left(event, 50)');
  });

  test('are accepted where they are what people write', async () => {
    const usual = [
      `replaceAll(replaceAll(replaceAll(replaceAll(replaceAll(event, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), 'é', '&eacute;')`,
      nested(8, (inner) => `replaceRegexpAll(${inner}, '/users/[0-9]+', '/users/:id')`),
      nested(5, (inner) => `replaceRegexpAll(${inner}, '[0-9a-f]{8}(-[0-9a-f]{4}){3}', ':uuid')`),
      "replaceRegexpOne(event, '^https?://([^/]+).*$', '\\\\1')",
      "replaceAll('/users/{id}', '{id}', distinct_id)",
      "replaceAll(event, '{id}', left(distinct_id, 50))",
      "arrayStringConcat(arrayMap(x -> concat('tag:', x), splitByChar(',', event)), ', ')",
      "arrayMap(x -> concat(left(event, 50), x), splitByChar(',', properties.tags))",
      `concat(${Array.from({ length: 60 }, (_, n) => `properties.p${n}`).join(', ')})`,
    ];
    expect(await refusalsOf(usual)).toEqual(usual.map(() => undefined));
  });

  const growing = fc.letrec<{ text: Syntax; list: Syntax }>((tie) => ({
    text: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(
        field('event'),
        field('event'),
        constant('a<'),
        constant(''),
        call('left', field('event'), constant(3)),
      ),
      fc.tuple(tie('text'), tie('text')).map((all) => call('concat', ...all)),
      fc
        .tuple(tie('text'), fc.constantFrom('a', '<', '&', 'a<', '&a'), tie('text'))
        .map(([text, from, by]) => call('replaceAll', text, constant(from), by)),
      fc
        .tuple(
          fc.constantFrom('replaceRegexpAll', 'replaceRegexpOne'),
          tie('text'),
          fc.constantFrom('b?', 'a', 'a*', '(a|<&)', '(.)(.?)', 'a{2,3}|<', '^'),
          fc.constantFrom('', 'aaa', '\\0\\0', 'a<&a'),
        )
        .map(([name, text, pattern, by]) => call(name, text, constant(pattern), constant(by))),
      fc
        .tuple(tie('list'), fc.constantFrom('', ',', 'aaaa<'))
        .map(([list, by]) => call('arrayStringConcat', list, constant(by))),
      fc.tuple(tie('list'), fc.constantFrom(1, -1)).map(([list, at]) => call('arrayElement', list, constant(at))),
    ),
    list: fc.oneof(
      { maxDepth: 4 },
      tie('text').map((text) => call('splitByChar', constant('a'), text)),
      fc.array(tie('text'), { minLength: 1, maxLength: 3 }).map((exprs) => ({ node: 'Array', exprs })),
      fc
        .tuple(fc.constantFrom('x', 'y'), tie('text'), tie('list'), fc.constantFrom('x', 'y', 'event'))
        .map(([name, body, list, other]) => call('arrayMap', lambda(name, call('concat', field(other), body)), list)),
    ),
  }));

  test('are never longer than is promised', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(growing.text, async (expr) => {
        let column: Selected | undefined;
        refusalOf(() => ([column] = checked(queryOf([alias('c', expr)])).select as [Selected]));
        if (column === undefined) return;
        accepted += 1;
        expect(await lengthOf(duckdbColumn(column, NOW))).toBeLessThanOrEqual(100 * ROW.length + 100_000);
      }),
      { numRuns: propertyRuns(300) },
    );
    expect(accepted).toBeGreaterThan(20);
  });
});

describe('lambdas', () => {
  test('inside one another go through lists of the element alone', async () => {
    const inner = (list: string) => `arrayExists(x -> arrayExists(y -> x = y, ${list}), splitByChar(',', event))`;
    const [parts, constants, event] = await refusalsOf([
      inner("splitByChar('=', x)"),
      inner("['a', 'b']"),
      inner("splitByChar(',', event)"),
    ]);
    expect([parts, constants]).toEqual([undefined, undefined]);
    expect(event).toBe(
      "In a lambda, arrayExists() takes a list that is made of its element 'x' alone, or of constants",
    );
  });

  test('are at most three deep', async () => {
    const nested = (levels: number): string =>
      Array.from({ length: levels }).reduce<string>(
        (body, _, n) =>
          `arrayStringConcat(arrayMap(x${n} -> ${body}, splitByChar('a', ${n === levels - 1 ? 'event' : `x${n + 1}`})))`,
        'x0',
      );
    expect(await refusalsOf([nested(3), nested(4)])).toEqual([undefined, 'Lambdas are nested more than 3 deep']);
  });

  test('count what they read of the event, and long lists of constants, as often as it is read', async () => {
    const many = Array.from({ length: 12 }, (_, n) => `x = properties.p${n}`).join(' OR ');
    const words = Array.from({ length: 500 }, (_, n) => `w${n}`).join(',');
    expect(
      await refusalsOf([
        "arrayExists(x -> x = properties.plan, splitByChar(',', event))",
        "arrayExists(x -> position(event, x) > 0, ['a', 'b', 'a longer word'])",
        `arrayExists(x -> ${many}, splitByChar(',', event))`,
        `arrayExists(x -> position(event, x) > 0, splitByChar(',', '${words}'))`,
      ]),
    ).toEqual([undefined, undefined, 'The query is too complex', 'The query is too complex']);
  });
});

test('no pattern takes longer for each of its parts', async () => {
  const pieces = '%a'.repeat(8);
  const [like, ilike, match] = (await parser.expressions([
    `event LIKE '${pieces}%b'`,
    `event ILIKE '%_a${pieces}%b'`,
    `match(event, '${'a.*'.repeat(8)}b')`,
  ])) as Syntax[];
  for (const one of [like, ilike, match])
    expect(await lengthOf(duckdbText(checkedCondition(one as Syntax, EVENTS_TABLE, 'Batch exports'), NOW))).toBe(
      'false'.length,
    );
});

describe('before it is parsed, a text is refused', () => {
  const nested = (levels: number, of: (inner: string) => string): string =>
    `SELECT ${Array.from({ length: levels }).reduce<string>(of, 'event')} AS a FROM events`;

  test.each<[string, (inner: string) => string]>([
    ['brackets', (inner) => `f(${inner})`],
    ['CASE', (inner) => `CASE WHEN 1 THEN ${inner} END`],
    ['BETWEEN', (inner) => `1 BETWEEN ${inner} AND 2`],
    ['NOT', (inner) => `NOT 1 = ${inner}`],
    ['choices', (inner) => `1 ? 2 : ${inner}`],
    ['choices beside names that are keywords', (inner) => `NOT 1 ? e.then : ${inner}`],
    ['choices beside operands that are keywords', (inner) => `1 ? 2 : a AND then OR 1 IN (2) ? from : ${inner}`],
    ['choices beside windows that are called as keywords', (inner) => `1 ? 2 : sum(1) OVER from + ${inner}`],
    ['choices beside what tells apart', (inner) => `1 ? 2 : event IS NOT DISTINCT FROM ${inner}`],
    ['NOT before a keyword that is a name', (inner) => `NOT then = ${inner}`],
    ['templates', (inner) => `f'it''s {${inner}} \\' '`],
    ['brackets after comments', (inner) => `[${inner} -- '\n, 1 // "\n] /* ' */`],
    ['brackets after numbers', (inner) => `1BETWEEN ${inner} AND 2`],
  ])('that nests %s too deeply', (_, of) => {
    expect(refusalOf(() => checkTokens([nested(10, of)]))).toBeUndefined();
    expect(refusalOf(() => checkTokens([nested(21, of)]))).toBe('The query is nested more than 20 levels deep');
  });

  test('that costs too much in sum, in one query or in the filters together', () => {
    const columns = (count: number, of: string) =>
      `SELECT ${Array.from({ length: count }, (_, n) => `${of} AS a${n}`).join(', ')} FROM events`;
    const text = 'The query is too complex to parse: make it shorter, or nest it less';
    expect(refusalOf(() => checkTokens([columns(1000, 'event')]))).toBeUndefined();
    expect(refusalOf(() => checkTokens([columns(100, "toFloat(JSONExtractString(properties, 'a'))")]))).toBeUndefined();
    expect(refusalOf(() => checkTokens([columns(300, 'f(f(f(f(event))))')]))).toBe(text);
    expect(refusalOf(() => checkTokens([columns(1, `event${'.a'.repeat(200)}`)]))).toBe(text);
    expect(refusalOf(() => checkTokens(Array.from({ length: 10 }, () => columns(200, 'event'))))).toBe(text);
  });

  test.each(["'it", '"a', '`a', "f'a {b}"])('that does not end: %s', (text) => {
    expect(refusalOf(() => checkTokens([`${text} ${'('.repeat(30)}`]))).toBe('Failed to parse query');
  });

  test('that has an escape that there is not', () => {
    const refusal = refusalOf(() => checkTokens([String.raw`'\q' ${'('.repeat(30)}`]));
    expect(refusal).toBe(String.raw`Failed to parse query: in a text \q is written \\q`);
  });

  test('and where in it that is', () => {
    expect(() => checkTokens(["SELECT '😀', <a>it</a>"])).toThrow(
      expect.objectContaining({ span: { start: 12, end: 14 } }),
    );
  });

  test('that has tags', () => {
    expect(refusalOf(() => checkTokens(["SELECT <a>it's</a> FROM events"]))).toBe('Tags are not supported');
    expect(refusalOf(() => checkTokens(['SELECT team_id <event, team_id < event FROM events']))).toBeUndefined();
  });

  test('but not for choices beside one another, nor for what else has a question mark', () => {
    const beside = Array.from({ length: 30 }, (_, n) => `event = 'a' ? f(1 ? 2 : 3) : 4 AS a${n}`);
    const cases = 'CASE WHEN 1 BETWEEN 0 ? 1 : 2 AND 3 THEN 4 ? 5 : 6 END';
    const chain = Array.from({ length: 60 }, (_, n) => `properties?.a${n}`).join(' ?? ');
    const texts = [...beside, ...Array.from({ length: 30 }, () => cases), chain];
    for (const one of texts) expect(refusalOf(() => checkTokens([one]))).toBeUndefined();
    expect(refusalOf(() => checkTokens([`SELECT ${beside.join(', ')} FROM events`]))).toBeUndefined();
    expect(refusalOf(() => checkTokens([`SELECT [${cases}, ${cases}] AS a FROM events`]))).toBeUndefined();
    const whens = Array.from({ length: 21 }, (_, n) => `WHEN event = 'e${n}' THEN ${n} > 3 ? 1 : 0`).join(' ');
    expect(refusalOf(() => checkTokens([`SELECT CASE ${whens} ELSE 1 ? 2 : 3 END AS a FROM events`]))).toBeUndefined();
    for (const rest of ['FROM events', 'FROM events WHERE team_id ? 1 : 0', '']) {
      const union = Array.from({ length: 25 }, () => `SELECT event = 'a' ? 1 : NOT 2 AS a ${rest}`).join(' UNION ALL ');
      expect(refusalOf(() => checkTokens([union]))).toBeUndefined();
    }
  });

  test('but not for words that are names', () => {
    const names = Array.from({ length: 30 }, (_, n) => `properties.case AS not${n}, properties.not AS b${n}`);
    expect(refusalOf(() => checkTokens([`SELECT ${names.join(', ')}, 1 AS case FROM events`]))).toBeUndefined();
  });
});
