/** The functions that a query may call, by the names that HogQL has for them, with ClickHouse's meaning. */
import { beginningOf } from '../basics/text.ts';
import {
  allAs,
  argument,
  comparable,
  constantText,
  converted,
  fromLocal,
  indexOf,
  integerConstant,
  isNothing,
  localOf,
  nameOf,
  nothing,
  operation,
  partOf,
  partsOf,
  textConstant,
  textOfInstant,
  truth,
  tupleOfParts,
  unified,
} from './build.ts';
import { clockOfQuery, movedInto, withClock, zoneOf } from './clock.ts';
import {
  type Expression,
  elementType,
  type FormatPiece,
  isList,
  isTuple,
  type List,
  type Operator,
  type Part,
  type Path,
  type Step,
  type Type,
  type Unit,
} from './expression.ts';
import {
  checkedFormat,
  checkedLike,
  checkedPattern,
  checkedReplacement,
  checkedZone,
  namesNumber,
  quotedPattern,
} from './patterns.ts';
import { refuse } from './refusal.ts';
import { copied, MAX_RANGE } from './size.ts';

/** Makes the tree of a call; `name` is its function as the author wrote it, `lower()`, for the texts of refusals. */
type Build = (of: readonly Expression[], name: string) => Expression;

interface FunctionSpec {
  readonly least: number;
  readonly most: number;
  readonly build: Build;
}

const given = (of: readonly Expression[], n: number): Expression => of[n] as Expression;

const constantOf = (of: readonly Expression[], n: number, name: string): string =>
  constantText(given(of, n)) ?? refuse(`Argument ${n + 1} of ${name} must be a text constant`);

/** A function of arguments of fixed types that one operator carries out. */
const simple = (operator: Operator, ...types: readonly Type[]): FunctionSpec => ({
  least: types.length,
  most: types.length,
  build: (of, name) =>
    operation(
      operator,
      types.map((type, n) => argument(given(of, n), type, name)),
    ),
});

const exactly = (count: number, build: Build): FunctionSpec => ({ least: count, most: count, build });
const between = (least: number, most: number, build: Build): FunctionSpec => ({ least, most, build });
const atLeast = (least: number, build: Build): FunctionSpec => ({ least, most: Number.POSITIVE_INFINITY, build });

/** A value as a condition: numbers that are not 0, and texts that say so, are true. */
export const condition = (value: Expression, what: string): Expression => argument(value, 'boolean', what);

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

/** A number without its fraction. */
const wholePart = (number: Expression): Expression =>
  number.type === 'float' ? operation('truncated_float', [number]) : number;

const counting = (whole: Operator, float: Operator, count: number): FunctionSpec =>
  exactly(count, (of, name) => arithmetic(of, name, whole, float));

/** Whether a value is a constant that is not null, or a tuple, which is none. */
const isPresent = (value: Expression): boolean =>
  'constant' in value ? value.constant !== null : 'operator' in value && value.operator === 'tuple';

/** The number that a constant is; undefined: it is something else. */
const integerOf = (value: Expression): number | undefined =>
  'constant' in value && value.type === 'integer' && value.constant !== null ? Number(value.constant) : undefined;

/** An integer to the nearest multiple; halves away from zero, as ClickHouse rounds integers. */
function roundedInteger(value: Expression, multiple: number, name: string): Expression {
  const half = integerConstant(multiple / 2);
  const below = operation('subtract', [value, half]);
  const beyond = choice([less([value, integerConstant(0)], name), below, operation('add', [value, half])], name);
  const of = integerConstant(multiple);
  return operation('multiply', [operation('divide_whole', [beyond, of]), of]);
}

/** Integers are as they are; others are floats. */
const rounding = (operator: Operator): FunctionSpec =>
  exactly(1, (of, name) => {
    const value = given(of, 0);
    return value.type === 'integer' ? value : operation(operator, [argument(value, 'float', name)]);
  });

/** What holds of two tuples where `same` holds of each part and what is in its place. */
export function partByPart<Other>(
  parts: readonly Expression[],
  others: readonly Other[],
  same: (part: Expression, other: Other) => Expression,
): Expression {
  if (parts.length !== others.length) refuse(`Tuples of ${parts.length} and ${others.length} parts cannot be compared`);
  const all = parts.map((part, n) => same(part, others[n] as Other));
  return all.length === 1 ? given(all, 0) : operation('and', all);
}

export function equal(of: readonly Expression[], name: string): Expression {
  const [left, right] = of;
  if (left && right && isTuple(left.type) && isTuple(right.type))
    return partByPart(partsOf(left), partsOf(right), (part, other) => equal([part, other], name));
  return operation('equal', comparable(of, name));
}
const unequal = (of: readonly Expression[], name: string): Expression => operation('not', [equal(of, name)]);
export const less = (of: readonly Expression[], name: string): Expression => operation('less', ordered(of, name));
export const lessOrEqual = (of: readonly Expression[], name: string): Expression =>
  operation('less_or_equal', ordered(of, name));
const turned = ([a, b]: readonly Expression[]): Expression[] => [b, a] as Expression[];

export function ordered(of: readonly Expression[], name: string): Expression[] {
  const values = comparable(of, name);
  if (values.some(({ type }) => isList(type))) refuse(`${name} cannot compare lists`);
  return values.some(({ type }) => isTuple(type)) ? refuse(`${name} cannot compare tuples`) : values;
}

/** A text in small letters as both engines make them: each character one, whatever stands around it. */
const lowered = (text: string): string => Array.from(text, (one) => Array.from(one.toLowerCase())[0]).join('');

export function like(
  value: Expression,
  pattern: Expression,
  name: string,
  { anyCase = false, not = false } = {},
): Expression {
  const source = constantText(pattern) ?? refuse(`The pattern of ${name} must be a text constant`);
  const subject = argument(value, 'text', name);
  const found = operation('like', [anyCase ? operation('lower', [subject]) : subject], {
    like: checkedLike(anyCase ? lowered(source) : source),
  });
  return not ? operation('not', [found]) : found;
}

/** Whether a text matches a pattern; null where it is missing. */
function matched(value: Expression, pattern: Expression, name: string, anyCase = false): Expression {
  const source = constantText(pattern) ?? refuse(`The pattern of ${name} must be a text constant`);
  const checked = checkedPattern(anyCase ? `(?i)${source}` : source).pattern;
  return operation('matches', [argument(value, 'text', name)], { pattern: checked });
}

/** Whether a text matches a pattern, or does not; what is missing matches nothing. */
export function matches(
  value: Expression,
  pattern: Expression,
  name: string,
  { anyCase = false, not = false } = {},
): Expression {
  const found = operation('coalesce', [matched(value, pattern, name, anyCase), truth(false)]);
  return not ? operation('not', [found]) : found;
}

const likeness = (options: { anyCase?: boolean; not?: boolean }): FunctionSpec =>
  exactly(2, (of, name) => like(given(of, 0), given(of, 1), name, options));

const replacing = (operator: 'replace_pattern' | 'replace_pattern_once', isLiteral: boolean): FunctionSpec =>
  exactly(3, (of, name) => {
    const [subject, by] = [argument(given(of, 0), 'text', name), given(of, 2)];
    const source = constantOf(of, 1, name);
    if (source === '') refuse(`Argument 2 of ${name} must not be empty`);
    if (isLiteral && operator === 'replace_pattern')
      return operation('replace', [subject, argument(by, 'text', name)], { text: source });
    const { pattern, groups, least } = isLiteral
      ? { pattern: quotedPattern(source), groups: 0, least: source.length }
      : checkedPattern(source);
    const replacement = constantOf(of, 2, name);
    return operation(operator, [subject], {
      pattern,
      least,
      replacement: isLiteral ? [replacement] : checkedReplacement(replacement, groups),
    });
  });

/** `substring`, `left`, `right`: characters, counted from 1, from the end where negative. */
const substring: Build = (of, name) => {
  const [text, ...places] = of;
  const args = [argument(text as Expression, 'text', name), ...allAs(places, 'integer', name)];
  return operation(of.length === 2 ? 'substring_from' : 'substring', args);
};

/** The last characters of a text, so many; of fewer all. */
const right: Build = (of, name) => {
  const [text, count] = [argument(given(of, 0), 'text', name), argument(given(of, 1), 'integer', name)];
  const first = integerConstant(1);
  const place = operation('add', [operation('subtract', [operation('length', [text]), count]), first]);
  return operation('substring_from', [text, operation('if', [operation('less', [place, first]), first, place])]);
};

/** A text without the first match. */
const without = (text: Expression, pattern: string, least: number): Expression =>
  operation('replace_pattern_once', [text], { pattern, least, replacement: [''] });

/** No character of a host, and what stands around one in an address. */
const NO_HOST = String.raw` \t<>%{}|\\^~\[\];=&@:/?#`;

/** The host of an address, with a dot in it; else an empty text. What is before the host is first taken away. */
const domain: Build = (of, name) => {
  const pattern = String.raw`^(?:[a-zA-Z0-9+.-]+:)?//(?:[^${NO_HOST}]*:[^${NO_HOST}]*@)?`;
  const address = argument(given(of, 0), 'text', name);
  const rest = without(address, pattern, 2);
  const host = String.raw`^(?:[^${NO_HOST}]*@)?([^${NO_HOST}]*\.[^${NO_HOST}.]+)(?:[:/?#]|\z)`;
  return operation('extract', [rest], { pattern: host, group: 1 });
};

/** The time with a zone: a node of its own, so that the same time elsewhere keeps its own zone. */
const inZone = (value: Expression, zone: string | undefined): Expression =>
  zone === undefined ? value : movedInto(zone, copied(value));

/** A time with the clock of its zone in UTC's place, and the zone. */
function clock(
  value: Expression,
  zone: string | undefined,
  name: string,
): { local: Expression; zone: string | undefined } {
  if (zone !== undefined && value.type === 'date') refuse(zoneOfNoTime(name));
  if (value.type === 'date') return { local: operation('instant_of_date', [value]), zone: undefined };
  const where = zone ?? zoneOf(value) ?? clockOfQuery().zone;
  const instant = argument(value, 'instant', name);
  if (where === 'UTC') return { local: instant, zone: undefined };
  return { local: operation('local', [instant], { zone: where }), zone: where };
}

const zoneOfNoTime = (name: string): string =>
  `${name} takes a time zone beside a time only, as in ${name.replace('()', "(timestamp, 'Asia/Tokyo')")}`;

const zoneAt = (of: readonly Expression[], n: number, name: string): string | undefined =>
  of.length > n ? checkedZone(constantOf(of, n, name)) : undefined;

/** Steps whose starts are dates. */
const OF_DATES: ReadonlySet<Step> = new Set<Step>(['week', 'monday', 'month', 'quarter', 'year']);

/** Steps that pass alike whatever the clock shows. */
const OF_INSTANTS: ReadonlySet<Step> = new Set<Step>([
  'second',
  'minute',
  'five_minutes',
  'ten_minutes',
  'fifteen_minutes',
]);

/** The start of the step that a time lies in; of weeks and more, a date. A date is the first instant of its day. */
function truncated(value: Expression, step: Step, zone: string | undefined, name: string): Expression {
  const at = clock(value, zone, name);
  const start = operation('truncate', [at.local], { step });
  if (OF_DATES.has(step)) return operation('date_of_instant', [start]);
  if (value.type === 'date') return converted(value, 'instant', name);
  if (OF_INSTANTS.has(step))
    return inZone(operation('truncate', [argument(value, 'instant', name)], { step }), zone ?? zoneOf(value));
  if (at.zone === undefined) return inZone(start, zone ?? zoneOf(value));
  // In the hour that a clock shows twice, a time stays in the part of it that it is in.
  if (step !== 'day') {
    const since = operation('subtract', [at.local, start]);
    return inZone(operation('earlier', [argument(value, 'instant', name), since]), at.zone);
  }
  return inZone(fromLocal(start, at.zone), at.zone);
}

/** ClickHouse counts months and quarters from 1900, years from year 0, weeks from the first Monday of 1970, days from its first. */
const BEFORE_1970: Readonly<Partial<Record<Unit, number>>> = { month: 70 * 12, quarter: 70 * 4, year: 1970 };

/**
 * The start of the interval of so many units that a time lies in. Hours are counted from the start of their day, days
 * and more by the clock, minutes and seconds whatever it shows.
 */
const startOfInterval: Build = (of, name) => {
  const [, digits = '', word = ''] = /^([1-9]\d{0,5}) ([a-z]+)$/.exec(constantOf(of, 1, name)) ?? [];
  if (digits === '') refuse(`Argument 2 of ${name} must be an interval of 1 to 999999 units, as in INTERVAL 15 MINUTE`);
  const unit = unitOf(word);
  const [value, zone] = [given(of, 0), zoneAt(of, 2, name)];
  const step: Step = unit === 'week' ? 'monday' : unit;
  if (digits === '1') return truncated(value, step, zone, name);
  const at = clock(value, zone, name);
  const isPassing = unit === 'second' || unit === 'minute';
  const instant = isPassing ? argument(value, 'instant', name) : at.local;
  const count = integerConstant(Number(digits));
  const units =
    unit === 'hour' ? operation('part', [instant], { part: 'hour' }) : operation('count_units', [instant], { unit });
  const counted = operation('add', [units, integerConstant(BEFORE_1970[unit] ?? 0)]);
  // Of what is before the first unit, too, as many as it is above a whole number of intervals.
  const above = operation('modulo', [operation('add', [operation('modulo', [counted, count]), count]), count]);
  const back = operation('subtract', [integerConstant(0), above]);
  const start = operation('add_units', [operation('truncate', [instant], { step }), back], { unit });
  if (OF_DATES.has(step)) return operation('date_of_instant', [start]);
  const where = value.type === 'date' ? clockOfQuery().zone : (at.zone ?? 'UTC');
  // An interval of hours begins once, also where the clock shows its beginning twice.
  return inZone(isPassing ? start : fromLocal(start, where, { first: unit === 'hour' }), zone ?? zoneOf(value));
};

const startOf = (step: Step): FunctionSpec =>
  between(1, 2, (of, name) => truncated(given(of, 0), step, zoneAt(of, 1, name), name));

const part = (which: Part): FunctionSpec =>
  between(1, 2, (of, name) =>
    operation('part', [clock(given(of, 0), zoneAt(of, 1, name), name).local], { part: which }),
  );

/** Two digits after a number. */
const hundreds = (number: Expression, digits: Expression): Expression =>
  operation('add', [operation('multiply', [number, integerConstant(100)]), digits]);

/** The day of the week, from 1 for Monday, or as the mode says that may stand before the zone. */
const dayOfWeek: Build = (of, name) => {
  const [time, second, ...zone] = of;
  if (time === undefined || second === undefined || (zone.length === 0 && constantText(second) !== undefined))
    return part('day_of_week').build(of, name);
  const day = part('day_of_week').build([time, ...zone], name);
  const one = integerConstant(1);
  const fromSunday = (): Expression => operation('modulo', [day, integerConstant(7)]);
  switch (integerOf(second) ?? Number.NaN) {
    case 0:
      return day;
    case 1:
      return operation('subtract', [day, one]);
    case 2:
      return fromSunday();
    case 3:
      return operation('add', [fromSunday(), one]);
    default:
      return refuse(
        `Argument 2 of ${name} must be 0 (Monday is 1), 1 (Monday is 0), 2 (Sunday is 0) or 3 (Sunday is 1); ` +
          'a time zone is the third',
      );
  }
};

/** The parts of a time that `dateName` takes; those that have names by the code of their format. */
const NAMED: Readonly<Record<string, Part | FormatPiece>> = {
  year: 'year',
  quarter: 'quarter',
  month: { code: 'M' },
  week: 'iso_week',
  dayofyear: 'day_of_year',
  day: 'day_of_month',
  weekday: { code: 'W' },
  hour: 'hour',
  minute: 'minute',
  second: 'second',
};

/** A part of a time as text: of months and days of the week the English name, of others the number. */
const dateName: Build = (of, name) => {
  const word = constantOf(of, 0, name);
  const named = Object.hasOwn(NAMED, word) ? NAMED[word] : undefined;
  if (named === undefined) return refuse(`Argument 1 of ${name} must be one of ${Object.keys(NAMED).join(', ')}`);
  const { local } = clock(given(of, 1), zoneAt(of, 2, name), name);
  return typeof named === 'string'
    ? converted(operation('part', [local], { part: named }), 'text', name)
    : operation('format', [local], { format: [named] });
};

/** Units that pass alike whatever the clock shows. */
const PASSING: readonly Unit[] = ['second', 'minute', 'hour'];

/** A time that is so many units later; a date stays one where the unit is whole days. */
export function shifted(value: Expression, count: Expression, unit: Unit, isBack: boolean, name: string): Expression {
  const n = argument(wholePart(count), 'integer', name);
  const by = isBack ? operation('subtract', [integerConstant(0), n]) : n;
  const isOfClock = !PASSING.includes(unit);
  if (value.type === 'date' && isOfClock)
    return operation('date_of_instant', [
      operation('add_units', [operation('instant_of_date', [value]), by], { unit }),
    ]);
  const zone = zoneOf(value);
  const where = isOfClock ? (zone ?? clockOfQuery().zone) : 'UTC';
  const local = localOf(argument(value, 'instant', name), where);
  return inZone(fromLocal(operation('add_units', [local, by], { unit }), where), zone);
}

const UNITS: readonly Unit[] = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];
const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

export function unitOf(word: string): Unit {
  const unit = word.toLowerCase().replace(/s$/, '');
  return UNITS.find((one) => one === unit) ?? refuse(`Unknown unit of time '${beginningOf(word, 50)}'`);
}

/**
 * What units are counted in: the clock of a time, and of those that pass the time itself, for moving the clock makes none
 * more. Hours begin where the clock shows them to.
 */
function counted(value: Expression, unit: Unit, zone: string | undefined, name: string): Expression {
  const isDate = value.type === 'date';
  const at = clock(value, isDate ? undefined : zone, name);
  if (!PASSING.includes(unit)) return at.local;
  if (isDate) return fromLocal(at.local, zone ?? clockOfQuery().zone);
  if (at.zone === undefined) return at.local;
  return unit === 'hour' ? truncated(value, 'hour', zone, name) : argument(value, 'instant', name);
}

/** The start of the unit that a time lies in. */
const dateTrunc: Build = (of, name) => {
  const unit = unitOf(constantOf(of, 0, name));
  return truncated(given(of, 1), unit === 'week' ? 'monday' : unit, zoneAt(of, 2, name), name);
};

/** How many times a unit begins between two times. */
const dateDiff: Build = (of, name) => {
  const unit = unitOf(constantOf(of, 0, name));
  const zone = zoneAt(of, 3, name);
  const times = of.slice(1, 3);
  if (zone !== undefined && times.every(({ type }) => type === 'date'))
    refuse(`${name} of two dates takes no time zone`);
  const [from, to] = times.map((value) => operation('count_units', [counted(value, unit, zone, name)], { unit }));
  return operation('subtract', [to as Expression, from as Expression]);
};

/** The way into a document that the arguments name; arrays are counted from 1. */
function pathOf(of: readonly Expression[], name: string): Path {
  return of.slice(1).map((step, n) => {
    const index = 'constant' in step && step.type === 'integer' ? indexOf(Number(step.constant)) : undefined;
    return (
      index ??
      constantText(step) ??
      refuse(`Argument ${n + 2} of ${name} must be a text constant, or a place in an array, from 1`)
    );
  });
}

const json = (operator: Operator, then: (found: Expression) => Expression = (found) => found): FunctionSpec =>
  atLeast(1, (of, name) =>
    then(operation(operator, [argument(given(of, 0), 'json', name)], { path: pathOf(of, name) })),
  );

/**
 * What is at a path as the type that the last argument names; its 0, or no text, where it has none, and of one that is
 * nullable null.
 */
const typedJson: Build = (of, name) => {
  const way = of.slice(0, -1);
  const at = (operator: Operator): Expression => json(operator).build(way, name);
  const [, nullable, plain] = /^(?:Nullable\((.*)\)|(.*))$/s.exec(constantOf(of, of.length - 1, name)) ?? [];
  const wanted =
    `Argument ${of.length} of ${name} must be 'String', 'Int64', 'UInt64', 'Float64' or 'Bool', ` +
    `one of these as in 'Nullable(String)', or 'Array(String)'`;
  const asFloat = (): Expression => converted(at('json_scalar'), 'float', name);
  const is = (word: string): Expression => equal([converted(at('json_raw'), 'text', name), textConstant(word)], name);
  const asTruth = (): Expression =>
    nullable === undefined
      ? is('true')
      : choice([is('true'), truth(true), is('false'), truth(false), nothing('boolean')], name);
  const asInteger = (): Expression =>
    operation('coalesce', [
      converted(at('json_scalar'), 'integer', name),
      wholePart(asFloat()),
      converted(asTruth(), 'integer', name),
    ]);
  switch (nullable ?? plain ?? '') {
    case 'String':
      return nullable === undefined ? otherwise(at('property_value'), textConstant('')) : at('property_value');
    case 'Int64':
      return asInteger();
    case 'UInt64': {
      const zero = integerConstant(0);
      if (nullable === undefined) return operation('greatest', [asInteger(), zero]);
      return choice([less([asInteger(), zero], name), nothing('integer'), asInteger()], name);
    }
    case 'Float64':
      return otherwise(asFloat(), converted(asTruth(), 'float', name));
    case 'Bool': {
      // ClickHouse holds it in a byte, and reads no other numbers.
      const [zero, one] = [integerConstant(0), integerConstant(1)];
      const isByte = operation('and', [
        lessOrEqual([zero, asFloat()], name),
        lessOrEqual([asFloat(), integerConstant(255)], name),
      ]);
      return choice([isByte, lessOrEqual([one, asFloat()], name), asTruth()], name);
    }
    case 'Array(String)':
      // ClickHouse has no lists that may be null.
      return nullable === undefined ? otherwise(at('json_texts'), operation('list', [])) : refuse(wanted);
    default:
      return refuse(wanted);
  }
};

/** The first value that is there. What a text holds beside a number, a boolean or a time is read as one. */
function firstOf(of: readonly Expression[], name: string): Expression {
  const isRead = of.some(({ type }) => type === 'text') && of.some(({ type }) => READ_BESIDE.includes(type));
  const isConstant = of.some((one) => constantText(one) !== undefined);
  return operation('coalesce', isRead && !isConstant ? comparable(of, name) : unified(of, name));
}
const READ_BESIDE: readonly Type[] = ['integer', 'float', 'boolean', 'instant', 'date'];

const otherwise = (value: Expression, or: Expression): Expression => operation('coalesce', [value, or]);

const toDate: FunctionSpec = between(1, 2, (of, name) => {
  const zone = zoneAt(of, 1, name);
  const value = given(of, 0);
  if (value.type !== 'instant') return zone === undefined ? converted(value, 'date', name) : refuse(zoneOfNoTime(name));
  return operation('date_of_instant', [clock(value, zone, name).local]);
});

const toText: FunctionSpec = between(1, 2, (of, name) => {
  const value = given(of, 0);
  if (value.type === 'instant') return textOfInstant(value, clock(value, zoneAt(of, 1, name), name).local);
  return of.length === 1 ? converted(value, 'text', name) : refuse(zoneOfNoTime(name));
});

const conversion = (type: Type): FunctionSpec => exactly(1, (of, name) => converted(given(of, 0), type, name));

/** Of a text that is no number 0; null where the text is missing. */
const orZero = (type: 'integer' | 'float'): FunctionSpec =>
  exactly(1, (of, name) => {
    const text = argument(given(of, 0), 'text', name);
    const number = otherwise(converted(text, type, name), { constant: '0', type });
    return operation('if', [operation('is_null', [text]), nothing(type), number]);
  });
const toDateTime: FunctionSpec = between(1, 2, (of, name) => {
  const zone = zoneAt(of, 1, name);
  const value = given(of, 0);
  const read = (): Expression => converted(value, 'instant', name);
  if (zone === undefined || zone === clockOfQuery().zone) return inZone(read(), zone ?? zoneOf(value));
  return inZone(withClock({ ...clockOfQuery(), zone }, read), zone);
});

const logical = (operator: 'and' | 'or'): FunctionSpec =>
  atLeast(2, (of, name) => operation(operator, allAs(of, 'boolean', name)));

/** The unit comes first: `dateAdd('day', 1, timestamp)`. */
const dateShift = (isBack: boolean): FunctionSpec =>
  exactly(3, (of, name) => shifted(given(of, 2), given(of, 1), unitOf(constantOf(of, 0, name)), isBack, name));

/** `addDays` and `subtractDays`, of each unit. */
const shiftsBy = (unit: Unit): Record<string, FunctionSpec> => {
  const shifts = (isBack: boolean): FunctionSpec =>
    exactly(2, (of, name) => shifted(given(of, 0), given(of, 1), unit, isBack, name));
  return { [`add${capital(unit)}s`]: shifts(false), [`subtract${capital(unit)}s`]: shifts(true) };
};

const now: Expression = { now: true, type: 'instant' };
const today = (): Expression => converted(now, 'date', 'today()');

const FUNCTIONS: Readonly<Record<string, FunctionSpec>> = {
  // Conversions
  toString: toText,
  toInt: conversion('integer'),
  toFloat: conversion('float'),
  toIntOrZero: orZero('integer'),
  toFloatOrZero: orZero('float'),
  toBool: conversion('boolean'),
  toDate: toDate,
  to_date: toDate,
  toDateTime: toDateTime,
  toDateTime64: between(1, 3, (of, name) => {
    // ClickHouse has digits before the zone; six are kept here, whatever they are.
    const [value, digits] = [given(of, 0), of[1]];
    const isDigits = digits !== undefined && 'constant' in digits && digits.type === 'integer';
    return toDateTime.build([value, ...of.slice(isDigits ? 2 : 1)], name);
  }),
  parseDateTimeBestEffort: toDateTime,
  toUUID: exactly(1, (of, name) => operation('uuid_of_text', [argument(given(of, 0), 'text', name)])),
  fromUnixTimestamp64Milli: simple('instant_of_milliseconds', 'integer'),
  fromUnixTimestamp64Micro: simple('instant_of_microseconds', 'integer'),
  fromUnixTimestamp: simple('instant_of_seconds', 'integer'),

  // What may be missing
  coalesce: atLeast(1, (of, name) => (of.length === 1 ? given(of, 0) : firstOf(of, name))),
  ifNull: exactly(2, firstOf),
  nullIf: exactly(2, (of, name) => {
    const [value, other] = [given(of, 0), given(of, 1)];
    // The result is the first value as it is, or null.
    return operation('if', [equal([value, other], name), nothing(value.type), value]);
  }),
  isNull: exactly(1, (of) => operation('is_null', of)),
  isNotNull: exactly(1, (of) => operation('not', [operation('is_null', of)])),
  assumeNotNull: exactly(1, (of) => given(of, 0)),
  toNullable: exactly(1, (of) => given(of, 0)),
  empty: exactly(1, (of, name) => isEmpty(given(of, 0), name)),
  notEmpty: exactly(1, (of, name) => {
    const value = given(of, 0);
    return operation('not', [isEmpty(value, name)]);
  }),

  // Choices and logic
  if: exactly(3, choice),
  multiIf: atLeast(3, choice),
  _caseWithExpression: atLeast(3, (of, name) => {
    const [subject, ...rest] = of;
    return choice(
      rest.map((one, n) => (n % 2 === 0 && n < rest.length - 1 ? equal([subject as Expression, one], 'CASE') : one)),
      name,
    );
  }),
  and: logical('and'),
  or: logical('or'),
  not: exactly(1, (of, name) => operation('not', [condition(given(of, 0), name)])),
  equals: exactly(2, equal),
  notEquals: exactly(2, unequal),
  less: exactly(2, less),
  lessOrEquals: exactly(2, lessOrEqual),
  greater: exactly(2, (of, name) => less(turned(of), name)),
  greaterOrEquals: exactly(2, (of, name) => lessOrEqual(turned(of), name)),
  least: atLeast(1, (of, name) => most('least', of, name)),
  greatest: atLeast(1, (of, name) => most('greatest', of, name)),

  // Arithmetic
  plus: counting('add', 'add_float', 2),
  minus: counting('subtract', 'subtract_float', 2),
  multiply: counting('multiply', 'multiply_float', 2),
  divide: exactly(2, divided),
  intDiv: exactly(2, (of, name) => wholePart(arithmetic(of, name, 'divide_whole', 'divide'))),
  modulo: counting('modulo', 'modulo_float', 2),
  negate: exactly(1, (of, name) => arithmetic([integerConstant(0), given(of, 0)], name, 'subtract', 'subtract_float')),
  abs: counting('abs', 'abs_float', 1),
  floor: rounding('floor'),
  ceil: rounding('ceil'),
  ceiling: rounding('ceil'),
  pow: simple('power', 'float', 'float'),
  sqrt: simple('sqrt', 'float'),
  log: simple('log', 'float'),
  log2: simple('log2', 'float'),
  log10: simple('log10', 'float'),
  sign: exactly(1, (of, name) => {
    const [one] = of;
    const number = one?.type === 'integer' ? one : argument(given(of, 0), 'float', name);
    const [zero, down] = [integerConstant(0), integerConstant(-1)];
    const cases = [less([number, zero], name), down, less([zero, number], name), integerConstant(1)];
    return choice([...cases, equal([number, zero], name), zero, nothing('integer')], name);
  }),
  exp: simple('exp', 'float'),
  round: between(1, 2, (of, name) => {
    const [value, places] = [given(of, 0), of[1]];
    const digits = places === undefined ? 0 : (integerOf(places) ?? Number.NaN);
    if (!(digits >= -15 && digits <= 15)) refuse(`Argument 2 of ${name} must be a constant from -15 to 15`);
    if (value.type !== 'integer') return operation('round', [argument(value, 'float', name)], { digits });
    return digits < 0 ? roundedInteger(value, 10 ** -digits, name) : value;
  }),

  // Text
  concat: atLeast(1, (of, name) => {
    const parts = of.map((one) => converted(one, 'text', name));
    return parts.length === 1 ? given(parts, 0) : operation('concat', parts);
  }),
  lower: simple('lower', 'text'),
  lowerUTF8: simple('lower', 'text'),
  upper: simple('upper', 'text'),
  upperUTF8: simple('upper', 'text'),
  trim: trimming('both'),
  trimBoth: trimming('both'),
  trimLeft: trimming('left'),
  trimRight: trimming('right'),
  length: exactly(1, (of, name) => {
    const value = given(of, 0);
    return isList(value.type) ? operation('list_length', [value]) : operation('bytes', [argument(value, 'text', name)]);
  }),
  lengthUTF8: simple('length', 'text'),
  substring: between(2, 3, substring),
  substringUTF8: between(2, 3, substring),
  left: exactly(2, (of, name) => substring([given(of, 0), integerConstant(1), given(of, 1)], name)),
  right: exactly(2, right),
  replaceAll: replacing('replace_pattern', true),
  replace: replacing('replace_pattern', true),
  replaceOne: replacing('replace_pattern_once', true),
  replaceRegexpAll: replacing('replace_pattern', false),
  replaceRegexpOne: replacing('replace_pattern_once', false),
  match: exactly(2, (of, name) => matched(given(of, 0), given(of, 1), name)),
  extract: exactly(2, (of, name) => {
    const { pattern, groups } = checkedPattern(constantOf(of, 1, name));
    return operation('extract', [argument(given(of, 0), 'text', name)], {
      pattern,
      group: groups > 0 ? 1 : 0,
    });
  }),
  protocol: exactly(1, (of, name) => {
    const pattern = '(?s)^([a-zA-Z][a-zA-Z0-9+.-]*):...';
    return operation('extract', [argument(given(of, 0), 'text', name)], { pattern, group: 1 });
  }),
  domain: exactly(1, domain),
  path: exactly(1, (of, name) => {
    const rest = without(argument(given(of, 0), 'text', name), '^[^/]*//', 2);
    return operation('extract', [rest], { pattern: '^[^/]*(/[^?#]*)', group: 1 });
  }),
  cutQueryString: exactly(1, (of, name) => without(argument(given(of, 0), 'text', name), String.raw`\?[^#]*`, 1)),
  like: likeness({}),
  notLike: likeness({ not: true }),
  ilike: likeness({ anyCase: true }),
  notILike: likeness({ anyCase: true, not: true }),
  position: simple('position', 'text', 'text'),
  positionUTF8: simple('position', 'text', 'text'),
  positionCaseInsensitive: exactly(2, (of, name) => {
    const lower = allAs(of, 'text', name).map((one) => operation('lower', [one]));
    return operation('position', lower);
  }),
  startsWith: simple('starts_with', 'text', 'text'),
  endsWith: simple('ends_with', 'text', 'text'),

  // Lists of texts
  splitByChar: splitting(1),
  splitByString: splitting(100),
  arrayStringConcat: between(1, 2, (of, name) =>
    operation('join', [argument(given(of, 0), 'texts', name)], {
      text: of.length > 1 ? constantOf(of, 1, name) : '',
    }),
  ),
  arrayElement: exactly(2, (of, name) => elementOf(given(of, 0), given(of, 1), name)),
  has: exactly(2, (of, name) => {
    const list = aList(given(of, 0), name);
    const one = argument(given(of, 1), elementType(list.type as List), name);
    if (isPresent(one) || ('operator' in list && list.operator === 'list' && list.of.every(isPresent)))
      return operation('has', [list, one]);
    return operation('has_any', [list, operation('list', [one])]);
  }),
  hasAny: ofTwoLists('has_any'),
  hasAll: ofTwoLists('has_all'),
  arrayDistinct: exactly(1, (of, name) => operation('distinct', [aList(given(of, 0), name)])),
  arrayUniq: exactly(1, (of, name) => operation('list_uniq', [aList(given(of, 0), name)])),
  arraySum: exactly(1, (of, name) => {
    const list = given(of, 0);
    return list.type === 'floats'
      ? operation('list_sum_float', [list])
      : operation('list_sum', [argument(list, 'integers', name)]);
  }),
  arraySort: exactly(1, (of, name) => {
    const list = aList(given(of, 0), name);
    return isTuple(elementType(list.type as List)) ? refuse(`${name} cannot sort tuples`) : operation('sort', [list]);
  }),
  arrayReverse: exactly(1, (of, name) => operation('reverse', [aList(given(of, 0), name)])),
  range: between(1, 2, (of, name) => {
    const ends = [...(of.length === 1 ? [integerConstant(0)] : []), ...allAs(of, 'integer', name)];
    const [from = Number.NaN, to = Number.NaN] = ends.map((end) =>
      'constant' in end && end.constant !== null ? Number(end.constant) : Number.NaN,
    );
    if (to - from > MAX_RANGE) refuse(`${name} makes at most ${MAX_RANGE} numbers`);
    return operation('range', ends);
  }),

  // Tuples
  tuple: atLeast(1, (of) => tupleOfParts(of)),
  tupleElement: exactly(2, (of, name) => {
    const [value, at] = [given(of, 0), given(of, 1)];
    if (!isTuple(value.type)) return refuse(`${name} takes a tuple, not ${nameOf(value.type)}`);
    if (!('constant' in at) || at.type !== 'integer') return refuse(`Argument 2 of ${name} must be a place, from 1`);
    return partOf(value, Number(at.constant), name);
  }),

  // JSON
  JSONExtractString: json('property_value', (found) => otherwise(found, textConstant(''))),
  JSONExtractInt: json('json_scalar', (found) =>
    operation('coalesce', [
      converted(found, 'integer', ''),
      operation('truncated_float', [converted(found, 'float', '')]),
      integerConstant(0),
    ]),
  ),
  JSONExtractFloat: json('json_scalar', (found) =>
    otherwise(converted(found, 'float', ''), { constant: '0', type: 'float' }),
  ),
  JSONExtractBool: json('json_raw', (found) => {
    const text = converted(found, 'text', '');
    return otherwise(converted(converted(text, 'integer', ''), 'boolean', ''), equal([text, textConstant('true')], ''));
  }),
  JSONExtractRaw: json('json_raw', (found) => otherwise(converted(found, 'text', ''), textConstant(''))),
  JSONExtractArrayRaw: json('json_elements', (found) => otherwise(found, operation('list', []))),
  JSONExtractKeys: json('json_keys', (found) => otherwise(found, operation('list', []))),
  JSONExtract: atLeast(2, typedJson),
  JSONHas: json('json_has'),
  JSONLength: json('json_length'),

  // Times
  now: exactly(0, () => now),
  now64: between(0, 1, ([digits], name) => {
    const isPrecision = digits === undefined || ('constant' in digits && /^[0-9]$/.test(String(digits.constant)));
    return isPrecision ? now : refuse(`Argument 1 of ${name} must be a constant from 0 to 9`);
  }),
  today: exactly(0, today),
  yesterday: exactly(0, (_, name) => shifted(today(), integerConstant(1), 'day', true, name)),
  toTimeZone: exactly(2, (of, name) =>
    inZone(argument(given(of, 0), 'instant', name), checkedZone(constantOf(of, 1, name))),
  ),
  toStartOfSecond: startOf('second'),
  toStartOfMinute: startOf('minute'),
  toStartOfHour: startOf('hour'),
  toStartOfDay: startOf('day'),
  toStartOfMonth: startOf('month'),
  toStartOfQuarter: startOf('quarter'),
  toStartOfYear: startOf('year'),
  toLastDayOfMonth: between(1, 2, (of, name) => {
    const next = shifted(
      truncated(given(of, 0), 'month', zoneAt(of, 1, name), name),
      integerConstant(1),
      'month',
      false,
      name,
    );
    return shifted(next, integerConstant(1), 'day', true, name);
  }),
  toStartOfFiveMinutes: startOf('five_minutes'),
  toStartOfTenMinutes: startOf('ten_minutes'),
  toStartOfFifteenMinutes: startOf('fifteen_minutes'),
  toStartOfInterval: between(2, 3, startOfInterval),
  toMonday: startOf('monday'),
  toStartOfWeek: between(1, 3, (of, name) => {
    const mode = of[1] ?? integerConstant(clockOfQuery().weekStartDay);
    const isMode = 'constant' in mode && mode.type === 'integer' && /^[0-9]$/.test(String(mode.constant));
    if (!isMode) refuse(`Argument 2 of ${name} must be 0 (weeks from Sunday), 1 (from Monday) or another mode to 9`);
    return truncated(given(of, 0), Number(mode.constant) % 2 === 0 ? 'week' : 'monday', zoneAt(of, 2, name), name);
  }),
  dateTrunc: between(2, 3, dateTrunc),
  date_trunc: between(2, 3, dateTrunc),
  toYear: part('year'),
  toQuarter: part('quarter'),
  toMonth: part('month'),
  toYYYYMM: between(1, 2, (of, name) => {
    const at = (which: Part): Expression => part(which).build(of, name);
    return hundreds(at('year'), at('month'));
  }),
  toYYYYMMDD: between(1, 2, (of, name) => {
    const at = (which: Part): Expression => part(which).build(of, name);
    return hundreds(hundreds(at('year'), at('month')), at('day_of_month'));
  }),
  toISOYear: between(1, 2, (of, name) => {
    // That of the Thursday of its week.
    const monday = truncated(given(of, 0), 'monday', zoneAt(of, 1, name), name);
    return part('year').build([shifted(monday, integerConstant(3), 'day', false, name)], name);
  }),
  toDayOfMonth: part('day_of_month'),
  toDayOfWeek: between(1, 3, dayOfWeek),
  toDayOfYear: part('day_of_year'),
  toISOWeek: part('iso_week'),
  toHour: part('hour'),
  toMinute: part('minute'),
  toSecond: part('second'),
  dateName: between(2, 3, dateName),
  toUnixTimestamp: simple('seconds', 'instant'),
  toUnixTimestamp64Milli: simple('milliseconds', 'instant'),
  toUnixTimestamp64Micro: simple('microseconds', 'instant'),
  dateDiff: between(3, 4, dateDiff),
  date_diff: between(3, 4, dateDiff),
  dateAdd: dateShift(false),
  date_add: dateShift(false),
  dateSub: dateShift(true),
  date_sub: dateShift(true),
  ...Object.assign({}, ...UNITS.map(shiftsBy)),
  formatDateTime: between(2, 3, (of, name) =>
    operation('format', [clock(given(of, 0), zoneAt(of, 2, name), name).local], {
      format: checkedFormat(constantOf(of, 1, name)),
    }),
  ),
};

/** The element of a list at a place, from 1, or from the end where it is negative; of texts one that is not there is empty. */
export function elementOf(value: Expression, place: Expression, name: string): Expression {
  const list = aList(value, name);
  const element = operation('element', [list, argument(place, 'integer', name)]);
  return list.type === 'texts' ? otherwise(element, textConstant('')) : element;
}

function ofTwoLists(operator: 'has_any' | 'has_all'): FunctionSpec {
  return exactly(2, (of, name) =>
    operation(
      operator,
      unified(
        of.map((one) => aList(one, name)),
        name,
      ),
    ),
  );
}

/** A value that must be a list. */
export function aList(value: Expression, name: string): Expression {
  if (isList(value.type)) return value;
  return argument(value, 'texts', name);
}

function isEmpty(value: Expression, name: string): Expression {
  return isList(value.type)
    ? operation('same', [operation('list_length', [value]), integerConstant(0)])
    : operation('same', [argument(value, 'text', name), textConstant('')]);
}

/** Conditions and values in turn, and the value where none holds. */
function choice(of: readonly Expression[], name: string): Expression {
  if (of.length % 2 === 0) refuse(`${name} takes conditions and values in turn, and one more value`);
  const isValue = (n: number): boolean => n % 2 === 1 || n === of.length - 1;
  const values = unified(
    of.filter((_, n) => isValue(n)),
    name,
  );
  let next = 0;
  return operation(
    'if',
    of.map((one, n) => (isValue(n) ? (values[next++] as Expression) : condition(one, name))),
  );
}

function most(operator: 'least' | 'greatest', of: readonly Expression[], name: string): Expression {
  const values = ordered(of, name);
  return values.length === 1 ? given(values, 0) : operation(operator, values);
}

function trimming(side: 'both' | 'left' | 'right'): FunctionSpec {
  return exactly(1, (of, name) => operation('trim', [argument(given(of, 0), 'text', name)], { side }));
}

function splitting(longest: number): FunctionSpec {
  return exactly(2, (of, name) => {
    const by = constantOf(of, 0, name);
    if (by === '' || Array.from(by).length > longest)
      refuse(`Argument 1 of ${name} must be 1 to ${longest} characters long`);
    return operation('split', [argument(given(of, 1), 'text', name)], { text: by });
  });
}

const byName = new Map(Object.entries(FUNCTIONS));
const byLowerName = new Map(Object.entries(FUNCTIONS).map(([name, spec]) => [name.toLowerCase(), spec]));

/** Undefined: there is no such function. */
export const functionOf = (name: string): FunctionSpec | undefined =>
  byName.get(name) ?? byLowerName.get(name.toLowerCase());

/** Functions that go through a list with a lambda: whether they take what it gives, or the elements that it lets through. */
export const OVER_LISTS: Readonly<Record<string, 'map' | 'filter'>> = {
  arrayMap: 'map',
  arrayFilter: 'filter',
  arrayExists: 'filter',
  arrayCount: 'filter',
};

/** Every name, as HogQL writes it. */
export const FUNCTION_NAMES: readonly string[] = [...byName.keys(), ...Object.keys(OVER_LISTS)].filter(
  (name) => !name.startsWith('_'),
);
