/** What queries give: every construct by DuckDB, over a file of the lake; and what Athena is asked for it. */
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { literal, openDatabase } from '../../../lib/duckdb/database.ts';
import { checkedQuery } from '../../../lib/exports/query/events-query.ts';
import { duckdbColumn } from '../../../lib/hogql/duckdb.ts';
import {
  type Expression,
  type List,
  OPERATORS,
  type Parameters,
  type QueryColumn,
  type Selected,
  type Signature,
  type Taken,
} from '../../../lib/hogql/expression.ts';
import { FUNCTION_NAMES } from '../../../lib/hogql/functions.ts';
import { trinoColumn, trinoText } from '../../../lib/hogql/trino.ts';
import { EVENTS_TABLE } from '../../../lib/lake/events-table.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { duckdbWarehouse } from '../../../lib/warehouse/duckdb.ts';
import { deliveredColumns } from '../../../lib/warehouse/query-columns.ts';
import { temporaryFolder } from '../../support/context.ts';
import { planOf, writeRows } from '../../support/lake-rows.ts';
import { onEnd } from '../../support/on-end.ts';
import { parser } from '../../support/parser.ts';
import { asDuckdb, openTrino, type Trino } from '../../support/trino.ts';
import { trinoGrammar } from '../../support/trino-grammar.ts';
import { CONSTRUCTS, type Construct, EVENT } from './constructs.ts';

// Parsing starts threads, and reading databases; a loaded machine takes its time.
jest.setTimeout(60_000);

const INTERVAL = { start: Date.UTC(2026, 0, 7, 13), end: Date.UTC(2026, 0, 7, 14) };

const selectOf = async (constructs: readonly Construct[]): Promise<readonly QueryColumn[]> => {
  const list = constructs.map(([expression], n) => `${expression} AS c${n}`);
  return checkedQuery(await parser.query(`SELECT ${list.join(', ')} FROM events`), EVENTS_TABLE, 'Batch exports')
    .select;
};

let given: (select: readonly QueryColumn[]) => Promise<unknown[]>;
beforeAll(async () => {
  const lake = folderFiles(join(temporaryFolder(), 'lake'));
  const files = await writeRows(lake, [[EVENT]]);
  const warehouse = duckdbWarehouse({ lake, threads: 1 });
  onEnd(() => void warehouse.close());
  given = async (select) => {
    const plan = planOf({ files, intervals: [INTERVAL] }, { query: { select } });
    const form = { format: 'JSONLines', columns: deliveredColumns(select, []) } as const;
    let line = '';
    for await (const piece of warehouse.read(plan, INTERVAL, form, AbortSignal.timeout(60_000)))
      line += piece.toString();
    return Object.values(JSON.parse(line, exactly));
  };
});

/** Integers that JavaScript's numbers cannot hold are bigints. */
const exactly = (_key: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(source ?? '') : value;

describe.each(Object.entries(CONSTRUCTS))('%s', (_, constructs) => {
  const named = (values: readonly unknown[]) => Object.fromEntries(constructs.map(([text], n) => [text, values[n]]));
  let select: readonly QueryColumn[];
  beforeAll(async () => {
    select = await selectOf(constructs);
  });

  test('are what they say', async () => {
    expect(named(await given(select))).toEqual(named(constructs.map(([, gives]) => gives)));
  });

  test('are asked of Athena', () => {
    expect(named(select.map((one) => trinoColumn(one as Selected, 'interval_end')))).toMatchSnapshot();
  });
});

test('every function is in the table', () => {
  const texts = Object.values(CONSTRUCTS).flatMap((constructs) => constructs.map(([text]) => text));
  expect(FUNCTION_NAMES.filter((name) => !texts.some((text) => text.includes(`${name}(`)))).toEqual([]);
});

describe('what is at a place in JSON', () => {
  let duckdb: DuckDBConnection;
  let trino: Trino;
  beforeAll(async () => {
    const database = await openDatabase({ threads: 1 });
    duckdb = await database.connect();
    trino = await openTrino();
    onEnd(() => {
      duckdb.closeSync();
      database.closeSync();
      trino.end();
    });
  });

  test.each([
    ['properties.a', '{"a":1732600000.123}', '1732600000.123'],
    ['properties.a', '{"a":0.00012}', '0.00012'],
    ['properties.a', '{"a":12345678}', '12345678'],
    ['properties.a', '{"a":true}', 'true'],
    ['properties.a', '{"a":"12345678.9"}', '12345678.9'],
    ['properties.a', String.raw`{"a":"\"\n{"}`, String.raw`\"\n{`],
    ['properties.a', '{"a":"null"}', 'null'],
    ['properties.a', '{"a":null}', null],
    ['properties.a', '{"a":[1,"b"]}', '[1,"b"]'],
    ['properties.a', '{"a":{"b":1}}', '{"b":1}'],
    ['properties.a', '{}', null],
    ['properties.a', 'no JSON', null],
    ["JSONExtractRaw(properties, 'a')", '{"a":-1732600000.123}', '-1732600000.123'],
    ["JSONExtractRaw(properties, 'a')", '{"a":null}', 'null'],
    ["JSONExtractRaw(properties, 'a')", '{"a":"null"}', '"null"'],
    ['JSONExtractKeys(properties)', '{"b":1,"a":{"x":2}}', '["b","a"]'],
    ["JSONExtractKeys(properties, 'a')", '{"b":1,"a":{"x":2}}', '["x"]'],
    ['JSONExtractKeys(properties)', '[1]', '[]'],
    ['JSONExtractKeys(properties)', 'no JSON', '[]'],
  ])('is the same in both: %s of %s', async (expression, properties, gives) => {
    const [column] = (await selectOf([[expression, gives]])) as readonly Selected[];
    const of = async (connection: DuckDBConnection, sql: string): Promise<unknown> =>
      (await connection.runAndReadAll(`SELECT ${sql} FROM (SELECT ${literal(properties)} AS properties)`)).getRows();
    expect(await of(duckdb, duckdbColumn(column as Selected, 0n))).toEqual([[gives]]);
    expect(await of(trino, asDuckdb(trinoColumn(column as Selected, 'interval_end')))).toEqual([[gives]]);
  });
});

describe('Trino can read', () => {
  const faultsOf = trinoGrammar();
  const list = (type: List): Expression => ({ operator: 'list', of: [], type });
  const OF: Readonly<Record<Taken, Expression>> = {
    text: { column: 'event', type: 'text' },
    list: list('texts'),
    element: { column: 'event', type: 'text' },
    any: { column: 'event', type: 'text' },
    json: { column: 'properties', type: 'json' },
    integer: { column: 'team_id', type: 'integer' },
    float: { constant: '1.5', type: 'float' },
    boolean: { constant: true, type: 'boolean' },
    instant: { column: 'timestamp_us', type: 'instant' },
    date: { constant: '0', type: 'date' },
    texts: list('texts'),
    integers: list('integers'),
    floats: list('floats'),
    booleans: list('booleans'),
    instants: list('instants'),
    dates: list('dates'),
    tuple: { operator: 'tuple', of: [{ column: 'event', type: 'text' }], type: 'tuple(text)' },
    part: { column: 'event', type: 'text' },
  };
  const parameters: Parameters[] = [
    {
      path: ['a "b"', 0, '{'],
      pattern: "(?s)it's {1}",
      group: 0,
      replacement: ['$', 1, "'"],
      like: "%'{\\_",
      text: "'{",
      side: 'left',
      unit: 'month',
      step: 'quarter',
      part: 'iso_week',
      zone: 'UTC',
      digits: 2,
      place: 1,
      format: [{ code: 'Y' }, { text: "'{%" }],
    },
    { side: 'both', unit: 'day', step: 'monday', digits: 0, path: [] },
  ];

  test.each(Object.entries<Signature>(OPERATORS).filter(([operator]) => operator !== 'in_query'))(
    'what %s is',
    (operator, { takes, more, each }) => {
      const of = [...takes, ...(more === undefined ? [] : [more])].map((type) => OF[type]);
      for (const given of parameters) {
        const node = {
          operator,
          of,
          with: { ...parameters[0], ...given },
          ...(each && { each: OF[each] }),
          type: operator === 'list' ? 'texts' : operator === 'tuple' ? 'tuple(text)' : 'text',
        };
        expect(faultsOf(`SELECT ${trinoText(node as Expression, 'interval_end')} FROM events`)).toEqual([]);
      }
    },
  );

  test('and would not read anything', () => expect(faultsOf('SELECT TRY(1 FROM events')).not.toEqual([]));
});
