/** Functions of values of any type: comparisons, choices, what may be missing, lists. */
import { beginningOf } from '../../basics/text.ts';
import {
  allOf,
  argument,
  comparable,
  constantText,
  integerConstant,
  operation,
  partsOf,
  textConstant,
  unified,
} from '../build.ts';
import { type Expression, elementType, isList, isTuple, type List, type Operator, type Type } from '../expression.ts';
import { namesBoolean } from '../patterns.ts';
import { refuse } from '../refusal.ts';
import { heldBy } from '../size.ts';
import { atLeast, exactly, type FunctionSpec, given } from './spec.ts';

/** A value as a condition: numbers that are not 0, and texts that say so, are true. A text that cannot say so is refused. */
export function condition(value: Expression, what: string): Expression {
  const text = constantText(value);
  if (value.type === 'text' && !mayBeBoolean(value))
    refuse(
      `${what} takes a boolean, not ${text === undefined ? "text; compare it, as in event = 'a'" : `the text '${beginningOf(text, 100)}'`}`,
    );
  return argument(value, 'boolean', what);
}

/** What gives the whole of a text that it takes, but for the letter case and spaces around it. */
const KEEPING: readonly string[] = [
  'lower',
  'upper',
  'trim',
  'if',
  'coalesce',
  'least',
  'greatest',
] satisfies Operator[];

/** Whether a text may read as a boolean: it is no column of a table, whole as it is, and no constant that is none. */
export function mayBeBoolean(text: Expression): boolean {
  const constant = constantText(text);
  if (constant !== undefined) return namesBoolean(constant);
  if ('column' in text) {
    const expression = heldBy(text);
    return expression !== undefined && (expression.type !== 'text' || mayBeBoolean(expression));
  }
  if (!('operator' in text) || !KEEPING.includes(text.operator)) return true;
  return text.of.filter(({ type }) => type === 'text').some(mayBeBoolean);
}

/** A number without its fraction. */
export const wholePart = (number: Expression): Expression =>
  number.type === 'float' ? operation('truncated_float', [number]) : number;

/** Whether a value is a constant that is not null, or a tuple, which is none. */
export const isPresent = (value: Expression): boolean =>
  'constant' in value ? value.constant !== null : 'operator' in value && value.operator === 'tuple';

/** The number that a constant is; undefined: it is something else. */
export const integerOf = (value: Expression): number | undefined =>
  'constant' in value && value.type === 'integer' && value.constant !== null ? Number(value.constant) : undefined;

/** What holds of two tuples where `same` holds of each part and what is in its place. */
export function partByPart<Other>(
  parts: readonly Expression[],
  others: readonly Other[],
  same: (part: Expression, other: Other) => Expression,
): Expression {
  if (parts.length !== others.length) refuse(`Tuples of ${parts.length} and ${others.length} parts cannot be compared`);
  return allOf(parts.map((part, n) => same(part, others[n] as Other)));
}

export function equal(of: readonly Expression[], name: string): Expression {
  const [left, right] = of;
  if (left && right && isTuple(left.type) && isTuple(right.type))
    return partByPart(partsOf(left), partsOf(right), (part, other) => equal([part, other], name));
  return operation('equal', comparable(of, name));
}
export const unequal = (of: readonly Expression[], name: string): Expression => operation('not', [equal(of, name)]);
export const less = (of: readonly Expression[], name: string): Expression => operation('less', ordered(of, name));
export const lessOrEqual = (of: readonly Expression[], name: string): Expression =>
  operation('less_or_equal', ordered(of, name));
export const turned = ([a, b]: readonly Expression[]): Expression[] => [b, a] as Expression[];

export function ordered(of: readonly Expression[], name: string): Expression[] {
  const values = comparable(of, name);
  if (values.some(({ type }) => isList(type))) refuse(`${name} cannot compare lists`);
  return values.some(({ type }) => isTuple(type)) ? refuse(`${name} cannot compare tuples`) : values;
}

/** The first value that is there. What a text holds beside a number, a boolean or a time is read as one. */
export function firstOf(of: readonly Expression[], name: string): Expression {
  const isRead = of.some(({ type }) => type === 'text') && of.some(({ type }) => READ_BESIDE.includes(type));
  const isConstant = of.some((one) => constantText(one) !== undefined);
  return operation('coalesce', isRead && !isConstant ? comparable(of, name) : unified(of, name));
}
const READ_BESIDE: readonly Type[] = ['integer', 'float', 'boolean', 'instant', 'date'];

export const otherwise = (value: Expression, or: Expression): Expression => operation('coalesce', [value, or]);

export const logical = (operator: 'and' | 'or'): FunctionSpec =>
  atLeast(2, (of, name) =>
    operation(
      operator,
      of.map((one) => condition(one, name)),
    ),
  );

/** The element of a list at a place, from 1, or from the end where it is negative; of texts one that is not there is empty. */
export function elementOf(value: Expression, place: Expression, name: string): Expression {
  const list = aList(value, name);
  const element = operation('element', [list, argument(place, 'integer', name)]);
  return list.type === 'texts' ? otherwise(element, textConstant('')) : element;
}

export const ofTwoLists = (operator: 'has_any' | 'has_all'): FunctionSpec =>
  exactly(2, (of, name) => {
    const lists = of.map((one) => aList(one, name));
    return operation(operator, unified(lists, name));
  });

/** A list upward; what is missing comes last. */
export function sorted(value: Expression, name: string): Expression {
  const list = aList(value, name);
  return isTuple(elementType(list.type as List)) ? refuse(`${name} cannot sort tuples`) : operation('sort', [list]);
}

/** A value that must be a list. */
export const aList = (value: Expression, name: string): Expression =>
  isList(value.type) ? value : argument(value, 'texts', name);

export const isEmpty = (value: Expression, name: string): Expression =>
  isList(value.type)
    ? operation('same', [operation('list_length', [value]), integerConstant(0)])
    : operation('same', [argument(value, 'text', name), textConstant('')]);

/** Conditions and values in turn, and the value where none holds. */
export function choice(of: readonly Expression[], name: string): Expression {
  if (of.length % 2 === 0) refuse(`${name} takes conditions and values in turn, and one more value`);
  const isValue = (n: number): boolean => n % 2 === 1 || n === of.length - 1;
  const toGive = of.filter((_, n) => isValue(n));
  const values = unified(toGive, name);
  let next = 0;
  return operation(
    'if',
    of.map((one, n) => (isValue(n) ? (values[next++] as Expression) : condition(one, name))),
  );
}

export function most(operator: 'least' | 'greatest', of: readonly Expression[], name: string): Expression {
  const values = ordered(of, name);
  return values.length === 1 ? given(values, 0) : operation(operator, values);
}
