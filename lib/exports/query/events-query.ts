/** What an export may read of events: expressions with names, and a condition. All else is refused in words. */
import { beginningOf } from '../../basics/text.ts';
import { converted } from '../../hogql/build.ts';
import { expression, refuseParts, type Scope, standingFor, UNSUPPORTED, withoutTable } from '../../hogql/check.ts';
import {
  ALL,
  type Expression,
  isList,
  isTuple,
  type QueryColumn,
  type QueryTable,
  type Selected,
} from '../../hogql/expression.ts';
import { condition } from '../../hogql/functions/values.ts';
import { refuse } from '../../hogql/refusal.ts';
import { checkSizes } from '../../hogql/size.ts';
import { isA, isQuery, type JoinExpr, type SelectQuery, type Syntax } from '../../hogql/syntax.ts';
import { hogqlName } from '../../hogql/text.ts';

/** A query that an export may have. */
export interface CheckedQuery {
  /** What it was made of. */
  readonly syntax: SelectQuery;
  readonly select: readonly QueryColumn[];
  readonly where: Expression | null;
}

/** Parts of a query that would make it more than expressions from a table. */
const CLAUSES: Readonly<Record<string, string>> = {
  ctes: 'CTEs are not supported',
  array_join_op: 'ARRAY JOIN is not supported',
  array_join_list: 'ARRAY JOIN is not supported',
  prewhere: 'PREWHERE is not supported',
  group_by: 'GROUP BY is not supported',
  group_by_mode: 'GROUP BY is not supported',
  having: 'HAVING is not supported',
  qualify: 'QUALIFY is not supported',
  window_exprs: 'WINDOW is not supported',
  order_by: 'ORDER BY is not supported',
  limit_by: 'LIMIT BY is not supported',
  limit: 'LIMIT is not supported',
  limit_with_ties: 'LIMIT is not supported',
  offset: 'OFFSET is not supported',
  distinct: 'DISTINCT is not supported',
};
const FROM_CLAUSES: Readonly<Record<string, string>> = {
  table_args: 'Query must only SELECT FROM events',
  next_join: 'JOINs are not supported',
  sample: 'SAMPLE is not supported',
  table_final: 'FINAL is not supported',
  column_aliases: 'Column aliases of a table are not supported',
};

/**
 * The tree of a query over a table; refuses what is more than `SELECT expressions FROM events [WHERE ...]`. `reader` is
 * whose query it is, in the plural, for the texts of refusals.
 */
export function checkedQuery(syntax: Syntax, table: QueryTable, reader: string): CheckedQuery {
  if (isA(syntax, 'SelectSetQuery')) refuse('UNIONs are not supported');
  const query = isA(syntax, 'SelectQuery') ? syntax : refuse(UNSUPPORTED);
  const from = query.select_from ?? refuse('Query must SELECT FROM events');
  if ('ctes' in query && query.ctes !== null) refuse('CTEs are not supported');
  checkTable(from);
  refuseParts(query, ['node', 'select', 'select_from', 'where'], CLAUSES);
  const tables = ['events', ...(from.alias === null ? [] : [from.alias])];
  const aliases = new Map(query.select.flatMap((one) => (isA(one, 'Alias') ? [[one.alias, one.expr] as const] : [])));
  const scope = newScope({ table, reader, tables, aliases, isSelect: true });
  const select = query.select.map((one) => selected(one, scope));
  checkNames(select);
  const inWhere = { ...scope, isSelect: false };
  const where = query.where ? condition(expression(query.where, inWhere), 'WHERE') : null;
  const all = select.flatMap((one) => ('all' in one ? [] : [one.expression]));
  checkSizes(where === null ? all : [...all, where]);
  return { syntax: query, select, where };
}

/** The tree of a condition by itself, over a table; `reader` as of a query. */
export function checkedCondition(syntax: Syntax, table: QueryTable, reader: string): Expression {
  const scope = newScope({ table, reader, tables: ['events'], aliases: new Map(), isSelect: false });
  return condition(expression(syntax, scope), 'A filter');
}

const newScope = (about: Pick<Scope, 'table' | 'reader' | 'tables' | 'aliases' | 'isSelect'>): Scope => ({
  ...about,
  built: new Map(),
  following: [],
  variables: [],
  visits: { now: 0, all: 0 },
});

function checkTable(from: JoinExpr): void {
  const { table } = from;
  if (isQuery(table)) refuse('Subqueries are not supported');
  if (isA(table, 'Placeholder')) refuse('Placeholders are not supported');
  if (!isA(table, 'Field') || table.chain.length !== 1 || table.chain[0] !== 'events')
    refuse('Query must only SELECT FROM events');
  refuseParts(from, ['node', 'table', 'alias'], FROM_CLAUSES);
}

function selected(syntax: Syntax, scope: Scope): QueryColumn {
  if (isA(syntax, 'Field') && withoutTable(syntax.chain, scope).join('.') === '*') return ALL;
  const found = isA(syntax, 'Alias') ? standingFor(syntax.alias, syntax.expr, scope) : expression(syntax, scope);
  const name = isA(syntax, 'Alias') ? syntax.alias : hogqlName(syntax);
  checkName(name);
  // A date is delivered as `2026-11-21`, which every destination can take.
  const value = found.type === 'date' ? converted(found, 'text', name) : found;
  if (isTuple(value.type)) refuse(`${name} is a tuple, which is not exported; select its parts`);
  if (isList(value.type) && value.type !== 'texts')
    refuse(`${name} is a list of other values than texts; use arrayMap(x -> toString(x), ...)`);
  return { name, type: value.type as Selected['type'], expression: value };
}

const MAX_NAME = 200;

function checkName(name: string): void {
  if (name.trim() === '') refuse('A column must have a name');
  if (name.includes('\0') || !name.isWellFormed()) refuse('Null characters are not allowed');
  if (name.length > MAX_NAME)
    refuse(`The name of a column is longer than ${MAX_NAME} characters: ${beginningOf(name, 50)}...; give it an alias`);
}

/** Letter case does not tell columns apart in every destination. */
function checkNames(select: CheckedQuery['select']): void {
  const seen = new Set<string>();
  for (const one of select) {
    const name = 'all' in one ? '*' : one.name;
    if (seen.has(name.toLowerCase())) refuse(`Duplicate column name: ${name}`);
    seen.add(name.toLowerCase());
  }
}
