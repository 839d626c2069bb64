/** The intervals of an export: how long they are, and the strip that shows how each went. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../basics/units.ts';
import type { Schemas } from './schemas.ts';

type Run = Schemas['BatchExportRunDetail'];
type Frequency = Schemas['BatchExport']['interval'];

const WEEK_MS = 7 * DAY_MS;

/** 1970 began on a Thursday; weeks of exports begin on Sunday. */
const FIRST_SUNDAY_MS = 3 * DAY_MS;

export const INTERVALS_MS: Readonly<Record<Frequency, number>> = {
  'every 5 minutes': 5 * MINUTE_MS,
  'every 15 minutes': 15 * MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: WEEK_MS,
};

/** The shortest interval, by which a range has the most. */
const FINEST_MS = INTERVALS_MS['every 5 minutes'];

/** The intervals that a backfill may have. */
const MOST_INTERVALS = 200_000;

interface BackfillRange {
  readonly start_at: string;
  readonly end_at: string;
}

/** Returns when the week of an instant begins; both are milliseconds since 1970. */
const weekOf = (instant: number): number =>
  Math.floor((instant - FIRST_SUNDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_SUNDAY_MS;

/** Returns when the last interval ends that a backfill may have that begins then, in milliseconds since 1970. */
const farthestEnd = (start: string): number => (Math.floor(Date.parse(start) / FINEST_MS) + MOST_INTERVALS) * FINEST_MS;

/**
 * Returns the fewest ranges in which backfills of any export, also of one whose frequency has changed, deliver those that an
 * import tells, in order, in the form in which the API takes them: near ones are one, and what is longer than a backfill may
 * be is cut, at the beginning of a week.
 */
export function backfillRanges(
  needed: readonly { readonly start: string; readonly end: string }[],
): readonly BackfillRange[] {
  const backfills: BackfillRange[] = [];
  for (const { start, end } of needed) {
    const { start_at: lastStart, end_at: lastEnd } = backfills.at(-1) ?? { start_at: start, end_at: '' };
    // Two backfills of one week would both deliver it, where that is an interval.
    const isNear = Date.parse(end) <= farthestEnd(lastStart) || weekOf(Date.parse(start)) < Date.parse(lastEnd);
    if (isNear) backfills.pop();
    let start_at = isNear ? lastStart : start;
    while (Date.parse(end) > farthestEnd(start_at)) {
      const end_at = new Date(weekOf(farthestEnd(start_at))).toISOString();
      backfills.push({ start_at, end_at });
      start_at = end_at;
    }
    backfills.push({ start_at, end_at: end });
  }
  return backfills;
}

interface Span {
  readonly value: string;
  readonly label: string;
  readonly rows: number;
}

interface Shape {
  /** How much time a row is, and where one begins. */
  readonly row: number;
  readonly origin: number;
  /** What stands above columns, by their numbers from 0. */
  readonly marks: Readonly<Record<number, string>>;
  /** From the nearest to the farthest. */
  readonly spans: readonly Span[];
  /** Which of them is shown when none is chosen. */
  readonly usual: string;
}

/** A row has 24 cells at most, and the longest span as many intervals as a few requests tell of. */
const SHAPES: Readonly<Record<Frequency, Shape>> = {
  'every 5 minutes': {
    row: HOUR_MS,
    origin: 0,
    marks: { 0: ':00', 3: ':15', 6: ':30', 9: ':45' },
    spans: [
      { value: 'hours', label: '6 hours', rows: 6 },
      { value: 'day', label: 'a day', rows: 24 },
    ],
    usual: 'hours',
  },
  'every 15 minutes': {
    row: 6 * HOUR_MS,
    origin: 0,
    marks: {},
    spans: [
      { value: 'day', label: 'a day', rows: 4 },
      { value: 'week', label: 'a week', rows: 28 },
    ],
    usual: 'day',
  },
  hour: {
    row: DAY_MS,
    origin: 0,
    marks: { 0: '0', 6: '6', 12: '12', 18: '18' },
    spans: [
      { value: 'day', label: 'a day', rows: 1 },
      { value: 'week', label: 'a week', rows: 7 },
      { value: 'month', label: 'a month', rows: 30 },
    ],
    usual: 'week',
  },
  day: {
    row: WEEK_MS,
    origin: FIRST_SUNDAY_MS,
    marks: { 0: 'Su', 1: 'Mo', 2: 'Tu', 3: 'We', 4: 'Th', 5: 'Fr', 6: 'Sa' },
    spans: [
      { value: 'month', label: '5 weeks', rows: 5 },
      { value: 'quarter', label: 'a quarter', rows: 13 },
      { value: 'year', label: 'a year', rows: 53 },
    ],
    usual: 'month',
  },
  week: {
    row: 13 * WEEK_MS,
    origin: FIRST_SUNDAY_MS,
    marks: {},
    spans: [
      { value: 'year', label: 'a year', rows: 5 },
      { value: 'years', label: '5 years', rows: 21 },
    ],
    usual: 'year',
  },
};

/** A piece of time that a strip shows. Instants are milliseconds since 1970; `to` is not in it. */
interface Strip extends Shape {
  readonly span: Span;
  readonly cell: number;
  readonly from: number;
  readonly to: number;
  /** Whether it goes on until now. */
  readonly isCurrent: boolean;
}

/** Returns the strip of whole rows that ends with what was before `until`, an instant in ISO 8601; by default now. */
export function stripOf(
  interval: Frequency,
  { span: wanted, until = '' }: { readonly span?: string | undefined; readonly until?: string | undefined },
  now: number,
): Strip {
  const shape = SHAPES[interval];
  const { row, origin, spans, usual } = shape;
  const known = (value: string | undefined): Span | undefined => spans.find((one) => one.value === value);
  const span = known(wanted) ?? known(usual) ?? { value: usual, label: usual, rows: 1 };
  const cell = INTERVALS_MS[interval];
  const end = (instant: number): number => Math.ceil((instant - origin) / row) * row + origin;
  // A row of which no interval has ended yet would be empty.
  const newest = end(Math.floor((now - origin) / cell) * cell + origin);
  const asked = Date.parse(until);
  const to = Number.isNaN(asked) ? newest : Math.min(end(asked), newest);
  return { ...shape, span, cell, from: to - span.rows * row, to, isCurrent: to === newest };
}

/** What stands at an interval of the strip. */
export interface StripCell {
  readonly start: number;
  readonly end: number;
  /** The newest run of the interval, of several intervals that of the worst; undefined: there is none. */
  readonly run: Run | undefined;
  /** How many intervals have run in it: more than one when the export was asked for more often before. */
  readonly intervals: number;
  /** Whether it has ended, so that a run can be expected. */
  readonly isOver: boolean;
}

interface StripRow {
  readonly start: number;
  readonly cells: readonly StripCell[];
}

const FROM_BAD_TO_GOOD: readonly Run['status'][] = [
  'Failed',
  'TimedOut',
  'Terminated',
  'FailedRetryable',
  'Running',
  'Starting',
  'Cancelled',
  'Completed',
];

const starts = (first: number, last: number, step: number): number[] =>
  Array.from({ length: (last - first) / step }, (_, at) => first + at * step);

/** Returns the rows of a strip, the newest first, with how these runs of it have gone. */
export function stripRows({ from, to, row, cell }: Strip, runs: readonly Run[], now: number): readonly StripRow[] {
  const newest = new Map<string, Run>();
  for (const run of runs) {
    const interval = `${run.data_interval_start}/${run.data_interval_end}`;
    const other = newest.get(interval);
    if (other === undefined || other.created_at < run.created_at) newest.set(interval, run);
  }
  /** By the number of the cell; one of an export that ran less often stands in several. */
  const ran = new Map<number, Run[]>();
  for (const run of newest.values()) {
    const end = Math.min(to, Date.parse(run.data_interval_end));
    const first = Math.floor((Date.parse(run.data_interval_start) - from) / cell);
    for (let at = first; from + at * cell < end; at += 1) ran.set(at, [...(ran.get(at) ?? []), run]);
  }
  const badness = ({ status }: Run): number => FROM_BAD_TO_GOOD.indexOf(status);
  const cellAt = (start: number): StripCell => {
    const found = ran.get((start - from) / cell) ?? [];
    const [run] = found.toSorted((a, b) => badness(a) - badness(b));
    const end = start + cell;
    return { start, end, run, intervals: found.length, isOver: end <= now };
  };
  return starts(from, to, row)
    .toReversed()
    .map((start) => ({ start, cells: starts(start, start + row, cell).map(cellAt) }));
}
