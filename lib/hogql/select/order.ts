/** ORDER BY, of a query and of a window. */
import { partsOf } from '../build.ts';
import { expression, refuseParts, type Scope } from '../check.ts';
import { type Column, isTuple, type Order } from '../expression.ts';
import type { OrderExpr } from '../syntax.ts';
import { positionOf } from './columns.ts';
import { idOf, type Whole } from './whole.ts';

/** Constants say nothing of the order, and DuckDB refuses them. */
export const varying = (orders: readonly Order[]): Order[] =>
  orders.filter(({ column, expression: by }) => column !== undefined || !('constant' in by));

/** Rows are in the order of a tuple where they are in that of its parts, one after the other. */
export const inTurn = ({ expression: by, down }: Order): Order[] =>
  isTuple(by.type) ? partsOf(by).map((part) => ({ expression: part, down })) : [{ expression: by, down }];

/** Which expression rows are ordered by, and how. */
export function readOrder(syntax: OrderExpr): OrderExpr {
  refuseParts(syntax, ['node', 'expr', 'order'], { with_fill: 'WITH FILL is not supported' });
  return syntax;
}

export function orderOf(syntax: OrderExpr, columns: readonly Column[], scope: Scope, whole: Whole): Order[] {
  const { expr, order } = readOrder(syntax);
  const position = positionOf(expr, columns.length);
  const value = position === undefined ? expression(expr, scope) : (columns[position] as Column).expression;
  return inTurn({ expression: value, down: order === 'DESC' }).map((one) => {
    const column = columns.findIndex(({ expression: known }) => idOf(known, whole) === idOf(one.expression, whole));
    const found = one.expression === value ? (position ?? column) : column;
    return { ...one, ...(found >= 0 && { column: found }) };
  });
}
