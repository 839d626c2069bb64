/** The numbers of one series, as one query over events: by buckets of time, and by the values that are told apart. */
import type { Syntax } from '../../../hogql/syntax.ts';
import { all, comparison, constant, field, list } from '../../../hogql/write.ts';
import type { Question } from '../kind.ts';
import { OTHER } from './breakdown.ts';
import { bucketIndex } from './bucket-index.ts';
import { inRange, instantConstant, type TimeRange } from './date-range.ts';
import type { Measure } from './math.ts';

/** What is asked of a series. */
export interface Totals {
  readonly measure: Measure;
  /** The condition of the events of its name. */
  readonly named: Syntax;
  /** The condition that they must pass besides. */
  readonly passed: Syntax;
  readonly range: TimeRange;
  /** The first instants of the buckets and the end of the last; absent: one number for all of the range. */
  readonly edges?: readonly number[];
  readonly breakdown?: {
    /** A text of each event. */
    readonly value: Syntax;
    /** What is read of an event for it, and the text made of the fields `read_0` and so on, which hold that. */
    readonly read: readonly Syntax[];
    readonly made: Syntax;
    /** The text of events that have none. */
    readonly missing: string;
    /** So many values are told apart, those of the greatest totals; the others are one. */
    readonly limit: number;
    /** These are told apart, instead of so many. */
    readonly kept?: readonly string[];
  };
  /** An actor counts in the first of its buckets only. */
  readonly countsOnce: boolean;
}

/** More than there are values. */
const NO_LIMIT = 2 ** 40;

/** So few values, which may be long, stand in the rows of each bucket. */
const FEW_VALUES = 100;

/**
 * Returns the question whose rows are `bucket` (where there are edges), `spot` and `kept` (where there is a breakdown) and
 * `total`. `kept` is a value, `missing` or `OTHER`; `spot` is its place in the order of results, from 1. Where
 * `isOfChanges` holds, `total` is by how much the number differs from that of the bucket before.
 */
export function totalsQuestion(asked: Totals): Question {
  const { measure, edges, breakdown, range } = asked;
  const time = edges === undefined ? [] : ['bucket'];
  const of = [...(measure.actor === undefined ? [] : ['actor']), ...Object.keys(measure.cells)];
  const keys = breakdown === undefined ? [] : ['spot', 'kept'];
  const placed = breakdown === undefined ? 'cells' : 'placed';
  // The values are ranked by the total of all of the range.
  const ranking = `,
    ranks AS (
      SELECT value, row_number() OVER (ORDER BY ifNull(total, 0) DESC, value) + if({isKept}, 0, {limit}) AS place
      FROM (${totalsText('cells', ['value'], measure)}) AS totals WHERE value != {missing}
    ),
    placed AS (
      SELECT ${[...time, ...of].map((name) => `cells.${name} AS ${name}, `).join('')}
        multiIf(cells.value = {missing}, {limit} + 1, ranks.place > {limit}, {limit} + 2, ranks.place) AS spot,
        multiIf(cells.value = {missing}, {missing}, ranks.place > {limit}, {other}, cells.value) AS kept
      FROM cells LEFT JOIN ranks ON cells.value = ranks.value
    )`;
  const isUnique = breakdown === undefined && measure.countsActors === true;
  const counted = isUnique ? { ...measure, total: 'count()' } : measure;
  const totals = isOfChanges(asked)
    ? changesText(placed, keys)
    : totalsText(isOnce(asked) ? onceText(placed, [...of, ...keys]) : placed, [...time, ...keys], counted);
  return {
    hogql: `WITH cells AS (${cellsText(asked)})${breakdown === undefined ? '' : ranking}
    ${totals}`,
    values: { ...measure.values, ...valuesOf(asked) },
    from: measure.first === undefined ? range.from : undefined,
    to: range.to,
    isSmall: breakdown === undefined || breakdown.limit <= FEW_VALUES,
  };
}

/** Do the rows say what changes from bucket to bucket? An actor counts in many buckets, and is looked at once. */
export const isOfChanges = ({ measure, edges }: Totals): boolean =>
  measure.trailingDays !== undefined && edges !== undefined;

const isOnce = ({ measure, edges, countsOnce }: Totals): boolean =>
  countsOnce && measure.countsActors === true && edges !== undefined;

/** Selects how many actors more, or less, there are from each bucket on: they come with a cell, and go days after. */
function changesText(cells: string, keys: readonly string[]): string {
  const others = keys.map((key) => `, ${key}`).join('');
  return `, spans AS (
      SELECT bucket AS opened, least(bucket + {days}, ifNull(leadInFrame(bucket) OVER (
        PARTITION BY actor${others} ORDER BY bucket ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ), bucket + {days})) AS closed${others} FROM ${cells}
    ),
    changes AS (
      SELECT opened AS bucket, 1 AS change${others} FROM spans
      UNION ALL SELECT closed AS bucket, -1 AS change${others} FROM spans
    )
    SELECT bucket${others}, sum(change) AS total FROM changes GROUP BY bucket${others}`;
}

/** Returns the cells with each actor in the first of its buckets. */
const onceText = (cells: string, columns: readonly string[]): string =>
  `(SELECT opened AS bucket, ${columns.join(', ')} FROM (
      SELECT min(bucket) AS opened, ${columns.join(', ')} FROM ${cells} GROUP BY ${columns.join(', ')}
    ) AS actors) AS once`;

function valuesOf({ measure, named, passed, range, edges, breakdown }: Totals): Question['values'] {
  const isFirst = measure.first !== undefined;
  const time = field(isFirst ? 'first_time' : 'timestamp');
  return {
    named: measure.first === 'matching' ? all([named, passed]) : named,
    passed,
    condition: all([inRange(range), named, passed]),
    until: comparison('<', field('timestamp'), instantConstant(range.to + 1)),
    from: instantConstant(range.from),
    ...(measure.actor && { actor: measure.actor }),
    ...(edges && { bucket: bucketIndex(edges, time) }),
    ...(breakdown && {
      value: breakdown.value,
      ...Object.fromEntries(breakdown.read.map((read, n) => [readField(n), read])),
      made: breakdown.made,
      missing: constant(breakdown.missing),
      other: constant(OTHER),
      limit: constant(breakdown.kept === undefined ? breakdown.limit : NO_LIMIT),
      isKept: breakdown.kept === undefined ? constant(true) : comparison('in', field('value'), list(breakdown.kept)),
    }),
    days: constant(measure.trailingDays ?? 0),
  };
}

/** Selects the cells of events. */
function cellsText({ measure, edges, breakdown }: Totals): string {
  const read = breakdown?.read.map((_, n) => readField(n)) ?? [];
  const keys = {
    ...(edges && { bucket: '{bucket}' }),
    ...(measure.first === undefined
      ? Object.fromEntries(read.map((name) => [name, `{${name}}`]))
      : breakdown && { value: 'first_value' }),
    ...(measure.actor && { actor: '{actor}' }),
  };
  const cells = { ...keys, ...measure.cells };
  const columns = Object.entries(cells).map(([name, text]) => `${text} AS ${name}`);
  const selected = columns.length === 0 ? '1 AS nothing' : columns.join(', ');
  const names = Object.keys(keys);
  const group = measure.isGrouped ? groupBy(names) : '';
  if (measure.first === undefined) {
    const ofEvents = `SELECT ${selected} FROM events WHERE {condition}${group}`;
    if (breakdown === undefined) return ofEvents;
    const others = Object.keys(cells).filter((name) => !read.includes(name));
    return `SELECT ${[...others, '{made} AS value'].join(', ')} FROM (${ofEvents}) AS groups`;
  }
  // Of all that a person ever did, the first counts, where it lies in the range and passes.
  return `SELECT ${selected} FROM (
      SELECT person_id, min(timestamp) AS first_time, minIf(timestamp, {passed}) AS first_passed
        ${breakdown === undefined ? '' : ', argMinIf({value}, timestamp, {passed}) AS first_value'}
      FROM events WHERE {named} AND {until} GROUP BY person_id
    ) AS firsts WHERE first_time = first_passed AND first_time >= {from}${group}`;
}

/** The field of what is read of an event for a part of its value. */
export const readField = (part: number): string => `read_${part}`;

const groupBy = (names: readonly string[]): string => (names.length === 0 ? '' : ` GROUP BY ${names.join(', ')}`);

/** Selects the totals of cells by some of their columns. */
function totalsText(cells: string, keys: readonly string[], { perActor, total }: Measure): string {
  const listed = [...keys, `${total} AS total`].join(', ');
  if (perActor === undefined) return `SELECT ${listed} FROM ${cells}${groupBy(keys)}`;
  const parts = `SELECT ${[...keys, 'actor', `${perActor} AS part`].join(', ')} FROM ${cells}${groupBy([...keys, 'actor'])}`;
  return `SELECT ${listed} FROM (${parts}) AS parts${groupBy(keys)}`;
}
