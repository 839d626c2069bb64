/** Functions over the rows around a row: `f(x) OVER (PARTITION BY ... ORDER BY ... ROWS BETWEEN ...)`. */
import { beginningOf } from '../basics/text.ts';
import { aggregateOf, isAggregate } from './aggregates.ts';
import { argument, integerConstant, nothing, operation, plain, unified } from './build.ts';
import type { Bound, Expression, Frame, Order, Window, WindowName } from './expression.ts';
import { condition } from './functions/values.ts';
import { refuse } from './refusal.ts';
import type { FrameEnd, WindowExpr } from './syntax.ts';

const RANKS: Readonly<Record<string, WindowName>> = {
  row_number: 'row_number',
  rank: 'rank',
  dense_rank: 'dense_rank',
};
const SHIFTS: Readonly<Record<string, WindowName>> = {
  lag: 'lag',
  lead: 'lead',
  lagInFrame: 'lag',
  leadInFrame: 'lead',
};
const ENDS: Readonly<Record<string, WindowName>> = {
  first_value: 'first_value',
  last_value: 'last_value',
};

/** Every name, beside those of the aggregates. */
export const WINDOW_NAMES: readonly string[] = [RANKS, SHIFTS, ENDS].flatMap((all) => Object.keys(all));

/** What stands after OVER. */
export interface Over {
  readonly partition: readonly Expression[];
  readonly order: readonly Order[];
  readonly frame: Frame | undefined;
}

/** Distances are added to what a RANGE is ordered by: what lies beyond this has none. */
const MOST_ORDERED = '4000000000000000000';

/** What a RANGE with a distance is ordered by: a number or a time to which the distance can be added. */
export function measurable(value: Expression): Expression {
  if (value.type === 'float') return value;
  if (value.type !== 'integer' && value.type !== 'instant')
    return refuse('RANGE with a distance is ordered by a number or a time; the distance of times is in microseconds');
  const bound = (constant: string): Expression => ({ constant, type: value.type });
  const isInside = operation('and', [
    operation('less', [bound(`-${MOST_ORDERED}`), value]),
    operation('less', [value, bound(MOST_ORDERED)]),
  ]);
  return operation('if', [isInside, value, nothing(value.type)]);
}

/** Whether a frame reaches to a distance. */
export const hasDistance = (frame: Frame | undefined): boolean =>
  frame?.by === 'range' && [frame.from, frame.to].some((one) => typeof one === 'number' && one !== 0);

/** How far back or ahead LAG and LEAD look at most. */
const MAX_SHIFT = 1_000_000;

/** Returns the window that a call of its name means. `parameters` are those in brackets before the arguments. */
export function windowOf(
  name: string,
  of: readonly Expression[],
  parameters: readonly Expression[],
  over: Over,
): Window {
  const { frame, ...rest } = over;
  const [rank, shift, end] = [RANKS, SHIFTS, ENDS].map((all) => (Object.hasOwn(all, name) ? all[name] : undefined));
  if (rank !== undefined) {
    if (of.length > 0) refuse(`${name}() takes no argument`);
    return { window: rank, of, ...rest, type: 'integer' };
  }
  if (shift !== undefined) return { ...shifted(name, shift, of), ...rest };
  if (end !== undefined) {
    const [value, ...others] = of;
    if (value === undefined || others.length > 0) return refuse(`${name}() takes one argument`);
    return { window: end, of: [value], ...rest, ...(frame && { frame }), type: value.type };
  }
  if (!isAggregate(name)) return refuse(`Window functions like ${beginningOf(name, 100)}() are not supported`);
  const { aggregate, where, ...found } = aggregateOf(name, of, {
    isDistinct: false,
    parameter: parameters[0],
    where: undefined,
  });
  if (aggregate === 'count_distinct' || aggregate === 'list_distinct' || aggregate.startsWith('arg_'))
    refuse(`${name}() is not supported as a window function`);
  const window = aggregate === 'any_last' ? 'last_value' : aggregate;
  return { window, ...found, of: counted(aggregate, found, where), ...rest, ...(frame && { frame }) };
}

/** The values that count: null stands for those that do not. Of a sum that is 0 of no rows, then what its rows are counted by. */
function counted(
  name: string,
  { of, orZero }: Pick<Window, 'of' | 'orZero'>,
  where: Expression | undefined,
): readonly Expression[] {
  if (where === undefined) return of;
  if (name === 'list') refuse('groupArrayIf() is not supported as a window function');
  const one = integerConstant(1);
  const [value = one] = of;
  return (orZero ? [value, one] : [value]).map((each) =>
    operation('if', [condition(where, 'If'), each, nothing(each.type)]),
  );
}

function shifted(name: string, window: WindowName, of: readonly Expression[]): Omit<Window, 'partition' | 'order'> {
  const [value, by, otherwise] = of;
  if (value === undefined || of.length > 3) return refuse(`${name}() takes a value, how far, and what stands for none`);
  const far = by === undefined ? integerConstant(1) : argument(by, 'integer', `${name}()`);
  const isFar = 'constant' in far && Number(far.constant) >= 0 && Number(far.constant) <= MAX_SHIFT;
  if (!isFar) refuse(`Argument 2 of ${name}() must be a constant from 0 to ${MAX_SHIFT}`);
  const values = otherwise === undefined ? [value] : unified([value, otherwise], `${name}()`);
  const [first = value, ...last] = values.map(plain);
  return { window, of: [first, far, ...last], type: first.type };
}

const reachOf = (bound: Bound): number =>
  bound === 'first' ? Number.NEGATIVE_INFINITY : bound === 'last' ? Number.POSITIVE_INFINITY : bound;

/** The frame that is written; undefined: there is none. */
export function frameOf({ frame_method, frame_start, frame_end, order_by }: WindowExpr): Frame | undefined {
  if (!frame_start) return undefined;
  const by = frame_method === 'RANGE' ? 'range' : 'rows';
  const [from, to] = [boundOf(frame_start, false), frame_end ? boundOf(frame_end, true) : 0];
  if (reachOf(from) > reachOf(to)) refuse('A frame ends before it begins');
  const frame: Frame = { by, from, to };
  if (hasDistance(frame) && order_by?.length !== 1) refuse('RANGE with a distance takes one expression after ORDER BY');
  return frame;
}

function boundOf({ frame_type, frame_value }: FrameEnd, isEnd: boolean): Bound {
  if (frame_type === 'CURRENT ROW') return 0;
  const isBefore = frame_type === 'PRECEDING';
  if (frame_value === null || frame_value === undefined) {
    if (isBefore === isEnd) refuse('A frame reaches from what is before to what is after');
    return isBefore ? 'first' : 'last';
  }
  if (!Number.isSafeInteger(frame_value) || frame_value < 0) refuse('The distance of a frame is a whole number');
  return isBefore ? -frame_value : frame_value;
}
