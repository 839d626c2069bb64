/** Which times of a table a query can need, by its conditions: rows of other times change nothing of its answer. */
import { Temporal } from 'temporal-polyfill';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../basics/units.ts';
import { constantText } from './build.ts';
import type { Expression, Operator, Parameters, Select, Step, Unit, WholeQuery } from './expression.ts';
import { nodesOf } from './facts.ts';
import { integerOf } from './functions/values.ts';
import { INSTANT } from './patterns.ts';
import { isTime, TIME_STEPS } from './print.ts';

/** Milliseconds since 1970, both inclusive; infinite where there is no bound. */
export interface Times {
  readonly from: number;
  readonly to: number;
}

const ALL: Times = { from: -Infinity, to: Infinity };

const both = (ranges: readonly Times[]): Times => ({
  from: Math.max(-Infinity, ...ranges.map(({ from }) => from)),
  to: Math.min(Infinity, ...ranges.map(({ to }) => to)),
});

/** From the earliest of them to the latest. */
const hull = (ranges: readonly Times[]): Times => ({
  from: Math.min(...ranges.map(({ from }) => from)),
  to: Math.max(...ranges.map(({ to }) => to)),
});

/**
 * Returns the times of a table's rows that a query can need; `column` holds them in microseconds, and `now` is what
 * `now()` is, in the same. They are those of all SELECTs that read the table together, each bounded by its own conditions
 * that must hold; what is not understood bounds nothing.
 */
export function timesRead(whole: WholeQuery, table: string, column: string, now: bigint): Times {
  const found: Times[] = [];
  for (const node of nodesOf(whole))
    if ('columns' in node && 'joins' in node) found.push(...timesOf(node as Select, table, column, now));
  if (found.length === 0) return ALL;
  const { from, to } = hull(found);
  // Microseconds may have been rounded on the way.
  return { from: Math.floor(from) - 1, to: Math.ceil(to) + 1 };
}

/** Returns the times of each relation of a SELECT that is the table. */
function timesOf({ from, joins, where }: Select, table: string, column: string, now: bigint): Times[] {
  // A row that lacks a side of a join fulfils no comparison with it: what must hold of the rows holds of each relation.
  const held = [where, ...joins.map(({ kind, on }) => (kind === 'inner' ? on : undefined))];
  return [{ source: from, on: undefined }, ...joins].flatMap(({ source, on }) => {
    if (source === undefined || !('table' in source) || source.table !== table) return [];
    const span = (value: Expression): Span | undefined =>
      'column' in value && value.relation === source.as && value.column === column
        ? { isOfRow: true, from: 0, to: 0 }
        : spanOf(value, span, Number(now) / 1000);
    return [both([...held, on].map((condition) => (condition ? timesWhere(condition, span) : ALL)))];
  });
}

/** Where a time lies: milliseconds since 1970, or since the time of the row. */
interface Span extends Times {
  readonly isOfRow: boolean;
}

/** Returns where a value lies; undefined: that is not known. */
type SpanOf = (value: Expression) => Span | undefined;

/** Returns the times of the rows of which a condition may be true. */
function timesWhere(condition: Expression, span: SpanOf): Times {
  if (!('operator' in condition)) return ALL;
  const { operator, of } = condition;
  if (operator === 'and') return both(of.map((one) => timesWhere(one, span)));
  if (operator === 'or') return hull(of.map((one) => timesWhere(one, span)));
  const [first, ...others] = of.map(span);
  const [second, third] = others;
  if (operator === 'less' || operator === 'less_or_equal') return inOrder(first, second);
  if (operator === 'between') return both([inOrder(second, first), inOrder(first, third)]);
  if (operator !== 'equal' && operator !== 'in') return ALL;
  return hull(others.map((other) => both([inOrder(first, other), inOrder(other, first)])));
}

/** Returns the times of the rows of which the one is not after the other. */
function inOrder(before: Span | undefined, after: Span | undefined): Times {
  if (before === undefined || after === undefined || before.isOfRow === after.isOfRow) return ALL;
  return before.isOfRow
    ? { from: -Infinity, to: after.to - before.from }
    : { from: before.from - after.to, to: Infinity };
}

const later = ({ isOfRow, from, to }: Span, least: number, most = least): Span => ({
  isOfRow,
  from: from + least,
  to: to + most,
});

/** Months in the steps that are not always as long, and the days of a month. */
const MONTHS: Readonly<Record<Exclude<Step, keyof typeof TIME_STEPS>, number>> = { month: 1, quarter: 3, year: 12 };
const MONTH_DAYS = { least: 28, most: 31 };

/** How long a unit is. */
function lengthOf(unit: Unit | Step): { readonly least: number; readonly most: number } {
  if (unit in TIME_STEPS) {
    const width = Number(TIME_STEPS[unit as keyof typeof TIME_STEPS][0]) / 1000;
    return { least: width, most: width };
  }
  const months = MONTHS[unit as keyof typeof MONTHS];
  return { least: months * MONTH_DAYS.least * DAY_MS, most: months * MONTH_DAYS.most * DAY_MS };
}

type Made = (of: readonly Expression[], span: SpanOf, parameters: Parameters) => Span | undefined;

/** A number since 1970, in units of so many milliseconds. */
const counted =
  (width: number): Made =>
  ([count]) => {
    const n = numberOf(count);
    return n === undefined ? undefined : { isOfRow: false, from: n * width, to: n * width };
  };

/** What is made of the first value. */
const ofFirst =
  (made: (value: Span, parameters: Parameters) => Span | undefined): Made =>
  ([first], span, parameters) => {
    const value = first && span(first);
    return value && made(value, parameters);
  };

const cut = (value: Span, step: Step): Span =>
  step === 'day' && !value.isOfRow
    ? { ...value, from: startOfDay(value.from), to: startOfDay(value.to) }
    : later(value, -lengthOf(step).most, 0);

const startOfDay = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

const TIMES: Readonly<Partial<Record<Operator, Made>>> = {
  instant_of_text: ([text]) => {
    const at = instantOf(text && constantText(text));
    return at === undefined ? undefined : { isOfRow: false, from: at, to: at };
  },
  instant_of_seconds: counted(SECOND_MS),
  instant_of_milliseconds: counted(1),
  instant_of_microseconds: counted(1 / 1000),
  instant_of_date: ofFirst((value) => value),
  date_of_instant: ofFirst((value) => cut(value, 'day')),
  truncate: ofFirst((value, { step }) => step && cut(value, step)),
  // A time without what it is past the start of its hour, or less.
  earlier: ofFirst((value) => later(value, -HOUR_MS, 0)),
  local: ofFirst((value, { zone }) => moved(value, zone, 1)),
  from_local: ofFirst((value, { zone }) => moved(value, zone, -1)),
  add_units: ([first, count], span, { unit }) => {
    const [value, n] = [first && span(first), numberOf(count)];
    if (value === undefined || n === undefined || unit === undefined) return undefined;
    const { least, most } = lengthOf(unit);
    return n < 0 ? later(value, n * most, n * least) : later(value, n * least, n * most);
  },
};

/** Returns where a time lies that is not the row's own. One that has overflown is null, and like what a join lacks. */
function spanOf(value: Expression, span: SpanOf, now: number): Span | undefined {
  if ('now' in value) return { isOfRow: false, from: now, to: now };
  const made = 'operator' in value ? TIMES[value.operator]?.(value.of, span, value.with ?? {}) : undefined;
  return made?.isOfRow === false && !(isTime(made.from) && isTime(made.to)) ? undefined : made;
}

/** An integer of the query's own. */
function numberOf(value: Expression | undefined): number | undefined {
  if (value === undefined) return undefined;
  if ('constant' in value) return integerOf(value);
  if (!('operator' in value) || value.operator !== 'subtract') return undefined;
  const [from, less] = value.of.map(numberOf);
  return from === undefined || less === undefined ? undefined : from - less;
}

const INSTANT_ALONE = new RegExp(`^${INSTANT}$`);

/** Returns the instant that a text names, in UTC where it has no offset; undefined: none that is known here. */
function instantOf(text: string | undefined): number | undefined {
  if (text === undefined || !INSTANT_ALONE.test(text)) return undefined;
  const isTold = /Z|:.*[+-]/.test(text);
  return Temporal.Instant.from(isTold ? text : `${text}${text.length > 10 ? '' : 'T00:00'}Z`).epochMilliseconds;
}

/** Engines may know of a zone what changed since, or not yet; so much has a change made at most in decades. */
const CHANGED_MS = 4 * HOUR_MS;
/** No clock is as far from UTC's. */
const FARTHEST_MS = DAY_MS;

/** Returns a time moved by what the clocks of a zone are ahead of UTC, or back. */
function moved(value: Span, zone: string | undefined, direction: 1 | -1): Span | undefined {
  const { isOfRow, from, to } = value;
  if (isOfRow || to - from > FARTHEST_MS) return later(value, -FARTHEST_MS, FARTHEST_MS);
  if (zone === undefined) return undefined;
  // Around a change of the clocks both are taken.
  const ahead = [from - FARTHEST_MS, from, to, to + FARTHEST_MS].map((at) => direction * offsetOf(at, zone));
  return later(value, Math.min(...ahead) - CHANGED_MS, Math.max(...ahead) + CHANGED_MS);
}

const offsetOf = (at: number, zone: string): number =>
  Temporal.Instant.fromEpochMilliseconds(Math.floor(at)).toZonedDateTimeISO(zone).offsetNanoseconds / 1e6;
