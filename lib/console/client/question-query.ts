/** A question as the API takes it, and a query as the form has it. */

import { counted } from '../../basics/text.ts';
import { chosen, covers, isSame, type Json, list, object, sourceIn, text } from './json.ts';
import { type Form, patched, said, within } from './kept-members.ts';
import { evenFilters, filtersIn, PROPERTY_TYPES, sentFilters } from './property-filters.ts';
import { KINDS, type QuestionKind } from './question-kinds.ts';
import { DISPLAYS, INTERVALS, MATHS, OF_PROPERTY, PAGEVIEW, WINDOW_UNITS } from './question-options.ts';
import { type Breakdown, FIRST_QUESTION, type Question, type Series } from './questions.ts';
import type { Schemas } from './schemas.ts';

type Trends = Schemas['TrendsQuery'];
type TrendsSeries = Trends['series'][number];
type ChosenKind = Exclude<QuestionKind, 'HogQLQuery'>;

/** A retention has so many intervals, unless it says how many; without a beginning it goes back as far. */
const INTERVALS_OF_RETENTION = 8;

/** What paths go through that the form asks for. */
export const PATH_TYPES = [PAGEVIEW, 'custom_event'] as const;

/**
 * Returns the query of a question, in what says how it is shown. What the query that it was read from says besides the
 * form's fields is in it still, while the kind stays; of a series, while its event stays; of dates, while they stay.
 */
export function queryOf(question: Question): Schemas['Query'] {
  const { kept, kind } = question;
  const made = madeOf(question);
  const before = readQuestion(kept);
  if (before?.kind !== kind) return made;
  return patched(kept, madeOf({ ...before, kept }), made) as Schemas['Query'];
}

/** Returns the query that the form alone makes of a question; its series are as those that they are from. */
function madeOf(question: Question): Schemas['Query'] {
  const { kind, display } = question;
  if (kind !== 'HogQLQuery') return { kind: 'InsightVizNode', source: sourceOf(question, kind) };
  const shown = { kind: 'DataVisualizationNode', source: { kind, query: question.hogql }, display } as const;
  return shown;
}

function sourceOf(question: Question, kind: ChosenKind): Schemas[ChosenKind] {
  const { range, interval, display, window } = question;
  const formula = question.formula.trim();
  const compared = question.isCompared ? { compareFilter: { compare: true } } : {};
  const isSameKind = sourceIn(question.kept)['kind'] === kind;
  const series = question.series.map((one) => (isSameKind ? keptNodeOf(one, kind) : nodeOf(one, kind)));
  const properties = sentFilters(question.filters);
  const shared = {
    dateRange: { date_from: range.date_from, ...(range.date_to === null ? {} : { date_to: range.date_to }) },
    ...(properties.length === 0 ? {} : { properties }),
  };
  const brokenDown = sentBreakdowns(question.breakdowns.map((one) => (isSameKind ? one : { ...one, kept: undefined })));
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
    FunnelsQuery: {
      kind: 'FunnelsQuery',
      ...shared,
      series,
      funnelsFilter: { funnelWindowInterval: window.count, funnelWindowIntervalUnit: window.unit },
      ...brokenDown,
    },
    RetentionQuery: {
      kind: 'RetentionQuery',
      ...shared,
      retentionFilter: {
        period: 'Day',
        totalIntervals: INTERVALS_OF_RETENTION,
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
        includeEventTypes: [...PATH_TYPES],
        ...(start === undefined || start.event === '' ? {} : { startPoint: start.event }),
      },
    },
  };
  return sources[kind];
}

function nodeOf({ event, math, property, name }: Series, kind: ChosenKind): TrendsSeries {
  const node = { event: event === '' ? null : event, name: event === '' ? 'All events' : event };
  const isCounted = kind !== 'FunnelsQuery' && kind !== 'LifecycleQuery';
  return {
    kind: 'EventsNode',
    ...node,
    ...(name === '' ? {} : { custom_name: name }),
    ...(isCounted ? { math, ...(OF_PROPERTY.includes(math) ? { math_property: property } : {}) } : {}),
  };
}

/** Returns the node of a series with what the one that it is from says besides the form's fields. */
const keptNodeOf = (series: Series, kind: ChosenKind): TrendsSeries =>
  series.kept === undefined
    ? nodeOf(series, kind)
    : (patched(series.kept, nodeOf(seriesIn(series.kept, series.key), kind), nodeOf(series, kind)) as TrendsSeries);

const seriesIn = (node: Json, key: number): Series => ({
  key,
  event: text(node['event'], ''),
  math: chosen(MATHS, node['math'], 'total'),
  property: text(node['math_property'], ''),
  name: text(node['custom_name'], ''),
});

/** Returns what is sent of breakdowns by something: one that says no more as all clients read it, others as a list. */
function sentBreakdowns(all: readonly Breakdown[]): Pick<Trends, 'breakdownFilter'> {
  const nodes = all.filter(({ property }) => property.trim() !== '').map(breakdownNode);
  const [first, ...rest] = nodes;
  if (first === undefined) return {};
  const { property, type, ...more } = first;
  if (rest.length > 0 || Object.keys(more).length > 0) return { breakdownFilter: { breakdowns: nodes } };
  return { breakdownFilter: { breakdown: property, breakdown_type: type } };
}

/** Returns the node of a breakdown, with what the one that it is from says besides the form's fields of the same property. */
function breakdownNode({ property, type, kept = {} }: Breakdown): Pick<Breakdown, 'property' | 'type'> {
  const isKept = kept['property'] === property && kept['type'] === type;
  return { ...(isKept ? kept : {}), property, type };
}

/** What one breakdown says of itself, by what that is called where it stands alone. */
const ALONE: Readonly<Record<string, string>> = {
  breakdown_normalize_url: 'normalize_url',
  breakdown_histogram_bin_count: 'histogram_bin_count',
  breakdown_group_type_index: 'group_type_index',
};

/** Returns the breakdowns that were sent in either form, as in a list, with the type that they have there. */
function breakdownsIn(sent: Json): readonly Json[] {
  const several = list(sent['breakdowns']).map((one) => ({ ...one, type: one['type'] ?? 'event' }));
  const type = sent['breakdown_type'] ?? 'event';
  const more = Object.entries(ALONE).flatMap(([name, own]) => (sent[name] == null ? [] : [[own, sent[name]]]));
  if (several.length > 0) return several;
  return [sent['breakdown'] ?? []].flat().map((property) => ({ property, type, ...Object.fromEntries(more) }));
}

/** What the formula of the form is called where a query is refused for it; one that was kept says it in any of these ways. */
export const FORMULA_FIELDS = ['formula', 'formulas__0'];

/** Returns how a trend is drawn with its formula as the form says it: the one that is sent, whatever it is called. */
function evenFormula(sent: Json): Json {
  const { formulas, formulaNodes, ...rest } = sent;
  const nodes = list(formulaNodes);
  const written = nodes.length > 0 ? nodes : (Array.isArray(formulas) ? formulas : []).map((formula) => ({ formula }));
  const [node, ...others] = written.map(object);
  return node === undefined || others.length > 0 ? sent : { ...rest, formula: node['formula'] };
}

/** Returns a series without the property that its number is not of. */
function evenNode({ math_property: property, ...rest }: Json): Json {
  return OF_PROPERTY.some((math) => math === rest['math']) ? { ...rest, math_property: property } : rest;
}

/** Returns a query in a form in which those that ask the same are equal. */
function evenSource(sent: Json): Json {
  const source = object(said(sent));
  const { breakdown: _, breakdown_type: __, breakdowns: ___, ...rest } = object(source['breakdownFilter']);
  const breakdowns = breakdownsIn(object(source['breakdownFilter']));
  return {
    ...source,
    ...(Array.isArray(source['series']) ? { series: list(source['series']).map(evenNode) } : {}),
    trendsFilter: evenFormula(object(source['trendsFilter'])),
    properties: evenFilters(source['properties'] ?? []),
    breakdownFilter: { ...rest, breakdowns: breakdowns.length === 0 ? undefined : breakdowns },
  };
}

const NODE: Form = { kind: true, event: true, custom_name: true };
const ENTITY: Form = { id: true, type: true };
const SHARED: Form = { kind: true, dateRange: { date_from: true, date_to: true }, properties: true };
const BROKEN_DOWN: Form = {
  breakdownFilter: { breakdown: true, breakdown_type: true, breakdowns: { property: true, type: true } },
};
const COMPARED: Form = { compareFilter: { compare: true } };

/** What the form has fields for, of the query of each kind. */
export const FORMS: Readonly<Record<QuestionKind, Form>> = {
  TrendsQuery: {
    ...SHARED,
    series: { ...NODE, math: true, math_property: true },
    interval: true,
    trendsFilter: { display: true, formula: true, formulas: true, formulaNodes: true },
    ...BROKEN_DOWN,
    ...COMPARED,
  },
  FunnelsQuery: {
    ...SHARED,
    series: NODE,
    funnelsFilter: { funnelWindowInterval: true, funnelWindowIntervalUnit: true },
    ...BROKEN_DOWN,
  },
  RetentionQuery: {
    ...SHARED,
    retentionFilter: { targetEntity: ENTITY, returningEntity: ENTITY },
    ...BROKEN_DOWN,
  },
  StickinessQuery: { ...SHARED, series: NODE, interval: true, stickinessFilter: {}, ...COMPARED },
  LifecycleQuery: { ...SHARED, series: NODE, interval: true, lifecycleFilter: {} },
  PathsQuery: { ...SHARED, pathsFilter: { startPoint: true } },
  HogQLQuery: { kind: true, query: true },
};

/**
 * Returns the question that a query asks; what it says besides the form's fields is kept beside them, and is in the
 * query of the question again. Undefined: a field of the form cannot show what it says there.
 */
export function questionOf(query: unknown): Question | undefined {
  const question = readQuestion(query);
  if (question === undefined) return undefined;
  const source = sourceIn(query);
  const form = FORMS[question.kind];
  const made = madeOf(question);
  if (!covers(evenSource(sourceIn(made)), within(form, evenSource(source)))) return undefined;
  // What nothing says how to show is shown as the form has it.
  const kept = source === query ? { ...made, source } : object(query);
  if (isSame(made, kept)) return question;
  const nodes = list(source['series']);
  return { ...question, kept, series: question.series.map((one, at) => ({ ...one, kept: nodes[at] })) };
}

const spanIn = (source: Json): { readonly count: number; readonly period: string } => {
  const { totalIntervals, period } = object(source['retentionFilter']);
  return { count: Number(totalIntervals ?? INTERVALS_OF_RETENTION), period: text(period, 'Day').toLowerCase() };
};

/** Returns where a query begins that does not say it; null: of a retention, intervals of its own before its end. */
function beginningOf(source: Json): string | null {
  const { count, period } = spanIn(source);
  const isOfItsOwn = count !== INTERVALS_OF_RETENTION || period !== 'day';
  return source['kind'] === 'RetentionQuery' && isOfItsOwn ? null : FIRST_QUESTION.range.date_from;
}

/** Returns the dates of a retention that names none, as people say them. */
export function ownSpanText({ kept }: Question): string {
  const { count, period } = spanIn(sourceIn(kept));
  return `the last ${counted(count, period)}`;
}

/** Returns the kind of a query, out of what says how it is shown; undefined: the form has none such. */
export const kindOf = (source: Json): QuestionKind | undefined =>
  KINDS.find(({ value }) => value === source['kind'])?.value;

/** Returns what the form's fields say of a query. They may say less than it does, or something else. */
function readQuestion(query: unknown): Question | undefined {
  const source = sourceIn(query);
  const kind = kindOf(source);
  if (kind === undefined) return undefined;
  if (kind === 'HogQLQuery') {
    const display = chosen(DISPLAYS, object(query)['display'], 'ActionsTable');
    return { ...FIRST_QUESTION, kind, hogql: text(source['query'], ''), display };
  }
  const retention = object(source['retentionFilter']);
  // An entity that is not there is not any event.
  const entities = [retention['targetEntity'], retention['returningEntity']].map((entity) => ({
    event: object(entity ?? { id: PAGEVIEW })['id'],
  }));
  const drawn = evenFormula(object(said(source['trendsFilter'])));
  const dates = object(source['dateRange']);
  // A range that is told by its end alone begins, of a retention, so many days before that.
  if (kind === 'RetentionQuery' && !dates['date_from'] && dates['date_to']) return undefined;
  const nodes: readonly Json[] =
    kind === 'RetentionQuery'
      ? entities
      : kind === 'PathsQuery'
        ? [{ event: object(source['pathsFilter'])['startPoint'] ?? '' }]
        : list(source['series']);
  const window = object(source['funnelsFilter']);
  const { count, unit } = FIRST_QUESTION.window;
  return {
    ...FIRST_QUESTION,
    kind,
    series: nodes.map(seriesIn),
    filters: filtersIn(source['properties']),
    range: {
      date_from: text(dates['date_from'], '') || beginningOf(source),
      date_to: text(dates['date_to'], '') || null,
    },
    interval: chosen(INTERVALS, source['interval'], 'day'),
    display: chosen(DISPLAYS, drawn['display'], 'ActionsLineGraph'),
    breakdowns: breakdownsIn(object(source['breakdownFilter'])).map((one, key) => ({
      key,
      type: chosen(PROPERTY_TYPES, one['type'], 'event'),
      property: text(one['property'], ''),
      ...(Object.keys(one).length > 2 ? { kept: one } : {}),
    })),
    isCompared: object(source['compareFilter'])['compare'] === true,
    formula: text(drawn['formula'], ''),
    window: {
      count: Number(window['funnelWindowInterval'] ?? count),
      unit: chosen(WINDOW_UNITS, window['funnelWindowIntervalUnit'], unit),
    },
  };
}
