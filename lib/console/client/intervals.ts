/** The strip that shows how each interval of an export went. */
import { DAY_MS, HOUR_MS } from '../../basics/units.ts';
import { alignDown, type Frequency, LENGTH } from '../../lake/intervals.ts';
import type { Schemas } from './schemas.ts';

type Run = Schemas['BatchExportRunDetail'];

/** 1970 began on a Thursday; weeks of exports begin on Sunday. */
const FIRST_SUNDAY_MS = 3 * DAY_MS;

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
    row: LENGTH.week,
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
    row: 13 * LENGTH.week,
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
  const cell = LENGTH[interval];
  const end = (instant: number): number => Math.ceil((instant - origin) / row) * row + origin;
  // A row of which no interval has ended yet would be empty.
  const newest = end(alignDown(now, interval));
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
