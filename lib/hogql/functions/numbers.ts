/** Functions of numbers: arithmetic, rounding, conversions. */
import { beginningOf } from '../../basics/text.ts';
import { allAs, argument, constantText, converted, integerConstant, isNothing, nothing, operation } from '../build.ts';
import { type Expression, type Operator, type Type } from '../expression.ts';
import { namesNumber } from '../patterns.ts';
import { refuse } from '../refusal.ts';
import { exactly, type FunctionSpec, given } from './spec.ts';
import { shifted } from './times.ts';
import { choice, less, otherwise } from './values.ts';

const NUMBERS: readonly Type[] = ['integer', 'boolean'];
const TIMES: readonly Type[] = ['date', 'instant'];

/** Arithmetic, in integers where all are; else in floats. A text is read as a number, a time moved by one. */
export function arithmetic(of: readonly Expression[], name: string, whole: Operator, float: Operator): Expression {
  const [left, right] = of;
  const ofTimes =
    left && right && (whole === 'add' || whole === 'subtract')
      ? arithmeticOfTimes(left, right, whole === 'subtract', name)
      : undefined;
  if (ofTimes !== undefined) return ofTimes;
  const isWhole = of.every((one) => NUMBERS.includes(one.type) || isNothing(one));
  return isWhole ? operation(whole, allAs(of, 'integer', name)) : operation(float, asFloats(of, name));
}

/**
 * A date so many days later, a time so many seconds; or, between two of a kind, how many days or seconds lie, the latter
 * with a fraction. Undefined: it is another kind of arithmetic.
 */
function arithmeticOfTimes(left: Expression, right: Expression, isBack: boolean, name: string): Expression | undefined {
  if (isBack && left.type === 'date' && right.type === 'date') {
    const days = [left, right].map((date) =>
      operation('count_units', [operation('instant_of_date', [date])], { unit: 'day' }),
    );
    return operation('subtract', days);
  }
  if (isBack && left.type === 'instant' && right.type === 'instant') {
    const between = [left, right].map((time) => operation('microseconds', [time]));
    return divided([operation('subtract', between), { constant: '1000000', type: 'float' }], name);
  }
  const [time, count] = !isBack && TIMES.includes(right.type) ? [right, left] : [left, right];
  const isCounted =
    TIMES.includes(time.type) && (NUMBERS.includes(count.type) || count.type === 'float' || isNothing(count));
  return isCounted ? shifted(time, count, time.type === 'date' ? 'day' : 'second', isBack, name) : undefined;
}

/** Division, whose result has a fraction. */
export const divided = (of: readonly Expression[], name: string): Expression => operation('divide', asFloats(of, name));

function asFloats(of: readonly Expression[], name: string): Expression[] {
  const text = of.map(constantText).find((one) => one !== undefined && !namesNumber(one));
  if (text !== undefined)
    refuse(`${name} takes numbers, not the text '${beginningOf(text, 100)}'; concat() puts texts together`);
  return allAs(of, 'float', name);
}

export const counting = (whole: Operator, float: Operator, count: number): FunctionSpec =>
  exactly(count, (of, name) => arithmetic(of, name, whole, float));

/** An integer to the nearest multiple; halves away from zero, as ClickHouse rounds integers. */
export function roundedInteger(value: Expression, multiple: number, name: string): Expression {
  const half = integerConstant(multiple / 2);
  const below = operation('subtract', [value, half]);
  const beyond = choice([less([value, integerConstant(0)], name), below, operation('add', [value, half])], name);
  const of = integerConstant(multiple);
  return operation('multiply', [operation('divide_whole', [beyond, of]), of]);
}

/** Integers are as they are; others are floats. */
export const rounding = (operator: Operator): FunctionSpec =>
  exactly(1, (of, name) => {
    const value = given(of, 0);
    return value.type === 'integer' ? value : operation(operator, [argument(value, 'float', name)]);
  });

export const conversion = (type: Type): FunctionSpec => exactly(1, (of, name) => converted(given(of, 0), type, name));

/** Of a text that is no number 0; null where the text is missing. */
export const orZero = (type: 'integer' | 'float'): FunctionSpec =>
  exactly(1, (of, name) => {
    const text = argument(given(of, 0), 'text', name);
    const number = otherwise(converted(text, type, name), { constant: '0', type });
    return operation('if', [operation('is_null', [text]), nothing(type), number]);
  });
