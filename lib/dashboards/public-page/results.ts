/** The answers of a shared page's insights, as anybody may see them. */
import type { ProjectItem } from '../../accounts/organizations/model.ts';
import { type Chart, isEmptyChart } from '../../charts/chart.ts';
import { sourceOf } from '../../charts/describe/describe.ts';
import { parseJson } from '../../http/json.ts';
import { chartOfResult } from '../../insights/chart.ts';
import type { InsightItem } from '../../insights/model.ts';
import type { Overrides } from '../../insights/overrides.ts';
import { queryOf, type ResultFields, resultsOf } from '../../insights/results.ts';
import type { Context } from '../../ports/context.ts';
import { Failure, messageOf } from '../../ports/errors.ts';
import { SECOND_MS } from '../../ports/units.ts';
import { type DataRange, dataRange } from '../data-range.ts';

/** What a page shows of an insight. */
export interface ShownResult {
  readonly chart: Chart;
  /** What its data has of it, without the query and without values of filters. */
  readonly fields: ResultFields;
}

/** An answer that was looked at so lately is shown as it is: many who look at once cost as much as one. */
const LOOKED_LATELY_MS = 10 * SECOND_MS;

/** Queries whose answers are rows about persons; these are not shown to strangers. */
const PERSONAL: ReadonlySet<unknown> = new Set(['EventsQuery', 'ActorsQuery']);

/** Returns whether an insight's answer is rows about persons. */
export const isPersonal = ({ query }: Pick<InsightItem, 'query'>): boolean =>
  query !== null && PERSONAL.has(sourceOf(parseJson(query))['kind']);

/**
 * Returns what is known of the insights, by their numbers: answers from the cache alone. Those that are not true any
 * more are computed behind, once for all who look, and are there at a later look.
 */
export async function shownResults(
  context: Pick<Context, 'answers' | 'clock' | 'log'>,
  insights: readonly InsightItem[],
  asking: { readonly project: ProjectItem; readonly overrides: Overrides; readonly dashboard: number },
): Promise<ReadonlyMap<number, ShownResult>> {
  const shown = insights.filter((insight) => insight.deleted_at === null && !isPersonal(insight));
  const cached = { ...asking, refresh: 'force_cache' } as const;
  const results = await resultsOf(context, shown, cached, {});
  renew(context, shown, results, cached);
  return new Map(
    shown.flatMap(({ id, query }) => {
      const fields = results.get(id);
      if (fields === undefined || query === null || fields.last_refresh === null) return [];
      return [[id, { chart: chartOfResult(query, fields), fields: withoutQuestion(fields) }] as const];
    }),
  );
}

/** Has answers computed that are missing or may not be true any more. Nobody waits for it, and failures are logged. */
function renew(
  { answers, clock, log }: Pick<Context, 'answers' | 'clock' | 'log'>,
  insights: readonly InsightItem[],
  results: ReadonlyMap<number, ResultFields>,
  asking: Parameters<typeof queryOf>[1],
): void {
  if (answers === null) return;
  for (const insight of insights) {
    const asked = queryOf(insight, asking);
    const refreshedAt = results.get(insight.id)?.last_refresh ?? null;
    if (asked === undefined || (refreshedAt !== null && clock() - Date.parse(refreshedAt) < LOOKED_LATELY_MS)) continue;
    answers.ask(asked, 'lazy_async', {}).catch((error: unknown) => {
      // What was asked cannot be answered, or too many wait: editors are told so where they look.
      if (error instanceof Failure) return;
      log.warning('an insight of a shared page was not computed', { insight: insight.id, reason: messageOf(error) });
    });
  }
}

/** Members of results that anybody may see. Others say what was asked: filters, properties, expressions, persons. */
const PUBLIC_MEMBERS: ReadonlySet<string> = new Set([
  'aggregated_value',
  'average_conversion_time',
  'bins',
  'breakdown',
  'breakdown_value',
  'compare',
  'compare_label',
  'count',
  'custom_name',
  'data',
  'date',
  'days',
  'label',
  'labels',
  'median_conversion_time',
  'name',
  'order',
  'source',
  'status',
  'target',
  'type',
  'value',
  'values',
]);

function withoutQuestion(fields: ResultFields): ResultFields {
  return {
    ...fields,
    result: publicPart(fields.result) as ResultFields['result'],
    hogql: null,
    query_status: null,
    filters_hash: '',
    error: null,
  };
}

function publicPart(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(publicPart);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => PUBLIC_MEMBERS.has(name));
  return Object.fromEntries(members.map(([name, member]) => [name, publicPart(member)]));
}

/**
 * Returns the days of a project that have events, if some results are known and none of them has a number; else
 * undefined. It reads the list of the project's files only in that case.
 */
export async function otherRange(
  context: Pick<Context, 'table'>,
  project: ProjectItem,
  results: ReadonlyMap<number, ShownResult>,
): Promise<DataRange | undefined> {
  const charts = [...results.values()].map(({ chart }) => chart);
  return charts.length > 0 && charts.every(isEmptyChart) ? dataRange(context, project) : undefined;
}
