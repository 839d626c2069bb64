/** GROUP BY: its keys, and what may stand behind it. */
import { expression, type Scope, standingFor } from '../check.ts';
import { clickhouseType, withClickhouseType } from '../clickhouse-types.ts';
import { type Aggregate, type Expression, fieldsIn } from '../expression.ts';
import { refuse } from '../refusal.ts';
import { columnOf } from '../size.ts';
import { isA, type SelectQuery, type Syntax } from '../syntax.ts';
import { hasAggregate } from './calls.ts';
import { positionOf } from './columns.ts';
import type { Making } from './making.ts';
import { idOf } from './whole.ts';

/** An entry of GROUP BY: an expression, which may have an alias of its own, an alias, or the place of a column. */
export function keyOf(syntax: Syntax, { select }: SelectQuery, { whole }: Making, rows: Scope): Expression {
  const at = positionOf(syntax, select.length);
  const meant = at === undefined ? syntax : (select[at] as Syntax);
  if (hasAggregate(meant)) refuse('Aggregate functions are not supported in GROUP BY');
  if (!isA(meant, 'Alias')) return expression(meant, rows);
  const key = standingFor(meant.alias, meant.expr, rows);
  // The same alias may stand in SELECT, or at another key.
  const known = rows.aliases.get(meant.alias) ?? meant.expr;
  const isAlike =
    known === meant.expr || (!hasAggregate(known) && idOf(expression(known, rows), whole) === idOf(key, whole));
  return isAlike ? key : refuse(`Alias ${meant.alias} stands for two expressions`);
}

export function addKey(key: Expression, { keys, group, whole }: Making): void {
  const id = idOf(key, whole);
  if (keys.has(id) || group === undefined) return;
  const column = withClickhouseType(columnOf(key, group, `k${keys.size}`), clickhouseType(key));
  keys.set(id, { value: key, column });
  // What is made of a key is alike, whether it is made before or after the groups.
  whole.idOf.set(column, id);
}

export const keyFor = (built: Expression, making: Making): Expression =>
  'constant' in built ? built : (making.keys.get(idOf(built, making.whole))?.column ?? built);

/** Refuses a column of the rows where there are groups. */
export function checkLoose(expressions: readonly Expression[], { group, window, whole, values }: Making): void {
  const known = [group, window, ...(values?.groups ?? []).map(({ source }) => source.as)];
  const loose = fieldsIn(expressions).find(({ relation }) => !known.includes(relation));
  if (loose === undefined) return;
  const name = whole.names.get(loose);
  refuse(`${name ?? 'A column'} is neither in GROUP BY nor in an aggregate function, as in any(${name ?? 'x'})`);
}

/** Whether what an aggregate gives goes by the order of its rows. */
export const isOfOrder = ({ aggregate }: Aggregate): boolean => aggregate === 'list' || aggregate.startsWith('any');

/** The aggregate of rows that are in the order of their places; undefined: in none. */
export function inOrder(aggregate: Aggregate, place: Expression | undefined): Aggregate {
  if (place === undefined || !isOfOrder(aggregate)) return aggregate;
  if (aggregate.aggregate === 'list') return { ...aggregate, by: place };
  const isLast = aggregate.aggregate === 'any_last';
  return { ...aggregate, aggregate: isLast ? 'arg_max' : 'arg_min', of: [...aggregate.of, place] };
}
