/** Subqueries in an expression: as a value, and after IN. */
import { allOf, comparable, operation, partsOf, truth, tupleOfParts } from '../build.ts';
import type { Scope } from '../check.ts';
import { nullable, withClickhouseType } from '../clickhouse-types.ts';
import { type Expression, isTuple, type Query, type Select } from '../expression.ts';
import { refuse } from '../refusal.ts';
import { columnOf } from '../size.ts';
import type { Syntax } from '../syntax.ts';
import { hogqlText } from '../text.ts';
import { columnNamed } from './columns.ts';
import type { Making, Stage } from './making.ts';
import { countSource, idOfText, relationName } from './whole.ts';

/** `(SELECT ...)` as a value: the query has one column and one row at most, which is read beside each row. */
export function valueOfQuery(syntax: Syntax, { named, whole, values }: Making, stage: Stage, scope: Scope): Expression {
  if (values === undefined || scope.variables.length > 0)
    return refuse('A subquery as a value is not supported after ON and in a lambda');
  countSource(whole);
  const { query, columns } = whole.check(syntax, named);
  const [column, ...rest] = columns;
  if (column === undefined || rest.length > 0) return refuse('A subquery as a value has one column');
  const as = relationName(whole);
  const count = rowCount(query);
  if (count === 'many') refuse('A subquery as a value has one row: aggregates without GROUP BY, or LIMIT 1');
  const source = { query, as };
  values[stage].push(count === 'one' ? { kind: 'cross', source } : { kind: 'left', source, on: truth(true) });
  const { clickhouse, expression: value } = column;
  const found = withClickhouseType(columnOf(value, as, 'c0'), nullable(clickhouse));
  // Before the groups and after them it is the same value, so that what is grouped by it is known again.
  whole.idOf.set(found, idOfText(`query ${hogqlText(syntax)}`, whole));
  return found;
}

/** How many rows a query surely has: one, one at most, or perhaps more. */
function rowCount(query: Query): 'one' | 'at most one' | 'many' {
  if ('union' in query) return 'many';
  const { from, where, unnest, group, having, limit, offset } = query;
  const isOne = group === undefined ? from === undefined && unnest === undefined : group.keys.length === 0;
  if (!isOne) return limit !== undefined && limit <= 1 ? 'at most one' : 'many';
  const isThere = having === undefined && (limit ?? 1) > 0 && (offset ?? 0) === 0;
  return isThere && (group !== undefined || where === undefined) ? 'one' : 'at most one';
}

/** `x IN (SELECT ...)`. Its query is the same one each time, so that what is grouped by it is known again. */
export function amongQuery(value: Expression, syntax: Syntax, { named, whole }: Making): Expression {
  let asked = whole.among.get(syntax);
  if (asked === undefined) {
    countSource(whole);
    asked = { ...whole.check(syntax, named), as: relationName(whole) };
    whole.among.set(syntax, asked);
  }
  const { query, columns, as } = asked;
  const inner = columns.map((one, n) => columnOf(one.expression, as, `c${n}`));
  const [only, ...rest] = inner;
  const parts = isTuple(value.type) ? partsOf(value) : [value];
  const others = rest.length === 0 && only !== undefined && isTuple(only.type) ? partsOf(only) : inner;
  if (parts.length !== others.length)
    refuse(
      isTuple(value.type) ? `The subquery of IN has ${parts.length} columns` : 'The subquery of IN has one column',
    );
  const pairs = parts.map((part, n) => comparable([part, others[n] as Expression], 'IN'));
  const side = (n: 0 | 1): Expression => {
    const all = pairs.map((pair) => pair[n] as Expression);
    return isTuple(value.type) ? tupleOfParts(all) : (all[0] as Expression);
  };
  const [left, right] = [side(0), side(1)];
  const present = pairs.map(([, other]) => operation('not', [operation('is_null', [other as Expression])]));
  const listed: Select = {
    from: { query, as },
    joins: [],
    where: allOf(present),
    columns: [columnNamed('in', right)],
    distinct: false,
    order: [],
  };
  return operation('in_query', [left], { query: listed });
}
