/** The answers of a shared page's insights, as anybody may see them. */

import type { ProjectItem } from '../../accounts/organizations/model.ts';
import { insightMoment } from '../../accounts/organizations/projects/time.ts';
import { recentOf } from '../../basics/recent.ts';
import { SECOND_MS } from '../../basics/units.ts';
import { forgottenBy } from '../../insights/answering/cache.ts';
import type { AskedQuery, KnownAnswer } from '../../insights/answering/computations.ts';
import type { Answer } from '../../insights/kinds/kind.ts';
import type { InsightItem } from '../../insights/model.ts';
import type { Overrides } from '../../insights/overrides.ts';
import { queryOf, type ResultFields, toldFields } from '../../insights/results.ts';
import type { Context } from '../../ports/context.ts';
import { type DataRange, dataRange } from '../data-range.ts';
import { isPersonal, publicColumns } from '../insights/public-answer.ts';
import type { Drawn } from './drawn.ts';

/** What a page shows of an insight. */
export interface ShownResult {
  readonly drawn: Drawn;
  /** When it was computed, in milliseconds since 1970. */
  readonly refreshedAt: number;
  /** Returns all its numbers, as CSV. */
  readonly csv: () => Promise<string>;
  /** Returns what the page's data has of it, without the query and without values of filters. */
  readonly fields: () => ResultFields;
}

/** What is known of insights, by their numbers. */
interface ShownResults {
  readonly results: ReadonlyMap<number, ShownResult>;
  /** Those whose answers are too large for a page that shows what comes before them. */
  readonly leftOut: ReadonlySet<number>;
}

const NOTHING: ShownResults = { results: new Map(), leftOut: new Set() };

/** An answer that was computed or looked after so lately is shown as it is: many who look at once cost as much as one. */
const LOOKED_LATELY_MS = 10 * SECOND_MS;

/** Returns why a page has no answer of an insight; undefined: it may have one at a later look. */
export function unansweredReason(insight: InsightItem, { leftOut }: ShownResults): string | undefined {
  if (insight.query === null) return 'This insight has no query, and so no numbers.';
  if (leftOut.has(insight.id)) return 'The numbers of this page are too many to be shown at once: these are left out.';
  return isPersonal(insight)
    ? 'The rows of this insight are about persons. They are not shown on a shared page.'
    : undefined;
}

/** An insight as a page asks for it. */
interface AskedInsight {
  readonly id: number;
  /** As it is stored. */
  readonly query: string;
  readonly asked: AskedQuery;
}

/**
 * Returns what is known of the insights, by their numbers: answers from the cache alone. Those that are not true any
 * more are computed behind, once for all who look, and are there at a later look.
 */
export async function shownResults(
  context: Pick<Context, 'answers' | 'clock'>,
  insights: readonly InsightItem[],
  asking: { readonly project: ProjectItem; readonly overrides: Overrides; readonly dashboard: number },
): Promise<ShownResults> {
  const { answers, clock } = context;
  if (answers === null) return NOTHING;
  const wanted = insights.flatMap((insight): AskedInsight[] => {
    const { id, query, deleted_at } = insight;
    if (query === null || deleted_at !== null || isPersonal(insight)) return [];
    const { asked } = queryOf(insight, { ...asking, refresh: 'force_cache' });
    return asked === undefined ? [] : [{ id, query, asked }];
  });
  const told = wanted.length === 0 ? [] : await answers.cached(wanted.map(({ asked }) => asked));
  await renew({ ...context, answers }, wanted, told);
  const leftOut = new Set(wanted.filter((_, at) => told[at]?.state === 'left_out').map(({ id }) => id));
  if (told.every(({ kept }) => kept === null)) return { ...NOTHING, leftOut };
  // A function starts without what draws; the first page that has something to show loads it.
  const { drawn, spreadsheet } = await import('./drawn.ts');
  const results = new Map(
    wanted.flatMap(({ id, query, asked }, at) => {
      const one = told[at];
      if (one === undefined || one.kept === null) return [];
      const { timezone } = insightMoment(asking.project);
      const { answer } = one.kept;
      const answered = { project: asking.project.id, query, timezone, told: one, now: clock() };
      const shown: ShownResult = {
        drawn: drawn(answers, answered),
        refreshedAt: one.kept.at,
        csv: () => spreadsheet(answers, answered),
        fields: () => withoutQuestion(asked.query, answer, toldFields(asked.project, one)),
      };
      return [[id, shown] as const];
    }),
  );
  return { results, leftOut };
}

/** So many answers are known to have been looked after lately. */
const MAX_LOOKED_AFTER = 10_000;
/** When this process has last had an answer looked after, by how often its project has forgotten answers, and its key. */
const lookedAfter = recentOf<number>(MAX_LOOKED_AFTER);

/** Has answers computed that are missing or may not be true any more. Nobody waits for it. */
async function renew(
  { answers, clock }: Pick<Context, 'clock'> & { readonly answers: NonNullable<Context['answers']> },
  insights: readonly AskedInsight[],
  told: readonly KnownAnswer[],
): Promise<void> {
  const now = clock();
  const lately = lookedAfter(answers);
  const isLate = ({ kept, state }: KnownAnswer, name: string): boolean =>
    (kept === null ? state === 'missing' : now - kept.at >= LOOKED_LATELY_MS) &&
    now - (lately.get(name) ?? -Infinity) >= LOOKED_LATELY_MS;
  const late = insights.flatMap(({ asked }, at) => {
    const one = told[at];
    const name = `${forgottenBy(asked.project)} ${one?.key}`;
    return one !== undefined && isLate(one, name) ? [{ asked, name }] : [];
  });
  for (const { name } of late) lately.set(name, now);
  if (late.length > 0) await answers.renew(late.map(({ asked }) => asked));
}

/** Members of results that anybody may see. Others say what was asked: filters, properties, expressions, persons. */
const PUBLIC_MEMBERS: ReadonlySet<string> = new Set([
  'aggregated_value',
  'aggregation_value',
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

function withoutQuestion(query: object, answer: Answer, told: ResultFields): ResultFields {
  const { columns: _, types, resolved_date_range: __, ...fields } = told;
  const names = publicColumns(query, answer) ?? null;
  return {
    ...fields,
    columns: names && [...names],
    types:
      types?.map((type, at) => (Array.isArray(type) && names !== null ? [names[at], ...type.slice(1)] : type)) ?? null,
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
  const all = [...results.values()];
  return all.length > 0 && all.every(({ drawn: { isEmpty } }) => isEmpty) ? dataRange(context, project) : undefined;
}
