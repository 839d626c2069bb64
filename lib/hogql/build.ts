/** How nodes of the checked tree are made: each of the right types, with the conversions that it needs. */

import { beginningOf } from '../basics/text.ts';
import { clockOfQuery, movedApart, movedInto, movedTogether, withClockOf, zoneAmong, zoneOf } from './clock.ts';
import {
  type Expression,
  elementType,
  type FormatPiece,
  isList,
  isTuple,
  listOf,
  OPERATORS,
  type Operator,
  type Parameters,
  partTypes,
  type QueryTable,
  type Scalar,
  type Signature,
  type Tuple,
  type Type,
  tupleType,
} from './expression.ts';
import { checkedTime, namesBoolean, namesNumber, timeOf } from './patterns.ts';
import { refuse } from './refusal.ts';
import { type LambdaMeasure, measured } from './size.ts';

/** The field of a table that has it; the name of one that has not is a mistake of ours. */
export function column(table: QueryTable, name: string): Expression {
  const field = table.get(name);
  if (field === undefined) throw new Error(`the table has no field ${name}`);
  return field;
}
export const textConstant = (value: string): Expression => ({ constant: value, type: 'text' });
export const integerConstant = (value: number): Expression => ({ constant: String(value), type: 'integer' });
/** The index, from 0, of a place in an array, from 1; undefined: it is none. */
export const indexOf = (place: number): number | undefined =>
  Number.isInteger(place) && place >= 1 && place <= 1_000_000 ? place - 1 : undefined;

export const truth = (value: boolean): Expression => ({ constant: value, type: 'boolean' });
export const nothing = (type: Type = 'text'): Expression => ({ constant: null, type });

/** What holds where any of the conditions does; there is one at least. */
export const anyOf = (conditions: readonly Expression[]): Expression =>
  conditions.length === 1 ? (conditions[0] as Expression) : operation('or', conditions);

/** What holds where all of the conditions do; there is one at least. */
export const allOf = (conditions: readonly Expression[]): Expression =>
  conditions.length === 1 ? (conditions[0] as Expression) : operation('and', conditions);

/** A value that can be compared, and be part of another: JSON is its text. */
export const plain = (value: Expression): Expression =>
  value.type === 'json' ? converted(value, 'text', 'JSON') : value;

/** What is done with the elements of a list. */
export function operation(
  operator: Operator,
  of: readonly Expression[],
  parameters?: Parameters,
  lambda?: LambdaMeasure,
): Expression {
  const type = typeGiven(operator, of, lambda, parameters);
  const node = { operator, of, ...(parameters && { with: parameters }), ...(lambda && { each: lambda.body }), type };
  const made = measured(node, lambda);
  if (operator === 'tuple') return movedTogether(of, made);
  if (operator === 'tuple_part') return movedApart(of[0] as Expression, parameters?.place ?? 0, made);
  if (!GIVING_BACK.includes(OPERATORS[operator].gives)) return made;
  return movedInto(zoneAmong(operator === 'map' && lambda ? [lambda.body] : of), made);
}

/** What operators give that give back one or some of their values: times stay in their zone. */
const GIVING_BACK: readonly Signature['gives'][] = ['any', 'element', 'list'];

/** A value of these parts. */
export function tupleOfParts(parts: readonly Expression[]): Expression {
  if (parts.length === 0) refuse('A tuple has at least one part');
  if (parts.some(({ type }) => isTuple(type) || type.startsWith('tuples(')))
    refuse('Tuples in tuples are not supported');
  return operation('tuple', parts.map(plain));
}

/** The parts of a value that is a tuple; of one that was made of them these themselves. */
export const partsOf = (tuple: Expression): readonly Expression[] =>
  'operator' in tuple && tuple.operator === 'tuple'
    ? tuple.of
    : partTypes(tuple.type as Tuple).map((_, n) => operation('tuple_part', [tuple], { place: n + 1 }));

/** The part of a tuple at a place, from 1. */
export const partOf = (tuple: Expression, place: number, what: string): Expression =>
  partsOf(tuple)[place - 1] ?? refuse(`${what}: there is no part ${place} of ${nameOf(tuple.type)}`);

function typeGiven(
  operator: Operator,
  of: readonly Expression[],
  lambda: LambdaMeasure | undefined,
  parameters: Parameters | undefined,
): Type {
  const { gives }: Signature = OPERATORS[operator];
  const [first] = of;
  if (gives === 'any') return (of.at(-1) as Expression).type;
  if (gives === 'element') return first !== undefined && isList(first.type) ? elementType(first.type) : 'text';
  if (gives === 'tuple') return tupleType(of.map(({ type }) => type));
  if (gives === 'part') return partTypes(first?.type as Tuple)[(parameters?.place ?? 1) - 1] ?? 'text';
  if (gives !== 'list') return gives;
  if (operator === 'map') return listOf((lambda as LambdaMeasure).body.type) ?? 'texts';
  if (operator === 'list') return listOf(first?.type ?? 'text') ?? 'texts';
  return (first as Expression).type;
}

/** The values as arguments of one type. */
export const allAs = (of: readonly Expression[], type: Type, what: string): Expression[] =>
  of.map((one) => argument(one, type, what));

export const isNothing = (expression: Expression): boolean => 'constant' in expression && expression.constant === null;

/** The text of a constant; undefined: it is something else. */
export const constantText = (expression: Expression): string | undefined =>
  'constant' in expression && expression.type === 'text' && typeof expression.constant === 'string'
    ? expression.constant
    : undefined;

const NAMES: Readonly<Record<Exclude<Type, `tuple${string}`>, string>> = {
  text: 'text',
  json: 'JSON',
  integer: 'an integer',
  float: 'a number',
  boolean: 'a boolean',
  instant: 'a time',
  date: 'a date',
  texts: 'a list of texts',
  integers: 'a list of integers',
  floats: 'a list of numbers',
  booleans: 'a list of booleans',
  instants: 'a list of times',
  dates: 'a list of dates',
};

/** What a type is called. */
export function nameOf(type: Type): string {
  if (isTuple(type)) return `a tuple of ${partTypes(type).map(nameOf).join(' and ')}`;
  if (isList(type) && isTuple(elementType(type))) return `a list, each ${nameOf(elementType(type))}`;
  return NAMES[type as keyof typeof NAMES];
}

/** Makes the value in another type; times are read and shown by the clock of the zone. */
type Way = (value: Expression, zone: string) => Expression;

/** Ways from one type to another; the same value, or null where the value has none there. */
const CONVERSIONS: Readonly<Record<Scalar, Partial<Record<Type, Operator | Way>>>> = {
  text: {
    integer: 'integer_of_text',
    float: 'float_of_text',
    boolean: 'boolean_of_text',
    instant: instantOfText,
    json: 'json_of_text',
  },
  json: { text: 'text_of_json' },
  integer: {
    float: 'float_of_integer',
    boolean: 'boolean_of_integer',
    text: 'text_of_integer',
    instant: 'instant_of_seconds',
  },
  float: {
    integer: 'integer_of_float',
    boolean: 'boolean_of_float',
    text: 'text_of_float',
    instant: 'instant_of_float',
  },
  boolean: {
    integer: 'integer_of_boolean',
    float: (value) => operation('float_of_integer', [operation('integer_of_boolean', [value])]),
    text: 'text_of_boolean',
  },
  instant: { text: (instant, zone) => textOfInstant(instant, localOf(instant, zone)) },
  date: {
    text: 'text_of_date',
    instant: (date, zone) => fromLocal(operation('instant_of_date', [date]), zone),
  },
};

/** The value in another type, on the author's wish. */
export function converted(expression: Expression, type: Type, what: string): Expression {
  const from = expression.type;
  if (from === type) return expression;
  if (isNothing(expression)) return nothing(type);
  const zone = zoneOf(expression) ?? clockOfQuery().zone;
  // Whatever else is a date, it is so as an instant, by its clock.
  if (type === 'date') return operation('date_of_instant', [localOf(converted(expression, 'instant', what), zone)]);
  const way =
    (isList(from) || isTuple(from) ? undefined : CONVERSIONS[from][type]) ??
    refuse(`${what} cannot take ${nameOf(from)}`);
  return typeof way === 'string' ? operation(way, [expression]) : way(expression, zone);
}

/** An instant as the clock of a zone shows it, in UTC's place. */
export const localOf = (instant: Expression, zone: string): Expression =>
  zone === 'UTC' ? instant : operation('local', [instant], { zone });
/** The instant at which the clock of a zone shows this; `first`: the first of two, as of a midnight. */
export const fromLocal = (local: Expression, zone: string, { first = false } = {}): Expression =>
  zone === 'UTC' ? local : operation('from_local', [local], first ? { zone, first } : { zone });

/** A time with an offset, or a number since 1970: the same in every zone. */
const OF_NO_ZONE = /(?:Z|:[0-9.]+[+-][0-9]{2}(?::?[0-9]{2})?|^[0-9.]+)$/;

/** The instant that a text names; without an offset it is a time of the zone. A constant must name one. */
function instantOfText(text: Expression, zone: string): Expression {
  const constant = constantText(text);
  if (constant !== undefined) {
    const time = checkedTime(constant);
    const named = operation('instant_of_text', [textConstant(time)]);
    return zone === 'UTC' || OF_NO_ZONE.test(time) ? named : fromLocal(named, zone);
  }
  const read = operation('instant_of_text', [text]);
  if (zone === 'UTC') return read;
  return operation('if', [operation('matches', [text], { pattern: OF_NO_ZONE.source }), read, fromLocal(read, zone)]);
}

const WHOLE_SECONDS: readonly Operator[] = ['date_of_instant', 'instant_of_date', 'instant_of_seconds', 'truncate'];
const MOVED: readonly Operator[] = ['local', 'from_local', 'add_units'];

/** Whether a time is one of whole seconds, whatever the row: ClickHouse's DateTime, which is written without a fraction. */
function isWhole(time: Expression): boolean {
  if (!('operator' in time)) return false;
  const { operator, of } = time;
  if (MOVED.includes(operator)) return isWhole(of[0] as Expression);
  // A time without what it is past the start of its part.
  return WHOLE_SECONDS.includes(operator) || operator === 'earlier';
}

const TO_SECONDS: readonly FormatPiece[] = [
  { code: 'Y' },
  { text: '-' },
  { code: 'm' },
  { text: '-' },
  { code: 'd' },
  { text: ' ' },
  { code: 'H' },
  { text: ':' },
  { code: 'i' },
  { text: ':' },
  { code: 'S' },
];

/** A time as text, by the clock that `local` shows. */
export const textOfInstant = (time: Expression, local: Expression): Expression =>
  isWhole(time) ? operation('format', [local], { format: TO_SECONDS }) : operation('text_of_instant', [local]);

/** What is converted where nobody asked for it: numbers among each other, what properties hold, times that are dates. */
const UNASKED: Readonly<Record<Scalar, readonly Type[]>> = {
  text: ['json'],
  json: ['text'],
  integer: ['text', 'float', 'boolean'],
  float: ['text', 'integer', 'boolean'],
  boolean: ['text', 'integer', 'float'],
  instant: ['text', 'date'],
  date: ['text', 'instant'],
};

/** The value as an argument of this type. Text is read as what is asked for; but nothing turns into text by itself. */
export function argument(expression: Expression, type: Type, what: string): Expression {
  const isMeant = !isList(type) && !isTuple(type) && UNASKED[type].includes(expression.type);
  if (expression.type === type || isNothing(expression) || isMeant) {
    return converted(expression, type, what);
  }
  const advice = type === 'text' ? `; use toString()` : '';
  return refuse(`${what} takes ${nameOf(type)}, not ${nameOf(expression.type)}${advice}`);
}

const NUMBERS: readonly Type[] = ['integer', 'float', 'boolean'];

/** The type in which values can be put beside one another; undefined: there is none. */
function commonType(values: readonly Expression[]): Type | undefined {
  const types = new Set(values.filter((one) => !isNothing(one)).map(({ type }) => type));
  if (types.size === 0) return values[0]?.type;
  if (types.size === 1) return [...types][0];
  const all = [...types];
  if (all.every((type) => NUMBERS.includes(type))) return types.has('float') ? 'float' : 'integer';
  if (all.every((type) => type === 'text' || type === 'json')) return 'text';
  if (all.every((type) => type === 'instant' || type === 'date')) return 'instant';
  return undefined;
}

/** Values in one type, for what gives back one of them. */
export function unified(values: readonly Expression[], what: string): Expression[] {
  const type =
    commonType(values) ?? refuse(`${what} has values of different types: ${listed(values)}; convert them to one`);
  return withClockOf(values, () => values.map((one) => converted(one, type, what)));
}

const listed = (values: readonly Expression[]): string =>
  [...new Set(values.map(({ type }) => nameOf(type)))].join(' and ');

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a value is a uuid, which is kept in small letters. */
const isUuid = (value: Expression): boolean =>
  ('column' in value && value.uuid === true) || ('operator' in value && value.operator === 'uuid_of_text');

/** A constant beside a uuid, which it may be in any letter case. */
function asUuid(value: Expression): Expression {
  const text = constantText(value);
  return text !== undefined && UUID.test(text) ? textConstant(text.toLowerCase()) : value;
}

/**
 * Values in a type in which they can be compared: text beside a number, a boolean or a time is read as one, and a
 * constant must be one.
 */
export function comparable(of: readonly Expression[], what: string): Expression[] {
  const values = of.some(isUuid) ? of.map(asUuid) : of;
  const common = commonType(values);
  if (common !== undefined) return withClockOf(values, () => values.map((one) => plain(converted(one, common, what))));
  const others = values.filter(({ type }) => type !== 'text' && type !== 'json');
  const other = commonType(others);
  if (other === undefined || isList(other) || isTuple(other))
    refuse(`${what} compares ${listed(values)}; convert them to one type`);
  // A text may hold any number.
  const type = other === 'integer' ? 'float' : other;
  for (const one of values) checkReadable(constantText(one), type, what);
  return withClockOf(values, () => values.map((one) => converted(plain(one), type, what)));
}

/** Whether a text can be read as a value of a type. */
export function isReadable(text: string, type: Type): boolean {
  if (type === 'integer' || type === 'float') return namesNumber(text);
  if (type === 'instant' || type === 'date') return timeOf(text) !== undefined;
  return type !== 'boolean' || namesBoolean(text);
}

/** Refuses a constant that is no number or boolean where it is compared with one: no row would be like it. */
function checkReadable(constant: string | undefined, type: Type, what: string): void {
  // What is no time is refused where it is read.
  if (constant === undefined || type === 'instant' || type === 'date') return;
  const isRead = isReadable(constant, type);
  const kind = type === 'float' ? 'numbers' : 'booleans';
  if (!isRead) refuse(`${what} compares ${kind}, and the text '${beginningOf(constant, 100)}' is none`);
}
