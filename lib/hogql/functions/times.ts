/** Functions of dates and times: zones, starts, parts, shifts, differences. */
import { beginningOf } from '../../basics/text.ts';
import {
  argument,
  constantText,
  converted,
  fromLocal,
  integerConstant,
  localOf,
  operation,
  textOfInstant,
} from '../build.ts';
import { clockOfQuery, movedInto, withClock, zoneOf } from '../clock.ts';
import { type Expression, type FormatPiece, type Part, type Step, type Unit } from '../expression.ts';
import { checkedZone } from '../patterns.ts';
import { refuse } from '../refusal.ts';
import { copied } from '../size.ts';
import { type Build, between, constantOf, exactly, type FunctionSpec, given } from './spec.ts';
import { integerOf, wholePart } from './values.ts';

/** The time with a zone: a node of its own, so that the same time elsewhere keeps its own zone. */
export const inZone = (value: Expression, zone: string | undefined): Expression =>
  zone === undefined ? value : movedInto(zone, copied(value));

/** A time with the clock of its zone in UTC's place, and the zone. */
export function clock(
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

export const zoneAt = (of: readonly Expression[], n: number, name: string): string | undefined =>
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
export function truncated(value: Expression, step: Step, zone: string | undefined, name: string): Expression {
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

/** What starts with a unit; weeks start with their Mondays. */
const stepOf = (unit: Unit): Step => (unit === 'week' ? 'monday' : unit);

/** ClickHouse counts months and quarters from 1900, years from year 0, weeks from the first Monday of 1970, days from its first. */
const BEFORE_1970: Readonly<Partial<Record<Unit, number>>> = { month: 70 * 12, quarter: 70 * 4, year: 1970 };

/**
 * The start of the interval of so many units that a time lies in. Hours are counted from the start of their day, days
 * and more by the clock, minutes and seconds whatever it shows.
 */
export const startOfInterval: Build = (of, name) => {
  const [, digits = '', word = ''] = /^([1-9]\d{0,5}) ([a-z]+)$/.exec(constantOf(of, 1, name)) ?? [];
  if (digits === '') refuse(`Argument 2 of ${name} must be an interval of 1 to 999999 units, as in INTERVAL 15 MINUTE`);
  const unit = unitOf(word);
  const [value, zone] = [given(of, 0), zoneAt(of, 2, name)];
  const step = stepOf(unit);
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

export const startOf = (step: Step): FunctionSpec =>
  between(1, 2, (of, name) => truncated(given(of, 0), step, zoneAt(of, 1, name), name));

export const part = (which: Part): FunctionSpec =>
  between(1, 2, (of, name) =>
    operation('part', [clock(given(of, 0), zoneAt(of, 1, name), name).local], { part: which }),
  );

/** Parts of a time as one number, each two digits after those before it. */
export const digitsOf = (...parts: readonly Part[]): FunctionSpec =>
  between(1, 2, (of, name) =>
    parts
      .map((which) => part(which).build(of, name))
      .reduce((number, digits) => operation('add', [operation('multiply', [number, integerConstant(100)]), digits])),
  );

/** The day of the week, from 1 for Monday, or as the mode says that may stand before the zone. */
export const dayOfWeek: Build = (of, name) => {
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
export const dateName: Build = (of, name) => {
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

export const UNITS: readonly Unit[] = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];
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
export const dateTrunc: Build = (of, name) => {
  const unit = unitOf(constantOf(of, 0, name));
  return truncated(given(of, 1), stepOf(unit), zoneAt(of, 2, name), name);
};

/** How many times a unit begins between two times. */
export const dateDiff: Build = (of, name) => {
  const unit = unitOf(constantOf(of, 0, name));
  const zone = zoneAt(of, 3, name);
  const times = of.slice(1, 3);
  if (zone !== undefined && times.every(({ type }) => type === 'date'))
    refuse(`${name} of two dates takes no time zone`);
  const [from, to] = times.map((value) => operation('count_units', [counted(value, unit, zone, name)], { unit }));
  return operation('subtract', [to as Expression, from as Expression]);
};

export const toDate: FunctionSpec = between(1, 2, (of, name) => {
  const zone = zoneAt(of, 1, name);
  const value = given(of, 0);
  if (value.type !== 'instant') return zone === undefined ? converted(value, 'date', name) : refuse(zoneOfNoTime(name));
  return operation('date_of_instant', [clock(value, zone, name).local]);
});

export const toText: FunctionSpec = between(1, 2, (of, name) => {
  const value = given(of, 0);
  if (value.type === 'instant') return textOfInstant(value, clock(value, zoneAt(of, 1, name), name).local);
  return of.length === 1 ? converted(value, 'text', name) : refuse(zoneOfNoTime(name));
});
export const toDateTime: FunctionSpec = between(1, 2, (of, name) => {
  const zone = zoneAt(of, 1, name);
  const value = given(of, 0);
  const read = (): Expression => converted(value, 'instant', name);
  if (zone === undefined || zone === clockOfQuery().zone) return inZone(read(), zone ?? zoneOf(value));
  return inZone(withClock({ ...clockOfQuery(), zone }, read), zone);
});

/** The unit comes first: `dateAdd('day', 1, timestamp)`. */
export const dateShift = (isBack: boolean): FunctionSpec =>
  exactly(3, (of, name) => shifted(given(of, 2), given(of, 1), unitOf(constantOf(of, 0, name)), isBack, name));

/** `addDays` and `subtractDays`, of each unit. */
export const shiftsBy = (unit: Unit): Record<string, FunctionSpec> => {
  const shifts = (isBack: boolean): FunctionSpec =>
    exactly(2, (of, name) => shifted(given(of, 0), given(of, 1), unit, isBack, name));
  return { [`add${capital(unit)}s`]: shifts(false), [`subtract${capital(unit)}s`]: shifts(true) };
};

export const now: Expression = { now: true, type: 'instant' };
export const today = (): Expression => converted(now, 'date', 'today()');
