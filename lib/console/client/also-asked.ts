/** What a query says besides the fields of the form, in words: nobody takes its numbers for those of the form alone. */
import { list as elements } from '../../charts/describe/read.ts';
import { type Json, object, sourceIn } from './json.ts';
import { type Form, said } from './kept-members.ts';
import { type QuestionKind, TRAITS } from './question-kinds.ts';
import { FORMS, kindOf, PATH_TYPES } from './question-query.ts';
import { FIRST_QUESTION, type Question } from './questions.ts';

/** Members that change no number. */
const IDLE: readonly string[] = `
  name custom_name version tags response modifiers dataColorTheme kind type uuid order index limit
  display dashboardDisplay layout goalLines showLegend showValuesOnSeries showPercentStackView
  showAlertThresholdLines showMultipleYAxes showLabelsOnSeries showPercentagesOnSeries showTrendLines
  showFullUrls yAxisScaleType aggregationAxisFormat aggregationAxisPrefix aggregationAxisPostfix
  decimalPlaces minDecimalPlaces hiddenLegendIndexes hiddenLegendBreakdowns resultCustomizations
  resultCustomizationBy toggledLifecycles detailedResultsAggregationType funnelStepReference selectedInterval stacked
`
  .trim()
  .split(/\s+/);

/** These change none either where persons are counted, whatever the series count elsewhere. */
const IDLE_MATH: readonly string[] = ['math', 'math_property', 'math_property_type', 'math_hogql'];

/** Does a member of a part of a query change no number there? */
function isIdle(name: string, part: Json, kind: QuestionKind): boolean {
  if (name === 'compare_to') return part['compare'] !== true;
  const { hasNumbers, refusedMaths } = TRAITS[kind];
  if (hasNumbers || !IDLE_MATH.includes(name)) return IDLE.includes(name);
  return name !== 'math' || !refusedMaths.some((math) => math === part['math']);
}

const OWN_FILTERS = 'filters of its own';

const WORDS: Readonly<Record<string, (value: string) => string>> = {
  filterTestAccounts: () => 'without test accounts',
  explicitDate: () => 'dates to the exact time',
  compare_to: (value) => `compared with the time ${value}`,
  breakdown_limit: (value) => `${value} values of the breakdown at most`,
  breakdown_hide_other_aggregation: () => 'without the other values of the breakdown',
  breakdown_normalize_url: () => 'addresses without their ends',
  smoothingIntervals: (value) => `the mean of ${value} intervals`,
  properties: () => OWN_FILTERS,
  fixedProperties: () => OWN_FILTERS,
  filters: () => OWN_FILTERS,
  values: () => 'values of its own',
  variables: () => 'variables of its own',
  normalize_url: () => 'addresses without their ends',
  exclusions: () => 'without who did other events between steps',
  stepLimit: (value) => `${value} steps at most`,
  totalIntervals: (value) => `${value} intervals`,
};

const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Returns what a member without words of its own says: its name, and a value that is no more than one. */
function plainWords(name: string, value: unknown): string {
  const spaced = name
    .replaceAll(/_+/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`);
  return value === true || typeof value === 'object' ? spaced : `${spaced}: ${plain(value).replaceAll('_', ' ')}`;
}

/** A member that a query has besides the form's fields, and that may change its numbers. */
interface Found {
  /** The names and places that lead to it. */
  readonly path: Path;
  readonly words: string;
}

type Path = readonly (string | number)[];

/** Returns what a query says besides the form's fields that may change its numbers, in words and in its order. */
export function alsoAsked(query: unknown): readonly string[] {
  const source = sourceIn(query);
  const kind = kindOf(source);
  if (kind === undefined) return [];
  const found = beyond(FORMS[kind], said(source), { kind, of: '', path: [] }).map(({ words }) => words);
  return kind === 'PathsQuery' ? [...pathTypes(source), ...found] : found;
}

/** Returns a question without what `alsoAsked` names of its query. All else that the form has no field for stays. */
export function withoutAlso(question: Question): Question {
  const { kind, kept, range } = question;
  const form: Form = FORMS[kind];
  const clean = <Part>(fields: unknown, part: Part): Part =>
    beyond(object(fields), said(part), { kind, of: '', path: [] }).reduce((rest, { path }) => cut(rest, path), part);
  const source = clean(form, sourceIn(kept));
  const pathsFilter = { ...object(source['pathsFilter']), includeEventTypes: [...PATH_TYPES] };
  const { breakdowns: breakdown } = object(form['breakdownFilter']);
  return {
    ...question,
    ...(kept && { kept: { ...kept, source: kind === 'PathsQuery' ? { ...source, pathsFilter } : source } }),
    series: question.series.map((one) => ({ ...one, kept: one.kept && clean(form['series'], one.kept) })),
    breakdowns: question.breakdowns.map((one) => ({ ...one, kept: one.kept && clean(breakdown, one.kept) })),
    // Without intervals of its own it goes back as far as any other.
    range: range.date_from === null ? FIRST_QUESTION.range : range,
  };
}

/** Returns a part of a query without the member that a path leads to. */
function cut<Part>(part: Part, [name, ...rest]: Path): Part {
  if (Array.isArray(part)) return part.map((one, at) => (at === name ? cut(one, rest) : one)) as Part;
  const members = Object.entries(object(part)).flatMap(([key, value]) =>
    key !== name ? [[key, value]] : rest.length === 0 ? [] : [[key, cut(value, rest)]],
  );
  return Object.fromEntries(members) as Part;
}

interface Place {
  readonly kind: QuestionKind;
  /** What the members are of: a series, with the sign behind it. */
  readonly of: string;
  readonly path: Path;
}

function beyond(form: object, part: unknown, { kind, of, path }: Place): Found[] {
  return Object.entries(object(part)).flatMap(([name, value]) => {
    const field: unknown = object(form)[name];
    const at = [...path, name];
    if (value === null || field === true || isEmpty(value) || name === 'includeEventTypes') return [];
    if (field === undefined && isIdle(name, object(part), kind)) return [];
    if (field === undefined)
      return [{ path: at, words: `${of}${WORDS[name]?.(plain(value)) ?? plainWords(name, value)}` }];
    if (!Array.isArray(value)) return beyond(object(field), value, { kind, of: ENTITIES[name] ?? of, path: at });
    return value.flatMap((one, index) =>
      beyond(object(field), one, { kind, of: ofMember(kind, name, index), path: [...at, index] }),
    );
  });
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && Object.values(value ?? {}).every((one) => one === null || one === undefined);

/** What the form calls the entities of a retention. */
const ENTITIES: Readonly<Record<string, string>> = {
  targetEntity: `${TRAITS.RetentionQuery.seriesLabel(0)}: `,
  returningEntity: `${TRAITS.RetentionQuery.seriesLabel(1)}: `,
};

const ofMember = (kind: QuestionKind, name: string, at: number): string =>
  `${name === 'series' ? TRAITS[kind].seriesLabel(at) : `Breakdown ${at + 1}`}: `;

/** Without types, paths go through events of all types. */
function pathTypes(source: Json): string[] {
  const types = elements(object(source['pathsFilter'])['includeEventTypes'] ?? []).map(String);
  const isAsMade = types.length === PATH_TYPES.length && PATH_TYPES.every((type) => types.includes(type));
  if (isAsMade) return [];
  return [types.length === 0 ? 'through events of all types' : `through ${types.join(', ')} alone`];
}
