/** What printers have in common: the walk over the tree, and the operators that both dialects write alike. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import type {
  Expression,
  FormatCode,
  FormatPiece,
  Operator,
  Parameters,
  Query,
  QueryField,
  Scalar,
  Step,
  Type,
  Unit,
} from './expression.ts';
import { elementType, isList, isTuple, partTypes } from './expression.ts';
import { hasTwoMidnights } from './midnights.ts';
import { BOOLEAN_WORDS, FLOAT, INSTANT, UNIX_TIME } from './patterns.ts';

/** A printed expression over an element of a list, and the name that it has for the element. */
interface Each {
  readonly variable: string;
  readonly body: string;
}

/** As many as the operator takes, which the check has seen to: the type claims three whatever these are. */
type Arguments = readonly [string, string, string, ...string[]];

/** An operator as SQL: its printed arguments, its parameters, its expression over an element, and its type. */
type Printed = (of: Arguments, parameters: Required<Parameters>, each: Each, type: Type) => string;

/** How a dialect writes a tree. */
export interface Dialect {
  /** A text as a literal. */
  readonly literal: (text: string) => string;
  /** The names of types in a cast, and those of lists and of tuples by the names of what is in them. */
  readonly types: Readonly<Record<Scalar, string>> & {
    readonly list: (element: string) => string;
    readonly tuple: (parts: readonly string[]) => string;
  };
  readonly operators: Readonly<Record<Exclude<Operator, 'in_query'>, Printed>>;
}

/** What an expression of a SELECT is printed with. */
export interface Surroundings {
  /** A column of a relation. */
  readonly field: (field: QueryField) => string;
  /** A query by itself. */
  readonly query: (query: Query) => string;
}

const ONE_TABLE: Surroundings = {
  field: ({ column }) => column,
  query: () => {
    throw new Error('an expression of one table has no query in it');
  },
};

/** The expression as SQL of a dialect; `now` is the SQL of the end of the row's data interval, in microseconds. */
export const print = (
  expression: Expression,
  dialect: Dialect,
  now: string,
  surroundings: Surroundings = ONE_TABLE,
): string => printed(expression, { dialect, now, surroundings, depth: 0 });

/**
 * A condition as SQL where only what is true counts: null is as good as false, and comparisons are plain. In the condition
 * of a join (`isJoin`) null equals nothing, so that rows are found by what is equal.
 */
export const printCondition = (
  expression: Expression,
  dialect: Dialect,
  now: string,
  surroundings: Surroundings,
  isJoin: boolean,
): string => passing(expression, { dialect, now, surroundings, depth: 0 }, isJoin);

interface Printing {
  readonly dialect: Dialect;
  readonly now: string;
  readonly surroundings: Surroundings;
  /** How many lambdas are around. */
  readonly depth: number;
}

function printed(node: Expression, printing: Printing): string {
  const { dialect, depth, surroundings } = printing;
  if ('column' in node) return surroundings.field(node);
  if ('constant' in node) return constant(node.constant, node.type, dialect);
  if ('now' in node) return printing.now;
  if ('variable' in node) return variableName(node.variable);
  const body = node.each === undefined ? '' : printed(node.each, { ...printing, depth: depth + 1 });
  const of = node.of.map((one) => printed(one, printing)) as unknown as Arguments;
  // What an operator reads of its parameters, the check has set.
  const parameters = (node.with ?? {}) as Required<Parameters>;
  if (node.operator === 'in_query') return certain(amongQuery(of, parameters, surroundings));
  return dialect.operators[node.operator](of, parameters, { variable: variableName(depth), body }, node.type);
}

const amongQuery = ([x]: readonly string[], { query }: Required<Parameters>, surroundings: Surroundings): string =>
  `${x} IN (${surroundings.query(query)})`;

function passing(node: Expression, printing: Printing, isJoin: boolean): string {
  if (!('operator' in node)) return printed(node, printing);
  const { operator } = node;
  if (operator === 'and' || operator === 'or')
    return `(${node.of.map((one) => passing(one, printing, isJoin)).join(operator === 'and' ? ' AND ' : ' OR ')})`;
  const of = (): string[] => node.of.map((one) => printed(one, printing));
  if (operator === 'in_query')
    return amongQuery(of(), (node.with ?? {}) as Required<Parameters>, printing.surroundings);
  // Where both sides may be null they are equal then, but for what is joined.
  const isNullSafe =
    operator === 'equal' && !isJoin && !node.of.some((one) => 'constant' in one && one.constant !== null);
  const plain = isNullSafe ? undefined : PLAIN[operator];
  return plain === undefined ? printed(node, printing) : plain(of());
}

/** Comparisons that are null where one side is. */
const PLAIN: Readonly<Partial<Record<Operator, (of: readonly string[]) => string>>> = {
  equal: (of) => two(of, '='),
  less: (of) => two(of, '<'),
  less_or_equal: (of) => two(of, '<='),
  in: ([x, ...values]) => `${x} IN (${values.join(', ')})`,
};

const variableName = (n: number): string => `v${n}`;

/** A type as a dialect writes it in a cast. */
export function typeText(type: Type, types: Dialect['types']): string {
  if (isTuple(type)) return types.tuple(partTypes(type).map((one) => typeText(one, types)));
  return isList(type) ? types.list(typeText(elementType(type), types)) : types[type];
}

const WHOLE: ReadonlySet<Type> = new Set(['integer', 'instant', 'date']);

function constant(value: string | number | boolean | null, type: Type, dialect: Dialect): string {
  if (value === null) return `CAST(NULL AS ${typeText(type, dialect.types)})`;
  if (type === 'boolean') return value === true ? 'TRUE' : 'FALSE';
  if (type === 'float') return `DOUBLE '${value}'`;
  return WHOLE.has(type) ? `BIGINT '${value}'` : dialect.literal(String(value));
}

/** Microseconds of the units that are always as long. */
const microseconds = (ms: number): bigint => BigInt(ms) * 1000n;
const WIDTHS_US = {
  second: microseconds(SECOND_MS),
  minute: microseconds(MINUTE_MS),
  hour: microseconds(HOUR_MS),
  day: microseconds(DAY_MS),
};
const FIRST_TIME_MS = Date.parse('0001-01-01');
const END_OF_TIMES_MS = Date.parse('+010000-01-01');

/** HogQL's times, milliseconds since 1970, are those of the years 1 to 9999; what is reckoned beyond them has overflown. */
export const isTime = (ms: number): boolean => ms >= FIRST_TIME_MS && ms < END_OF_TIMES_MS;

/** An instant as it is delivered: null where it is none of HogQL's times. */
export const heldTime = (instant: string): string =>
  `CASE WHEN ${instant} BETWEEN BIGINT '${microseconds(FIRST_TIME_MS)}' AND BIGINT '${microseconds(END_OF_TIMES_MS) - 1n}' THEN ${instant} END`;

const WEEK_US = 7n * WIDTHS_US.day;

/**
 * A multiple of the width that makes every instant of the years 1 to 9999 positive when it is added (year 1 is
 * -6.2e16 microseconds), so that division, which cuts toward zero, cuts downward.
 */
const shift = (width: bigint): bigint => (100_000_000_000_000_000n / width + 1n) * width;

/**
 * Width in microseconds of the steps that are always as long, and what they are counted from: 4 January 1970 was a Sunday, the
 * 5th a Monday.
 */
export const TIME_STEPS: Readonly<
  Record<Exclude<Step, 'month' | 'quarter' | 'year'>, readonly [width: bigint, origin: bigint]>
> = {
  second: [WIDTHS_US.second, 0n],
  minute: [WIDTHS_US.minute, 0n],
  five_minutes: [5n * WIDTHS_US.minute, 0n],
  ten_minutes: [10n * WIDTHS_US.minute, 0n],
  fifteen_minutes: [15n * WIDTHS_US.minute, 0n],
  hour: [WIDTHS_US.hour, 0n],
  day: [WIDTHS_US.day, 0n],
  week: [WEEK_US, 3n * WIDTHS_US.day],
  monday: [WEEK_US, 4n * WIDTHS_US.day],
};

/** What the dialects write differently in operators that are otherwise alike. */
interface Spelling {
  /** Division of integers. */
  readonly slash: string;
  /** The first instant of the month, quarter or year. */
  readonly startOf: (instant: string, unit: 'month' | 'quarter' | 'year') => string;
  /** How many whole units lie between 1970 and the start of the instant's own. */
  readonly unitsSince1970: (instant: string, unit: 'month' | 'quarter' | 'year') => string;
  readonly addMonths: (instant: string, months: string) => string;
  /** What the clock of a zone shows at an instant, in UTC's place. */
  readonly local: (instant: string, zone: string) => string;
  /** The instant at which it shows this; of two it may be either. */
  readonly fromLocal: (local: string, zone: string) => string;
  readonly bound: Bound;
  /** A text as a literal. */
  readonly literal: (text: string) => string;
  /** What a pattern matches of all of a text; null where it does not. */
  readonly whole: (text: string, pattern: string) => string;
  /** The instant that a text names in ISO 8601; null where it names none. */
  readonly writtenInstant: (text: string) => string;
  /** The function that takes a number's fraction away. */
  readonly truncate: string;
}

/** `body` over a value that it reads more than once. */
type Bound = (value: string, body: (name: string) => string) => string;

/** Writes a value that is read more than once: a column or a short constant just again, else by the name that `named` gives it. */
export const boundBy =
  (named: (value: string, body: string) => string): Bound =>
  (value, body) =>
    /^(?:[\w.]+|(?:BIGINT )?'[^']{0,40}')$/.test(value) ? body(value) : named(value, body('bound'));

/** Months in the units that are made of months. */
const MONTHS: Readonly<Partial<Record<Unit, number>>> = { month: 1, quarter: 3, year: 12 };

const isMonths = (unit: Step): unit is 'month' | 'quarter' | 'year' => unit in MONTHS;

const INTEGER_TEXT = String.raw`^[+-]?[0-9]+\z`;
export const FLOAT_TEXT = String.raw`^${FLOAT}\z`;
/** No text has as many characters; beyond it engines take no place, and no length. */
const MOST_CHARACTERS = 2_147_483_647;

/** A place in a text that engines take; there is nothing at 0, and nothing beyond all texts. */
const placeText = (n: string): string =>
  /^BIGINT '-?[1-9]\d{0,8}'$/.test(n)
    ? n
    : `CASE WHEN ${n} = 0 OR ${n} > ${MOST_CHARACTERS} THEN ${MOST_CHARACTERS} WHEN ${n} < -${MOST_CHARACTERS} THEN -${MOST_CHARACTERS} ELSE ${n} END`;
/** The same for a length; one below 0 is none. */
const lengthText = (n: string): string =>
  /^BIGINT '\d{1,9}'$/.test(n)
    ? n
    : `CASE WHEN ${n} < 0 THEN 0 WHEN ${n} > ${MOST_CHARACTERS} THEN ${MOST_CHARACTERS} ELSE ${n} END`;

/** A number since 1970 in microseconds, by its size: of microseconds, milliseconds or seconds. */
const microsecondsOf = (number: string): string =>
  `CASE WHEN ${number} >= 1000000000000000 THEN ${number} WHEN ${number} >= 1000000000000 THEN ${number} * 1000 ELSE ${number} * 1000000 END`;

const UNIX_TEXT = String.raw`^${UNIX_TIME}\z`;
const UUID_TEXT = String.raw`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\z`;
export const INSTANT_TEXT = String.raw`^${INSTANT}\z`;

const call = (name: string, of: readonly string[]): string => `${name}(${of.join(', ')})`;
const two = (of: readonly string[], symbol: string): string => `(${of[0]} ${symbol} ${of[1]})`;
const tried = (sql: string): string => `TRY(${sql})`;
/** A comparison is false where one side is null. */
const certain = (sql: string): string => `coalesce(${sql}, FALSE)`;
const same: Printed = ([x]) => x;

/** Operators that both dialects write alike, but for the spelling. */
export function alike(spelling: Spelling) {
  const { slash, startOf, unitsSince1970, addMonths, local, fromLocal, bound } = spelling;
  const { literal, whole, writtenInstant, truncate } = spelling;
  const floorDivided = (x: string, width: bigint): string =>
    `((${x} + ${shift(width)}) ${slash} ${width} - ${shift(width) / width})`;
  /** Null where it fails, is infinite, or is no number, which compares with the largest as greater or not at all. */
  const finite = (sql: string): string =>
    bound(tried(sql), (v) => `CASE WHEN abs(${v}) <= ${Number.MAX_VALUE} THEN ${v} END`);
  return {
    and: (of) => `(${of.join(' AND ')})`,
    or: (of) => `(${of.join(' OR ')})`,
    not: ([x]) => `(NOT ${x})`,
    if: (of) => {
      const branches = of.slice(0, -1).flatMap((one, n) => (n % 2 === 0 ? [`WHEN ${one} THEN ${of[n + 1]}`] : []));
      return `CASE ${branches.join(' ')} ELSE ${of.at(-1)} END`;
    },
    coalesce: (of) => call('coalesce', of),
    is_null: ([x]) => `(${x} IS NULL)`,
    equal: (of) => two(of, 'IS NOT DISTINCT FROM'),
    same: (of) => two(of, '='),
    between: ([x, low, high]) => `(${x} BETWEEN ${low} AND ${high})`,
    less: (of) => certain(two(of, '<')),
    less_or_equal: (of) => certain(two(of, '<=')),
    in: ([x, ...values]) => certain(`${x} IN (${values.join(', ')})`),

    add: (of) => tried(two(of, '+')),
    subtract: (of) => tried(two(of, '-')),
    multiply: (of) => tried(two(of, '*')),
    divide_whole: ([x, y]) => tried(`${x} ${slash} nullif(${y}, 0)`),
    modulo: ([x, y]) => tried(`${x} % nullif(${y}, 0)`),
    abs: ([x]) => tried(`abs(${x})`),
    add_float: (of) => tried(two(of, '+')),
    subtract_float: (of) => tried(two(of, '-')),
    multiply_float: (of) => tried(two(of, '*')),
    divide: ([x, y]) => tried(`${x} / nullif(${y}, 0)`),
    modulo_float: ([x, y]) => tried(`${x} % nullif(${y}, 0)`),
    abs_float: ([x]) => `abs(${x})`,
    floor: ([x]) => `floor(${x})`,
    ceil: ([x]) => `ceil(${x})`,
    sqrt: (of) => finite(call('sqrt', of)),
    log: (of) => finite(call('ln', of)),
    log2: (of) => finite(call('log2', of)),
    log10: (of) => finite(call('log10', of)),
    exp: (of) => finite(call('exp', of)),
    power: (of) => finite(call('power', of)),
    // Of what the scaled number is as a float, as ClickHouse rounds: engines decide by digits of their own what is a half, and
    // round it away from zero; half of the number, rounded and doubled, is the even one.
    round: ([x], { digits }) => {
      const [scale, back] = digits < 0 ? ['/', '*'] : ['*', '/'];
      const power = `1e${Math.abs(digits)}`;
      return bound(`${x} ${scale} ${power}`, (v) => {
        const half = `${v} - floor(${v}) = 5e-1`;
        return `(CASE WHEN ${half} THEN 2 * round(${v} / 2) ELSE round(${v}) END) ${back} ${power}`;
      });
    },

    integer_of_text: ([x]) => `TRY_CAST(${whole(x, INTEGER_TEXT)} AS bigint)`,
    integer_of_float: ([x]) => bound(x, (v) => `CASE WHEN ${v} = ${truncate}(${v}) THEN TRY_CAST(${v} AS bigint) END`),
    truncated_float: ([x]) => `TRY_CAST(${truncate}(${x}) AS bigint)`,
    integer_of_boolean: ([x]) => `CASE ${x} WHEN TRUE THEN BIGINT '1' WHEN FALSE THEN BIGINT '0' END`,
    float_of_integer: ([x]) => `CAST(${x} AS DOUBLE)`,
    boolean_of_text: ([x]) => {
      const words = Object.entries(BOOLEAN_WORDS).flatMap(([is, all]) => all.map((word) => [word, is.toUpperCase()]));
      return `CASE lower(${x}) ${words.map(([word, is]) => `WHEN '${word}' THEN ${is}`).join(' ')} END`;
    },
    boolean_of_integer: ([x]) => `(${x} <> 0)`,
    boolean_of_float: ([x]) => `(${x} <> 0)`,
    uuid_of_text: ([x]) => `lower(${whole(x, UUID_TEXT)})`,
    instant_of_text: ([x]) =>
      bound(x, (v) => {
        const number = `TRY_CAST(${whole(v, UNIX_TEXT)} AS decimal(38, 6))`;
        return `coalesce(${writtenInstant(v)}, TRY_CAST(${microsecondsOf(number)} AS bigint))`;
      }),
    instant_of_float: ([x]) => `TRY_CAST(floor(${x} * 1000000) AS bigint)`,
    instant_of_date: same,
    instant_of_microseconds: same,
    instant_of_milliseconds: ([x]) => tried(`${x} * 1000`),
    instant_of_seconds: ([x]) => tried(`${x} * 1000000`),
    date_of_instant: ([x]) => tried(`${floorDivided(x, WIDTHS_US.day)} * ${WIDTHS_US.day}`),
    text_of_json: same,
    json_of_text: same,
    text_of_integer: ([x]) => `CAST(${x} AS VARCHAR)`,
    text_of_boolean: ([x]) => `CAST(${x} AS VARCHAR)`,

    lower: (of) => call('lower', of),
    upper: (of) => call('upper', of),
    length: (of) => call('length', of),
    substring: ([x, from, n]) => `substr(${x}, ${bound(from, placeText)}, ${bound(n, lengthText)})`,
    substring_from: ([x, from]) => `substr(${x}, ${bound(from, placeText)})`,
    replace: ([x, by], { text }) => `replace(${x}, ${literal(text)}, ${by})`,
    position: (of) => call('strpos', of),
    starts_with: (of) => call('starts_with', of),

    truncate: ([x], { step }) => {
      if (isMonths(step)) return tried(startOf(x, step));
      const [width, origin] = TIME_STEPS[step];
      const added = shift(width) - origin;
      return tried(`((${x} + ${added}) ${slash} ${width}) * ${width} - ${added}`);
    },
    count_units: ([x], { unit }) => {
      if (isMonths(unit)) return tried(unitsSince1970(x, unit));
      // Weeks are counted by their Mondays.
      if (unit === 'week') return tried(floorDivided(`(${x} - ${TIME_STEPS.monday[1]})`, WEEK_US));
      return tried(floorDivided(x, WIDTHS_US[unit]));
    },
    earlier: (of) => tried(two(of, '-')),
    add_units: ([x, n], { unit }) => {
      if (isMonths(unit)) return tried(addMonths(x, `${n} * ${MONTHS[unit]}`));
      return tried(`${x} + ${n} * ${unit === 'week' ? WEEK_US : WIDTHS_US[unit]}`);
    },
    local: ([x], { zone }) => local(x, zone),
    from_local: ([x], { zone, first }) => {
      const found = fromLocal(x, zone);
      if (!first && !hasTwoMidnights(zone)) return found;
      return bound(found, (v) => {
        const [shown, before] = [local(v, zone), `${v} - ${WIDTHS_US.hour}`];
        const isTwice = `${local(before, zone)} = ${shown}${first ? '' : ` AND ${shown} % ${WIDTHS_US.day} = 0`}`;
        return `CASE WHEN ${isTwice} THEN ${before} ELSE ${v} END`;
      });
    },
    seconds: ([x]) => tried(floorDivided(x, WIDTHS_US.second)),
    microseconds: same,
    milliseconds: ([x]) => tried(floorDivided(x, 1000n)),
  } as const satisfies Partial<Record<Operator, Printed>>;
}

/** A date's format; `codes` are those that the dialect has for others than its own `%Y`. */
export const formatText = (pieces: readonly FormatPiece[], codes: Partial<Record<FormatCode, string>>): string =>
  pieces
    .map((piece) => ('text' in piece ? piece.text.replaceAll('%', '%%') : (codes[piece.code] ?? `%${piece.code}`)))
    .join('');
