/** Syntax that the program writes itself, beside what the parser makes of texts. */
import type { JoinExpr, Known, SelectQuery, Syntax } from './syntax.ts';

/** Returns a value as the text of a query would have it. Throws for a number that is not finite. */
export function constant(value: string | number | boolean | null): Syntax {
  if (typeof value !== 'number') return { node: 'Constant', value } satisfies Known;
  if (!Number.isFinite(value)) throw new Error(`no query can hold the number ${value}`);
  return { node: 'Constant', value: { number: String(value) } } satisfies Known;
}

/** Returns the syntax of a field: `field('properties', '$browser')` is `properties.$browser`. */
export const field = (...chain: readonly (string | number)[]): Syntax => ({ node: 'Field', chain }) satisfies Known;

/** Returns the syntax of a call. */
export const call = (name: string, ...args: readonly Syntax[]): Syntax =>
  ({ node: 'Call', name, args }) satisfies Known;

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

/** Returns the syntax of `SELECT column FROM table WHERE condition`, as IN takes one. */
export function subquery(table: string, column: string, where: Syntax): Syntax {
  const from: JoinExpr = { node: 'JoinExpr', table: field(table), alias: null };
  const query: SelectQuery = { node: 'SelectQuery', select: [field(column)], select_from: from, where };
  return query;
}
