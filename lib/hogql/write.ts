/** Syntax that the program writes itself, beside what the parser makes of texts. */
import type { Known, Syntax } from './syntax.ts';

/** Whole numbers from here on have no place in 64 bits. */
const BEYOND_INTEGERS = 2 ** 63;

/**
 * Returns a value as the text of a query would have it. A whole number that no integer can be is a float. Throws for a
 * number that is not finite.
 */
export function constant(value: string | number | boolean | null): Syntax {
  if (typeof value !== 'number') return { node: 'Constant', value } satisfies Known;
  if (!Number.isFinite(value)) throw new Error(`no query can hold the number ${value}`);
  const number = Math.abs(value) < BEYOND_INTEGERS ? String(value) : value.toExponential();
  return { node: 'Constant', value: { number } } satisfies Known;
}

/** Returns the syntax of a field: `field('properties', '$browser')` is `properties.$browser`. */
export const field = (...chain: readonly (string | number)[]): Syntax => ({ node: 'Field', chain }) satisfies Known;

/** Returns the syntax of a call. */
export const call = (name: string, ...args: readonly Syntax[]): Syntax =>
  ({ node: 'Call', name, args }) satisfies Known;

/** Returns the syntax of a value and a number together. */
export const plus = (a: Syntax, count: number): Syntax => call('plus', a, constant(count));

/** Returns the syntax of a value where the condition holds, and of null elsewhere. */
export const when = (condition: Syntax, value: Syntax): Syntax => call('if', condition, value, constant(null));

/** Returns the syntax of what holds where all of the conditions do; of none: what always holds. */
export function all(conditions: readonly Syntax[]): Syntax {
  const [first, ...rest] = conditions;
  if (first === undefined) return constant(true);
  return rest.length === 0 ? first : ({ node: 'And', exprs: conditions } satisfies Known);
}

/** Returns the syntax of what holds where one of the conditions does; of none: what never holds. */
export function any(conditions: readonly Syntax[]): Syntax {
  const [first, ...rest] = conditions;
  if (first === undefined) return constant(false);
  return rest.length === 0 ? first : ({ node: 'Or', exprs: conditions } satisfies Known);
}

/** Returns the syntax of a list of constants, as IN takes one. */
export const list = (values: readonly (string | number | boolean)[]): Syntax =>
  ({ node: 'Tuple', exprs: values.map(constant) }) satisfies Known;

/** Returns the syntax of a comparison by an operator of the grammar: `==`, `<`, `in`, `not in`. */
export const comparison = (op: string, left: Syntax, right: Syntax): Syntax =>
  ({ node: 'CompareOperation', op, left, right }) satisfies Known;

/** Returns the syntax of a list that is made of values. */
export const array = (values: readonly Syntax[]): Syntax => ({ node: 'Array', exprs: values }) satisfies Known;

const node = (value: { readonly node: string; readonly [member: string]: unknown }): Syntax => value;

/** Columns by their names. */
export type Columns = Readonly<Record<string, Syntax>>;

/** Returns fields as columns of their own names. */
export const fieldsOf = (names: readonly string[]): Columns =>
  Object.fromEntries(names.map((name) => [name, field(name)]));

/** What a query is made of. */
interface QueryParts {
  readonly columns: Columns;
  /** A table by its name, or a query. */
  readonly from: string | Syntax;
  /** What the query calls it. */
  readonly as?: string;
  readonly join?: { readonly query: Syntax; readonly as: string; readonly on: Syntax };
  readonly where?: Syntax;
  readonly groupBy?: readonly Syntax[];
  readonly having?: Syntax;
  readonly isDistinct?: boolean;
}

/** Returns the syntax of a query. */
export function select({ columns, from, as, join, where, groupBy, having, isDistinct }: QueryParts): Syntax {
  const joined = join && {
    node: 'JoinExpr',
    table: join.query,
    alias: join.as,
    join_type: 'INNER JOIN',
    constraint: { node: 'JoinConstraint', constraint_type: 'ON', expr: join.on },
  };
  return node({
    node: 'SelectQuery',
    select: Object.entries(columns).map(([alias, expr]) => ({ node: 'Alias', alias, expr })),
    select_from: {
      node: 'JoinExpr',
      table: typeof from === 'string' ? field(from) : from,
      alias: as ?? null,
      ...(joined && { next_join: joined }),
    },
    ...(isDistinct === true && { distinct: true }),
    ...(where && { where }),
    ...(groupBy && groupBy.length > 0 && { group_by: groupBy }),
    ...(having && { having }),
  });
}

/** Returns the syntax of `SELECT column FROM table WHERE condition`, as IN takes one. */
export const subquery = (table: string, column: string, where: Syntax): Syntax =>
  select({ columns: { [column]: field(column) }, from: table, where });

/** Where a frame of a window begins or ends: so many rows (or so much of the order) before, where negative, or after. */
type FrameEnd = number | 'first' | 'last';

/** What a window function looks at. */
export interface WindowParts {
  readonly partitionBy: readonly Syntax[];
  /** Ascending, unless it says otherwise. */
  readonly orderBy?: readonly (Syntax | { readonly descending: Syntax })[];
  readonly frame?: { readonly by: 'ROWS' | 'RANGE'; readonly from: FrameEnd; readonly to: FrameEnd };
}

/** Returns the syntax of `name(...args) OVER (...)`. */
export function over(name: string, args: readonly Syntax[], { partitionBy, orderBy = [], frame }: WindowParts): Syntax {
  const order = orderBy.map((one) =>
    'descending' in one
      ? { node: 'OrderExpr', expr: one.descending, order: 'DESC' }
      : { node: 'OrderExpr', expr: one, order: 'ASC' },
  );
  const window = {
    node: 'WindowExpr',
    partition_by: partitionBy.length === 0 ? null : partitionBy,
    order_by: order.length === 0 ? null : order,
    ...(frame && { frame_method: frame.by, frame_start: frameEnd(frame.from), frame_end: frameEnd(frame.to) }),
  };
  return node({ node: 'WindowFunction', name, args: null, exprs: args, over_expr: window });
}

function frameEnd(end: FrameEnd) {
  if (end === 0) return { node: 'WindowFrameExpr', frame_type: 'CURRENT ROW', frame_value: null };
  const isBefore = end === 'first' || (typeof end === 'number' && end < 0);
  const frame_value = typeof end === 'number' ? Math.abs(end) : null;
  return { node: 'WindowFrameExpr', frame_type: isBefore ? 'PRECEDING' : 'FOLLOWING', frame_value };
}
