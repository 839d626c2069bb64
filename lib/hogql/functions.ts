/** The functions that a query may call, by the names that HogQL has for them, with ClickHouse's meaning. */
import {
  allAs,
  argument,
  constantText,
  converted,
  integerConstant,
  isReadable,
  nameOf,
  nothing,
  operation,
  partOf,
  textConstant,
  tupleOfParts,
} from './build.ts';
import { clockOfQuery } from './clock.ts';
import { type Expression, elementType, isList, isTuple, type List } from './expression.ts';
import { json, typedJson } from './functions/json.ts';
import { arithmetic, conversion, counting, divided, orZero, roundedInteger, rounding } from './functions/numbers.ts';
import { atLeast, between, constantOf, exactly, type FunctionSpec, given, simple } from './functions/spec.ts';
import {
  domain,
  likeness,
  matched,
  parameterOf,
  replacing,
  right,
  splitting,
  substring,
  trimming,
  without,
} from './functions/texts.ts';
import {
  clock,
  dateDiff,
  dateName,
  dateShift,
  dateTrunc,
  dayOfWeek,
  digitsOf,
  inZone,
  now,
  part,
  shifted,
  shiftsBy,
  startOf,
  startOfInterval,
  toDate,
  toDateTime,
  today,
  toText,
  truncated,
  UNITS,
  zoneAt,
} from './functions/times.ts';
import {
  aList,
  choice,
  condition,
  elementOf,
  equal,
  firstOf,
  integerOf,
  isEmpty,
  isPresent,
  less,
  lessOrEqual,
  logical,
  most,
  ofTwoLists,
  otherwise,
  sorted,
  turned,
  unequal,
  wholePart,
} from './functions/values.ts';
import { checkedFormat, checkedPattern, checkedZone } from './patterns.ts';
import { refuse } from './refusal.ts';
import { MAX_RANGE } from './size.ts';

const FLOAT_ZERO: Expression = { constant: '0', type: 'float' };

const FUNCTIONS: Readonly<Record<string, FunctionSpec>> = {
  // Conversions
  toString: toText,
  toInt: conversion('integer'),
  toFloat: conversion('float'),
  toIntOrZero: orZero('integer'),
  toFloatOrZero: orZero('float'),
  toFloatOrDefault: between(1, 2, ([value, byDefault = FLOAT_ZERO], name) =>
    otherwise(converted(value as Expression, 'float', name), argument(byDefault, 'float', name)),
  ),
  toBool: conversion('boolean'),
  toDate,
  to_date: toDate,
  toDateTime,
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
    const text = constantText(other);
    // A text that the value cannot be makes nothing of it.
    if (text !== undefined && !isReadable(text, value.type)) return value;
    // The result is the first value as it is, or null.
    return operation('if', [equal([value, other], name), nothing(value.type), value]);
  }),
  isNull: exactly(1, (of) => operation('is_null', of)),
  isNotNull: exactly(1, (of) => operation('not', [operation('is_null', of)])),
  assumeNotNull: exactly(1, (of) => given(of, 0)),
  toNullable: exactly(1, (of) => given(of, 0)),
  empty: exactly(1, (of, name) => isEmpty(given(of, 0), name)),
  notEmpty: exactly(1, (of, name) => operation('not', [isEmpty(given(of, 0), name)])),

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
  ln: simple('log', 'float'),
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
  domainWithoutWWW: exactly(1, (of, name) => without(domain(of, name), String.raw`^www\.`, 4)),
  path: exactly(1, (of, name) => {
    const rest = without(argument(given(of, 0), 'text', name), '^[^/]*//', 2);
    return operation('extract', [rest], { pattern: '^[^/]*(/[^?#]*)', group: 1 });
  }),
  cutQueryString: exactly(1, (of, name) => without(argument(given(of, 0), 'text', name), String.raw`\?[^#]*`, 1)),
  extractURLParameter: exactly(2, parameterOf),
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
  arraySort: exactly(1, (of, name) => sorted(given(of, 0), name)),
  // What is missing comes last, and is left out where the last is taken.
  arrayMin: exactly(1, (of, name) => elementOf(sorted(given(of, 0), name), integerConstant(1), name)),
  arrayMax: exactly(1, (of, name) => {
    const present = operation('distinct', [sorted(given(of, 0), name)]);
    return elementOf(present, integerConstant(-1), name);
  }),
  arrayReverse: exactly(1, (of, name) => operation('reverse', [aList(given(of, 0), name)])),
  range: between(1, 2, (of, name) => {
    const ends = [...(of.length === 1 ? [integerConstant(0)] : []), ...allAs(of, 'integer', name)];
    const [from = Number.NaN, to = Number.NaN] = ends.map(integerOf);
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
  JSONExtractFloat: json('json_scalar', (found) => otherwise(converted(found, 'float', ''), FLOAT_ZERO)),
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
  toYYYYMM: digitsOf('year', 'month'),
  toYYYYMMDD: digitsOf('year', 'month', 'day_of_month'),
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

const byLowerName = new Map(Object.entries(FUNCTIONS).map(([name, spec]) => [name.toLowerCase(), spec]));

/** Undefined: there is no such function. */
export const functionOf = (name: string): FunctionSpec | undefined => byLowerName.get(name.toLowerCase());

/** Functions that go through a list with a lambda: whether they take what it gives, or the elements that it lets through. */
export const OVER_LISTS: Readonly<Record<string, 'map' | 'filter'>> = {
  arrayMap: 'map',
  arrayFilter: 'filter',
  arrayExists: 'filter',
  arrayCount: 'filter',
  arrayFirst: 'filter',
};

/** Every name, as HogQL writes it. */
export const FUNCTION_NAMES: readonly string[] = [FUNCTIONS, OVER_LISTS]
  .flatMap(Object.keys)
  .filter((name) => !name.startsWith('_'));
