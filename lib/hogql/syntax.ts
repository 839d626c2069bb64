/** What the parser makes of a text, as far as it is read here. */

interface Constant {
  readonly node: 'Constant';
  /** A number as it was written, so that no digit is lost. */
  readonly value: string | { readonly number: string } | boolean | null;
  /** A number that JSON has no way to write, as text: over 64 bits, infinity, not a number. */
  readonly value_type?: 'number';
}

export interface Call {
  readonly node: 'Call';
  readonly name: string;
  readonly args: readonly Syntax[];
  readonly params?: readonly Syntax[] | null;
  readonly distinct?: boolean;
  readonly filter_expr?: Syntax | null;
  readonly order_by?: unknown;
}

type Alias = { readonly node: 'Alias'; readonly alias: string; readonly expr: Syntax };
type Listing = { readonly node: 'Tuple' | 'Array'; readonly exprs: readonly Syntax[] };
type Lambda = { readonly node: 'Lambda'; readonly args: readonly string[]; readonly expr: Syntax };

type Binary<Node, Op> = { readonly node: Node; readonly op: Op; readonly left: Syntax; readonly right: Syntax };
export type CompareOperation = Binary<'CompareOperation', string>;
export type BetweenExpr = {
  readonly node: 'BetweenExpr';
  readonly expr: Syntax;
  readonly low: Syntax;
  readonly high: Syntax;
  readonly negated: boolean;
};

export type Known =
  | Constant
  | Call
  | Alias
  | Listing
  | Lambda
  | CompareOperation
  | Binary<'ArithmeticOperation', '+' | '-' | '*' | '/' | '%'>
  | { readonly node: 'Field'; readonly chain: readonly (string | number)[] }
  | { readonly node: 'And' | 'Or'; readonly exprs: readonly Syntax[] }
  | { readonly node: 'Not'; readonly expr: Syntax }
  | { readonly node: 'ArrayAccess'; readonly array: Syntax; readonly property: Syntax }
  | { readonly node: 'TupleAccess'; readonly tuple: Syntax; readonly index: number }
  | { readonly node: 'TypeCast'; readonly expr: Syntax; readonly type_name: string }
  | BetweenExpr
  | SelectQuery
  | SelectSetQuery
  | WindowFunction
  /** A name in braces, that something is put in the place of. */
  | { readonly node: 'Placeholder'; readonly expr: Syntax };

/** A node of any kind: a name, and whatever it has. */
export type Syntax = Known | { readonly node: string };

/** Returns whether it is a node of this kind. */
export const isA = <Node extends Known['node']>(syntax: Syntax, node: Node): syntax is Known & { node: Node } =>
  syntax.node === node;

/** Returns whether it is a whole query. */
export const isQuery = (syntax: Syntax): syntax is SelectQuery | SelectSetQuery =>
  isA(syntax, 'SelectQuery') || isA(syntax, 'SelectSetQuery');

/** Returns the chain of a field, whichever way it is written: `a.b`, `a['b']`, `a.1`, `a[1]`; undefined: it is none. */
export function chainOf(syntax: Syntax): readonly (string | number)[] | undefined {
  if (isA(syntax, 'Field')) return syntax.chain;
  if (isA(syntax, 'TupleAccess')) {
    const before = chainOf(syntax.tuple);
    return before && [...before, syntax.index];
  }
  if (!isA(syntax, 'ArrayAccess') || !isA(syntax.property, 'Constant')) return undefined;
  const { value } = syntax.property;
  const before = chainOf(syntax.array);
  if (before === undefined || value === null || typeof value === 'boolean') return undefined;
  return [...before, typeof value === 'string' ? value : Number(value.number)];
}

/** Returns the parts of a tuple, `(a, b)` or `tuple(a, b)`; undefined: it is something else. */
export function tupleOf(syntax: Syntax): readonly Syntax[] | undefined {
  if (isA(syntax, 'Tuple')) return syntax.exprs;
  return isA(syntax, 'Call') && syntax.name === 'tuple' ? syntax.args : undefined;
}

/** A query: one that only selects expressions from a table has nothing but the first four. */
export interface SelectQuery {
  readonly node: 'SelectQuery';
  readonly select: readonly Syntax[];
  readonly select_from: JoinExpr | null;
  readonly where?: Syntax | null;
  readonly distinct?: boolean | null;
  readonly ctes?: readonly Cte[] | null;
  readonly group_by?: readonly Syntax[] | null;
  readonly having?: Syntax | null;
  readonly order_by?: readonly OrderExpr[] | null;
  readonly limit?: Syntax | null;
  readonly offset?: Syntax | null;
  readonly limit_by?: LimitBy | null;
  readonly window_exprs?: Readonly<Record<string, WindowExpr>> | null;
}

export interface SelectSetQuery {
  readonly node: 'SelectSetQuery';
  readonly initial_select_query: Syntax;
  readonly subsequent_select_queries: readonly { readonly select_query: Syntax; readonly set_operator: string }[];
  readonly limit?: Syntax | null;
  readonly offset?: Syntax | null;
  readonly order_by?: readonly OrderExpr[] | null;
}

interface Cte {
  readonly name: string;
  readonly cte_type: 'subquery' | 'column';
  readonly columns?: readonly string[] | null;
  readonly expr: Syntax;
}

interface LimitBy {
  readonly n: Syntax;
  readonly offset_value: Syntax | null;
  readonly exprs: readonly Syntax[];
}

export interface OrderExpr {
  readonly node: 'OrderExpr';
  readonly expr: Syntax;
  readonly order: 'ASC' | 'DESC';
}

export interface FrameEnd {
  readonly frame_type: 'CURRENT ROW' | 'PRECEDING' | 'FOLLOWING';
  readonly frame_value?: number | null;
}

export interface WindowExpr {
  readonly node: 'WindowExpr';
  readonly partition_by?: readonly Syntax[] | null;
  readonly order_by?: readonly OrderExpr[] | null;
  readonly frame_method?: 'ROWS' | 'RANGE';
  readonly frame_start?: FrameEnd | null;
  readonly frame_end?: FrameEnd | null;
}

export interface WindowFunction {
  readonly node: 'WindowFunction';
  readonly name: string;
  /** What stands in the second brackets, as of `quantile(0.5)(x)`. */
  readonly args: readonly Syntax[] | null;
  /** What stands in the first brackets. */
  readonly exprs: readonly Syntax[] | null;
  readonly over_expr?: WindowExpr | null;
  readonly over_identifier?: string | null;
}

/** Returns what a window function is called with: arguments stand in the last brackets, parameters in those before. */
export const saidOver = ({ args, exprs }: WindowFunction): Readonly<Record<'parameters' | 'of', readonly Syntax[]>> =>
  args?.length ? { parameters: exprs ?? [], of: args } : { parameters: [], of: exprs ?? [] };

export interface JoinExpr {
  readonly node: 'JoinExpr';
  readonly table: Syntax;
  readonly alias: string | null;
  readonly join_type?: string | null;
  readonly constraint?: { readonly constraint_type: 'ON' | 'USING'; readonly expr: Syntax } | null;
  readonly next_join?: JoinExpr | null;
}
