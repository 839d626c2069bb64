/** Calls of what only a SELECT has: aggregates and arrayJoin(). */
import { getOrMake } from '../../basics/maps.ts';
import { aggregateOf, isAggregate, isNullable } from '../aggregates.ts';
import { integerConstant, operation } from '../build.ts';
import { expression, type Scope, standing } from '../check.ts';
import { clickhouseType, nullable, withClickhouseType } from '../clickhouse-types.ts';
import { type Aggregate, type Expression, isList } from '../expression.ts';
import { aList } from '../functions/values.ts';
import { functionOf } from '../functions.ts';
import { refuse } from '../refusal.ts';
import { columnOf } from '../size.ts';
import { type Call, isA, isQuery, type Syntax } from '../syntax.ts';
import type { Making, Stage } from './making.ts';
import { idOf, relationName } from './whole.ts';

/** `any` is an aggregate; what a name that is a function too means is the function. */
const isAggregateCall = (name: string): boolean => functionOf(name) === undefined && isAggregate(name);

/** Whether syntax calls an aggregate that belongs to the query itself: not in a subquery, nor as a window. */
export function hasAggregate(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasAggregate);
  if (typeof value !== 'object' || value === null) return false;
  const { node, name } = value as { readonly node?: string; readonly name?: string };
  if (node !== undefined && isQuery({ node })) return false;
  if (node === 'Call' && name !== undefined && isAggregateCall(name)) return true;
  return Object.values(value).some(hasAggregate);
}

/** What the parser reads as the call of a function, and is none. */
const NO_CALLS: Readonly<Record<string, string>> = {
  EXISTS: 'EXISTS is not supported; use IN (SELECT …)',
  ON: 'DISTINCT ON is not supported; use LIMIT 1 BY',
};

/** A call of an aggregate, or of what only a SELECT has. */
export function callOf(
  node: Call,
  making: Making,
  stage: Stage,
  scope: Scope,
  inRows: () => Scope,
): Expression | undefined {
  if (node.name === 'arrayJoin') return unnested(node, making, scope, inRows());
  const misread = NO_CALLS[node.name.toUpperCase()];
  if (misread !== undefined) return refuse(misread);
  if (!isAggregateCall(node.name)) return undefined;
  if (making.group === undefined || stage !== 'groups' || scope.variables.length > 0)
    return refuse(`Aggregate functions are not supported here: ${node.name}()`);
  if (node.order_by) refuse(`ORDER BY is not supported in ${node.name}()`);
  const { group } = making;
  const rows = inRows();
  const of = (one: Syntax): Expression => expression(one, rows);
  const args = node.args.length === 1 && isStar(node.args[0] as Syntax) ? [] : node.args.map(of);
  if ((node.params?.length ?? 0) > 1) refuse(`${node.name}() takes one parameter`);
  const aggregate = aggregateOf(node.name, args, {
    isDistinct: node.distinct === true,
    parameter: node.params?.[0] && of(node.params[0]),
    where: node.filter_expr ? of(node.filter_expr) : undefined,
  });
  const key = JSON.stringify([
    aggregate.aggregate,
    aggregate.of.map((one) => idOf(one, making.whole)),
    aggregate.where && idOf(aggregate.where, making.whole),
    aggregate.at,
  ]);
  return getOrMake(making.aggregates, key, () => {
    const column = columnOf(resultOf(aggregate), group, `a${making.aggregates.size}`);
    return { value: aggregate, column: withClickhouseType(column, clickhouseOfAggregate(aggregate)) };
  }).column;
}

export const isStar = (syntax: Syntax): boolean => isA(syntax, 'Field') && syntax.chain.join('.') === '*';

/** A value that is as long as what an aggregate or a window gives. */
export function resultOf({ of: [first], type }: Pick<Aggregate, 'of' | 'type'>): Expression {
  if (first?.type === type) return first;
  return first !== undefined && isList(type) ? operation('list', [first]) : { constant: null, type };
}

function clickhouseOfAggregate(aggregate: Aggregate): string {
  if (aggregate.aggregate.startsWith('count')) return 'UInt64';
  if (aggregate.orZero) return clickhouseType({ constant: '0', type: aggregate.type });
  const [first] = aggregate.of;
  const value = first === undefined ? 'Int64' : clickhouseType(first);
  if (first?.type === aggregate.type && isList(first.type)) return value;
  if (isList(aggregate.type)) return `Array(${value.replace(/^Nullable\((.*)\)$/, '$1')})`;
  const plain = first?.type === aggregate.type ? value : clickhouseType({ constant: '0', type: aggregate.type });
  return isNullable(aggregate) ? nullable(plain) : plain;
}

/** `arrayJoin(list)`: the row once for each element. */
function unnested({ args: [of, ...rest] }: Call, making: Making, scope: Scope, rows: Scope): Expression {
  if (of === undefined || rest.length > 0) return refuse('arrayJoin() takes one list');
  if (scope.variables.length > 0) refuse('arrayJoin() is not supported in a lambda');
  if (making.values === undefined) refuse('arrayJoin() is not supported after ON');
  const list = aList(expression(of, rows), 'arrayJoin()');
  const { whole } = making;
  if (making.unnest !== undefined && idOf(making.unnest.list, whole) !== idOf(list, whole))
    refuse('A query may go through one list with arrayJoin(); use a subquery for another');
  making.unnest ??= { list, as: relationName(whole) };
  const element = operation('element', [list, integerConstant(1)]);
  const column = columnOf(element, making.unnest.as, 'c0');
  return standing(column, scope);
}
