/** What somebody asks with the builder, as a form has it. */
import { DAY_MS } from '../../basics/units.ts';
import type { Json } from './json.ts';
import { type Filter, nextKey, type PropertyType } from './property-filters.ts';
import { type QuestionKind, TRAITS } from './question-kinds.ts';
import { type Display, type Interval, type Math, OF_PROPERTY, PAGEVIEW, type WindowUnit } from './question-options.ts';
import type { DateRange } from './ranges.ts';
import type { Schemas } from './schemas.ts';

export interface Series {
  /** Its place among those that were ever in the form. */
  readonly key: number;
  readonly event: string;
  readonly math: Math;
  readonly property: string;
  /** What charts call it; empty: as its event. */
  readonly name: string;
  /** The kind of question, which is of more series, has brought it. Where nothing is said of it there, it goes with that kind. */
  readonly isFiller?: true;
  /** The event that it had before a kind of question that begins anywhere. */
  readonly eventBefore?: string;
  /** The node of the query that it is from, where that says more than the form. */
  readonly kept?: Json | undefined;
}

/** One of the values that numbers are broken down by. */
export interface Breakdown {
  /** Its place among those that were ever in the form. */
  readonly key: number;
  readonly type: PropertyType;
  /** The name of a property; of type hogql, an expression. */
  readonly property: string;
  /** The node of the query that it is from. */
  readonly kept?: Json | undefined;
}

/** A query has so many at most. */
export const MOST_BREAKDOWNS = 3;

/** How long persons of a funnel have for all of its steps. */
export interface FunnelWindow {
  readonly count: number;
  readonly unit: WindowUnit;
}

export interface Question {
  readonly kind: QuestionKind;
  readonly series: readonly Series[];
  readonly filters: readonly Filter[];
  readonly range: DateRange;
  readonly interval: Interval;
  readonly display: Display;
  readonly breakdowns: readonly Breakdown[];
  /** Whether the period before is beside it. */
  readonly isCompared: boolean;
  /** What is drawn of the numbers of the series, by their letters; empty: they themselves. */
  readonly formula: string;
  readonly window: FunnelWindow;
  readonly hogql: string;
  /** The query that it was read from, where that says more than the form: what the form has no field for stays. */
  readonly kept?: Json | undefined;
}

/** Returns a breakdown by nothing yet, beside those that there are. */
export const anotherBreakdown = (all: readonly Breakdown[]): Breakdown => ({
  key: nextKey(all),
  type: 'event',
  property: '',
});

/** Returns a series that counts events of any name, beside those that there are. */
export const anotherSeries = (all: readonly Series[]): Series => ({
  key: nextKey(all),
  event: '',
  math: 'total',
  property: '',
  name: '',
});

/** The question that nobody has changed goes back so many days. */
const FIRST_DAYS = 7;

/** The question about all events. */
export const FIRST_QUESTION: Question = {
  kind: 'TrendsQuery',
  series: [anotherSeries([])],
  filters: [],
  range: { date_from: `-${FIRST_DAYS}d`, date_to: null },
  interval: 'day',
  display: 'ActionsLineGraph',
  breakdowns: [],
  isCompared: false,
  formula: '',
  window: { count: 14, unit: 'day' },
  hogql: 'SELECT event, count() AS times\nFROM events\nGROUP BY event\nORDER BY times DESC\nLIMIT 100',
};

/**
 * Returns the question that a form begins with where events of some names were seen: about page views, else the most
 * frequent, of those that have a number in its dates at `now`, where there are some.
 */
export function firstQuestion(
  seen: readonly Pick<Schemas['EventDefinition'], 'name' | 'volume_30_day' | 'last_seen_at'>[],
  now: number,
): Question {
  const lately = seen.filter(({ last_seen_at: last }) => Date.parse(last) >= now - FIRST_DAYS * DAY_MS);
  const names = (lately.length > 0 ? lately : seen).toSorted((one, other) => other.volume_30_day - one.volume_30_day);
  const event = names.some(({ name }) => name === PAGEVIEW) ? PAGEVIEW : (names[0]?.name ?? '');
  return { ...FIRST_QUESTION, series: [{ ...anotherSeries([]), event }] };
}

/**
 * Returns what is otherwise once a question is of another kind: it has series enough for that, and none that only the kind
 * before has needed.
 */
export function ofKind(question: Question, kind: QuestionKind): Pick<Question, 'kind' | 'series' | 'range'> {
  const { least, beginsAnywhere } = TRAITS[kind];
  const meant = question.series
    .filter(({ isFiller, event, name }) => isFiller !== true || event !== '' || name !== '')
    .map(({ eventBefore = '', isFiller: _isFiller, ...one }) =>
      one.event === '' ? { ...one, event: eventBefore } : one,
    );
  const series: Series[] = [...meant];
  while (series.length < least) series.push({ ...anotherSeries(series), isFiller: true });
  return {
    kind,
    series: series.map((one, at) => (beginsAnywhere && at === 0 ? { ...one, event: '', eventBefore: one.event } : one)),
    // Only a retention has dates without naming any.
    range: question.range.date_from === null ? FIRST_QUESTION.range : question.range,
  };
}

/** Does a series of a question lack the property whose numbers it counts? */
export const lacksProperty = (kind: QuestionKind, { math, property }: Series): boolean =>
  TRAITS[kind].hasNumbers && OF_PROPERTY.includes(math) && property.trim() === '';

/** Returns the names of the events without which a question is answered by nothing; of none, any event may do. */
export function eventsOf({ kind, series }: Question): readonly string[] {
  const { needs } = TRAITS[kind];
  if (needs === 'none') return [];
  const names = (needs === 'first' ? series.slice(0, 1) : series).map(({ event }) => event);
  return names.includes('') ? [] : [...new Set(names)];
}

/** Can a question be asked, as far as it is known without asking? */
export const isWhole = ({ kind, series }: Question): boolean => !series.some((one) => lacksProperty(kind, one));
