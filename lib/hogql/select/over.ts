/** Calls of window functions: `name(...) OVER (...)`. */
import { getOrMake } from '../../basics/maps.ts';
import { beginningOf } from '../../basics/text.ts';
import { expression, type Scope } from '../check.ts';
import { clickhouseType, nullable, withClickhouseType } from '../clickhouse-types.ts';
import type { Expression, Window } from '../expression.ts';
import { refuse } from '../refusal.ts';
import { columnOf } from '../size.ts';
import { type Syntax, saidOver, type WindowExpr, type WindowFunction } from '../syntax.ts';
import { frameOf, hasDistance, measurable, type Over, windowOf } from '../windows.ts';
import { isStar, resultOf } from './calls.ts';
import type { Making } from './making.ts';
import { inTurn, readOrder, varying } from './order.ts';
import { countWindow, idOf } from './whole.ts';

const clickhouseOfWindow = ({ window, of: [first], orZero, type }: Window): string => {
  if (/^(count|row_number|rank|dense_rank)$/.test(window)) return 'UInt64';
  if (orZero) return clickhouseType({ constant: '0', type });
  const plain = first?.type === type ? clickhouseType(first) : clickhouseType({ constant: '0', type });
  return nullable(plain);
};

function overOf(written: WindowExpr | undefined, of: (syntax: Syntax) => Expression): Over {
  if (written === undefined) return { partition: [], order: [], frame: undefined };
  const frame = frameOf(written);
  const ordered = (syntax: Syntax): Expression => (hasDistance(frame) ? measurable(of(syntax)) : of(syntax));
  return {
    partition: (written.partition_by ?? []).map(of),
    order: varying(
      (written.order_by ?? [])
        .map(readOrder)
        .flatMap(({ expr, order }) => inTurn({ expression: ordered(expr), down: order === 'DESC' })),
    ),
    frame,
  };
}

export const ofWindows = (windows: readonly Window[]): Expression[] =>
  windows.flatMap(({ of, partition, order }) => [...of, ...partition, ...order.map((one) => one.expression)]);

/** What the call of a window function gives; what is in it is read in a scope of its own. */
export function overCall(node: WindowFunction, making: Making, inside: Scope): Expression {
  const of = (one: Syntax): Expression => expression(one, inside);
  const named = node.over_identifier ? making.windowNames[node.over_identifier] : undefined;
  if (node.over_identifier && named === undefined)
    refuse(`There is no window ${beginningOf(node.over_identifier, 100)}`);
  const over = overOf(node.over_expr ?? named, of);
  const { parameters, of: args } = saidOver(node);
  const all = args.length === 1 && isStar(args[0] as Syntax) ? [] : args;
  const window = windowOf(node.name, all.map(of), parameters.map(of), over);
  const { whole } = making;
  const ids = ofWindows([window]).map((one) => idOf(one, whole));
  const shape = [
    window.window,
    window.at,
    window.of.length,
    window.partition.length,
    window.order.map(({ down }) => down),
    window.frame,
  ];
  const key = JSON.stringify([shape, ids]);
  return getOrMake(making.windows, key, () => {
    countWindow(whole);
    const column = columnOf(resultOf(window), making.window, `w${making.windows.size}`);
    return { value: window, column: withClickhouseType(column, clickhouseOfWindow(window)) };
  }).column;
}
