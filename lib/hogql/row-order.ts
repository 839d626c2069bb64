/** The order that a subquery puts its rows in, for aggregates over them: engines read the rows in any. */
import { withClickhouseType } from './clickhouse-types.ts';
import type { Column, Expression, Query, Select, Source } from './expression.ts';
import { columnOf } from './size.ts';

/** What a query has beside the SELECT whose rows are looked at. */
interface Around {
  readonly named: { readonly name: string; query: Query }[];
  /** Returns a name that no relation has. */
  readonly relation: () => string;
}

/** A source with a column more, by which its rows are in their order. */
interface Placed {
  readonly source: Source;
  readonly place: Expression;
}

/** Returns the source with the places of its rows; undefined: they are in no order. */
export function withPlaces(source: Source, around: Around): Placed | undefined {
  if ('table' in source) return undefined;
  const named = 'named' in source ? around.named.find(({ name }) => name === source.named) : undefined;
  const query = named?.query ?? ('query' in source ? source.query : undefined);
  const placed = query && placedRows(query, around);
  if (placed === undefined) return undefined;
  if (named !== undefined) named.query = placed;
  const place: Expression = { relation: source.as, column: `c${placed.columns.length - 1}`, type: 'integer' };
  return { source: named === undefined ? { query: placed, as: source.as } : source, place };
}

/** The query with the place of each row as its last column. */
function placedRows(query: Query, around: Around): Select | undefined {
  if ('union' in query) return undefined;
  if (query.order.length > 0) return ordered(query, around);
  const { from, group, distinct, limitBy, columns } = query;
  if (from === undefined || group || distinct || limitBy) return undefined;
  const below = withPlaces(from, around);
  return below && { ...query, from: below.source, columns: [...columns, columnOfPlace(below.place)] };
}

function ordered(query: Select, { relation }: Around): Select {
  const { columns, order, limit, offset, limitBy } = query;
  const [inner, windows] = [relation(), relation()];
  const keys = order.filter(({ column }) => column === undefined);
  const isCut = limit !== undefined || offset !== undefined || limitBy !== undefined;
  const rows: Select = {
    ...query,
    columns: [
      ...columns,
      ...keys.map(({ expression }) => ({ name: 'key', type: expression.type, clickhouse: '', expression })),
    ],
    order: isCut ? order : [],
  };
  const by = order.map((one) => {
    const at = one.column ?? columns.length + keys.indexOf(one);
    return { expression: columnOf(one.expression, inner, `c${at}`), down: one.down };
  });
  const passedOn = columns.map((column, n) => ({
    ...column,
    expression: withClickhouseType(columnOf(column.expression, inner, `c${n}`), column.clickhouse),
  }));
  return {
    from: { query: rows, as: inner },
    joins: [],
    windows: { all: [{ window: 'row_number', of: [], partition: [], order: by, type: 'integer' }], as: windows },
    columns: [...passedOn, columnOfPlace({ relation: windows, column: 'w0', type: 'integer' })],
    distinct: false,
    order: [],
  };
}

const columnOfPlace = (expression: Expression): Column => ({
  name: 'place',
  type: 'integer',
  clickhouse: 'UInt64',
  expression,
});
