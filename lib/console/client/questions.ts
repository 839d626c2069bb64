/** What somebody asks with the builder, as a form has it and as the API takes it. */
import { chosen, covers, type Json, list, type Option, object, text } from './json.ts';
import {
  evenFilters,
  type Filter,
  filtersIn,
  nextKey,
  PROPERTY_TYPES,
  type PropertyType,
  sentFilters,
} from './property-filters.ts';
import type { DateRange } from './ranges.ts';
import type { Schemas } from './schemas.ts';

export const KINDS = [
  { value: 'TrendsQuery', label: 'Trend', about: 'how often, over time' },
  { value: 'FunnelsQuery', label: 'Funnel', about: 'how many go from step to step' },
  { value: 'RetentionQuery', label: 'Retention', about: 'how many come back' },
  { value: 'StickinessQuery', label: 'Stickiness', about: 'on how many days they do it' },
  { value: 'LifecycleQuery', label: 'Lifecycle', about: 'who is new, returning, resurrecting, dormant' },
  { value: 'PathsQuery', label: 'Paths', about: 'where they go from where' },
  { value: 'HogQLQuery', label: 'HogQL', about: 'a query of your own' },
] as const;

export type QuestionKind = (typeof KINDS)[number]['value'];

type Trends = Schemas['TrendsQuery'];
type TrendsSeries = Trends['series'][number];
type Chosen<Value> = Option<NonNullable<Value> & string>;

export const MATHS = [
  { value: 'total', label: 'times' },
  { value: 'dau', label: 'unique persons' },
  { value: 'weekly_active', label: 'unique persons of a week' },
  { value: 'monthly_active', label: 'unique persons of a month' },
  { value: 'unique_session', label: 'unique sessions' },
  { value: 'sum', label: 'sum of' },
  { value: 'avg', label: 'average of' },
  { value: 'min', label: 'least of' },
  { value: 'max', label: 'most of' },
  { value: 'median', label: 'median of' },
] as const satisfies readonly Chosen<TrendsSeries['math']>[];

type Math = (typeof MATHS)[number]['value'];

/** Maths that are of a property's numbers. */
export const OF_PROPERTY: readonly Math[] = ['sum', 'avg', 'min', 'max', 'median'];

export const RANGES = [
  { value: '-24h', label: 'the last 24 hours' },
  { value: '-7d', label: 'the last 7 days' },
  { value: '-30d', label: 'the last 30 days' },
  { value: '-90d', label: 'the last 90 days' },
  { value: '-180d', label: 'the last 180 days' },
  { value: 'yStart', label: 'this year' },
  { value: 'all', label: 'ever' },
] as const;

export const INTERVALS = [
  { value: 'hour', label: 'hour' },
  { value: 'day', label: 'day' },
  { value: 'week', label: 'week' },
  { value: 'month', label: 'month' },
] as const satisfies readonly Chosen<Trends['interval']>[];

type Interval = (typeof INTERVALS)[number]['value'];

export const DISPLAYS = [
  { value: 'ActionsLineGraph', label: 'Lines' },
  { value: 'ActionsBar', label: 'Bars' },
  { value: 'ActionsAreaGraph', label: 'Areas' },
  { value: 'ActionsLineGraphCumulative', label: 'Lines that add up' },
  { value: 'BoldNumber', label: 'Number' },
  { value: 'ActionsPie', label: 'Pie' },
  { value: 'ActionsBarValue', label: 'Ranking' },
  { value: 'ActionsTable', label: 'Table' },
] as const satisfies readonly Chosen<NonNullable<Trends['trendsFilter']>['display']>[];

type Display = (typeof DISPLAYS)[number]['value'];

export interface Series {
  /** Its place among those that were ever in the form. */
  readonly key: number;
  readonly event: string;
  readonly math: Math;
  readonly property: string;
}

/** One of the values that numbers are broken down by. */
export interface Breakdown {
  /** Its place among those that were ever in the form. */
  readonly key: number;
  readonly type: PropertyType;
  /** The name of a property; of type hogql, an expression. */
  readonly property: string;
}

/** A query has so many at most. */
export const MOST_BREAKDOWNS = 3;

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
  readonly hogql: string;
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
});

/** The question about all events. */
export const FIRST_QUESTION: Question = {
  kind: 'TrendsQuery',
  series: [anotherSeries([])],
  filters: [],
  range: { date_from: '-7d', date_to: null },
  interval: 'day',
  display: 'ActionsLineGraph',
  breakdowns: [],
  isCompared: false,
  formula: '',
  hogql: 'SELECT event, count() AS times\nFROM events\nGROUP BY event\nORDER BY times DESC\nLIMIT 100',
};

export const PAGEVIEW = '$pageview';

/** Returns the question that a form begins with where events of some names were seen: about page views, else the most frequent. */
export function firstQuestion(seen: readonly { readonly name: string; readonly volume_30_day: number }[]): Question {
  const [most] = seen.toSorted((one, other) => other.volume_30_day - one.volume_30_day);
  const event = seen.some(({ name }) => name === PAGEVIEW) ? PAGEVIEW : (most?.name ?? '');
  return { ...FIRST_QUESTION, series: [{ ...anotherSeries([]), event }] };
}

const DAYS = 7;

/** Does a series of a question lack the property whose numbers it counts? */
export const lacksProperty = (kind: QuestionKind, { math, property }: Series): boolean =>
  kind === 'TrendsQuery' && OF_PROPERTY.includes(math) && property.trim() === '';

/** Kinds that nobody passes but by their first series. */
const BY_FIRST: readonly QuestionKind[] = ['FunnelsQuery', 'RetentionQuery', 'LifecycleQuery'];

/** Returns the names of the events without which a question is answered by nothing; of none, any event may do. */
export function eventsOf({ kind, series }: Question): readonly string[] {
  // Paths begin at any of their steps, which need not be named as an event.
  if (kind === 'PathsQuery' || kind === 'HogQLQuery') return [];
  const names = (BY_FIRST.includes(kind) ? series.slice(0, 1) : series).map(({ event }) => event);
  return names.includes('') ? [] : [...new Set(names)];
}

/** Can a question be asked, as far as it is known without asking? */
export const isWhole = ({ kind, series }: Question): boolean => !series.some((one) => lacksProperty(kind, one));

/** Returns the query of a question, in what says how it is shown. */
export function queryOf(question: Question): Schemas['Query'] {
  const { kind, display } = question;
  if (kind !== 'HogQLQuery') return { kind: 'InsightVizNode', source: sourceOf(question, kind) };
  const shown = { kind: 'DataVisualizationNode', source: { kind, query: question.hogql }, display } as const;
  return shown;
}

type ChosenKind = Exclude<QuestionKind, 'HogQLQuery'>;

function sourceOf(question: Question, kind: ChosenKind): Schemas[ChosenKind] {
  const { range, interval, display } = question;
  const formula = question.formula.trim();
  const compared = question.isCompared ? { compareFilter: { compare: true } } : {};
  const series = question.series.map((one) => nodeOf(one, kind));
  const properties = sentFilters(question.filters);
  const shared = {
    dateRange: { date_from: range.date_from, ...(range.date_to === null ? {} : { date_to: range.date_to }) },
    ...(properties.length === 0 ? {} : { properties }),
  };
  const brokenDown = sentBreakdowns(question.breakdowns);
  const [first] = question.series;
  const [start, back = start] = question.series;
  const sources: { readonly [Kind in ChosenKind]: Schemas[Kind] } = {
    TrendsQuery: {
      kind: 'TrendsQuery',
      ...shared,
      series,
      interval,
      trendsFilter: { display, ...(formula === '' ? {} : { formula }) },
      ...brokenDown,
      ...compared,
    },
    FunnelsQuery: { kind: 'FunnelsQuery', ...shared, series, ...brokenDown },
    RetentionQuery: {
      kind: 'RetentionQuery',
      ...shared,
      retentionFilter: {
        period: 'Day',
        totalIntervals: DAYS + 1,
        targetEntity: { id: start?.event ?? null, type: 'events' },
        returningEntity: { id: back?.event ?? null, type: 'events' },
      },
      ...brokenDown,
    },
    StickinessQuery: { kind: 'StickinessQuery', ...shared, series, interval, ...compared },
    LifecycleQuery: { kind: 'LifecycleQuery', ...shared, series: series.slice(0, 1), interval },
    PathsQuery: {
      kind: 'PathsQuery',
      ...shared,
      pathsFilter: {
        includeEventTypes: [PAGEVIEW, 'custom_event'],
        ...(first === undefined || first.event === '' ? {} : { startPoint: first.event }),
      },
    },
  };
  return sources[kind];
}

/** Returns what is sent of breakdowns by something: one as all clients read it, several as a list. */
function sentBreakdowns(all: readonly Breakdown[]): Pick<Trends, 'breakdownFilter'> {
  const [first, ...rest] = all.filter(({ property }) => property.trim() !== '');
  if (first === undefined) return {};
  if (rest.length === 0) return { breakdownFilter: { breakdown: first.property, breakdown_type: first.type } };
  return { breakdownFilter: { breakdowns: [first, ...rest].map(({ property, type }) => ({ property, type })) } };
}

/** Returns the breakdowns that were sent in either form, with the type that they have there. */
function breakdownsIn(sent: Json): readonly Json[] {
  const several = list(sent['breakdowns']).map((one) => ({ ...one, type: one['type'] ?? 'event' }));
  const type = sent['breakdown_type'] ?? 'event';
  return several.length > 0 ? several : [sent['breakdown'] ?? []].flat().map((property) => ({ property, type }));
}

/** Values that say the same as nothing, by the names of their members: PostHog's clients send many of them. */
const USUAL: Json = {
  filterTestAccounts: false,
  samplingFactor: 1,
  date_to: '',
  explicitDate: false,
  compare: false,
  interval: 'day',
  math: 'total',
  math_multiplier: 1,
  optionalInFunnel: false,
  breakdown_normalize_url: false,
  normalize_url: false,
  breakdown_hide_other_aggregation: false,
  aggregationAxisFormat: 'numeric',
  formula: '',
  smoothingIntervals: 1,
  showAlertThresholdLines: false,
  showLegend: false,
  showMultipleYAxes: false,
  showPercentStackView: false,
  funnelVizType: 'steps',
  funnelOrderType: 'ordered',
  funnelStepReference: 'total',
  funnelWindowInterval: 14,
  funnelWindowIntervalUnit: 'day',
  breakdownAttributionType: 'first_touch',
  layout: 'vertical',
  retentionType: 'retention_recurring',
  cumulative: false,
  minimumOccurrences: 1,
  timeWindowMode: 'strict_calendar_dates',
  aggregationType: 'count',
  customAggregationTarget: false,
  computedAs: 'non_cumulative',
  intervalCount: 1,
  stepLimit: 5,
  edgeLimit: 50,
};

/** Returns a part of a query without members that say nothing: values as they are without them, and empty lists. */
function said(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(said);
  if (typeof part !== 'object' || part === null) return part;
  const members = Object.entries(part).filter(
    ([name, value]) => USUAL[name] !== value && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(members.map(([name, value]) => [name, said(value)]));
}

/** Returns how a trend is drawn with its formula as the form says it: the one that is sent, if it has no name of its own. */
function evenFormula(sent: Json): Json {
  const { formulas, formulaNodes, ...rest } = sent;
  const nodes = list(formulaNodes);
  const written = nodes.length > 0 ? nodes : (Array.isArray(formulas) ? formulas : []).map((formula) => ({ formula }));
  const [node, ...others] = written.map(object);
  if (node === undefined) return sent;
  return others.length > 0 || text(node['custom_name'], '') !== '' ? sent : { ...rest, formula: node['formula'] };
}

/** Returns a query in a form in which those that ask the same are equal. */
function evenSource(sent: Json): Json {
  const source = object(said(sent));
  const { breakdown: _, breakdown_type: __, breakdowns: ___, ...rest } = object(source['breakdownFilter']);
  const breakdowns = breakdownsIn(object(source['breakdownFilter']));
  const paths = object(source['pathsFilter']);
  return {
    ...source,
    // Without types, events of all types are in paths.
    pathsFilter: { ...paths, includeEventTypes: paths['includeEventTypes'] ?? [] },
    trendsFilter: evenFormula(object(source['trendsFilter'])),
    properties: evenFilters(source['properties'] ?? []),
    breakdownFilter: { ...rest, breakdowns: breakdowns.length === 0 ? undefined : breakdowns },
  };
}

function nodeOf({ event, math, property }: Series, kind: ChosenKind): TrendsSeries {
  const node = { event: event === '' ? null : event, name: event === '' ? 'All events' : event };
  const isCounted = kind !== 'FunnelsQuery' && kind !== 'LifecycleQuery';
  return {
    kind: 'EventsNode',
    ...node,
    ...(isCounted ? { math, ...(OF_PROPERTY.includes(math) ? { math_property: property } : {}) } : {}),
  };
}

/**
 * Returns the question that a query asks. Undefined: the form cannot say all that it says, so that a change with the
 * form would lose some of it.
 */
export function questionOf(query: unknown): Question | undefined {
  const node = object(query);
  const source = node['source'] === undefined ? node : object(node['source']);
  const kind = KINDS.find(({ value }) => value === source['kind'])?.value;
  if (kind === undefined) return undefined;
  if (kind === 'HogQLQuery') {
    const display = chosen(DISPLAYS, node['display'], 'ActionsTable');
    const hogql = text(source['query'], '');
    const { kind: _, source: __, ...shown } = node === source ? {} : node;
    const isWhole = covers({ kind, query: hogql }, source) && covers({ display }, shown);
    return isWhole ? { ...FIRST_QUESTION, kind, hogql, display } : undefined;
  }
  const retention = object(source['retentionFilter']);
  // An entity that is not there is not any event.
  const entities = [retention['targetEntity'], retention['returningEntity']].map((entity) => ({
    event: object(entity ?? { id: PAGEVIEW })['id'],
  }));
  const paths = object(source['pathsFilter']);
  const drawn = evenFormula(object(said(source['trendsFilter'])));
  const dates = object(source['dateRange']);
  // A range that is told by its end alone begins, of a retention, so many days before that.
  if (kind === 'RetentionQuery' && !dates['date_from'] && dates['date_to']) return undefined;
  const nodes: readonly Json[] =
    kind === 'RetentionQuery'
      ? entities
      : kind === 'PathsQuery'
        ? [{ event: paths['startPoint'] ?? '' }]
        : list(source['series']);
  const question: Question = {
    ...FIRST_QUESTION,
    kind,
    series: nodes.map((one, key) => ({
      key,
      event: text(one['event'], ''),
      math: chosen(MATHS, one['math'], 'total'),
      property: text(one['math_property'], ''),
    })),
    filters: filtersIn(source['properties']),
    range: { date_from: text(dates['date_from'], '-7d'), date_to: text(dates['date_to'], '') || null },
    interval: chosen(INTERVALS, source['interval'], 'day'),
    display: chosen(DISPLAYS, drawn['display'], 'ActionsLineGraph'),
    breakdowns: breakdownsIn(object(source['breakdownFilter'])).map((one, key) => ({
      key,
      type: chosen(PROPERTY_TYPES, one['type'], 'event'),
      property: text(one['property'], ''),
    })),
    isCompared: object(source['compareFilter'])['compare'] === true,
    formula: text(drawn['formula'], ''),
  };
  return covers(evenSource(sourceOf(question, kind)), evenSource(source)) ? question : undefined;
}
