/** The answers of insights: what their queries give, from the cache or computed as `refresh` says. */
import type { ProjectItem } from '../accounts/organizations/model.ts';
import { SECOND_MS } from '../basics/units.ts';
import { parseJson } from '../http/json.ts';
import type { Context } from '../ports/context.ts';
import { Failure } from '../ports/errors.ts';
import type { Asker } from './answering/answers.ts';
import { type AskedQuery, type KnownAnswer, MOST_TOLD } from './answering/computations.ts';
import { WAITED_MS } from './answering/pooled-answerer.ts';
import { sourceOf } from './kinds/source.ts';
import type { InsightItem } from './model.ts';
import { type Overrides, overridden } from './overrides.ts';
import type { Refresh } from './queries/model.ts';
import { answerFields } from './queries/told.ts';
import { hasFiltersAlone } from './rules.ts';

/** How the insights of one request are asked. */
export interface Asking {
  readonly project: ProjectItem;
  /** `force_cache`: nothing is computed. */
  readonly refresh: Refresh;
  readonly overrides?: Overrides | undefined;
  readonly dashboard?: number;
}

/** The members of an insight that tell its answer; `result` is the query's `results` as they are. */
export type ResultFields = ReturnType<typeof toldFields>;

/** Why insights of a dashboard are told without their answers. */
const TOO_LATE =
  `The insights of this dashboard take longer than ${WAITED_MS / SECOND_MS} s together. ` +
  'Ask again: answers that are there are kept.';
const TOO_MUCH = `The answers of this dashboard have more than ${MOST_TOLD / 1_000_000} MB together. Ask for this insight by itself.`;

/** Why an insight that a template has made of filters is told without an answer. */
const FILTERS_ALONE = 'It has `filters` and no `query`: such filters are kept, but not answered. Give it a query.';

/** So many insights of a dashboard are computed at the same time. */
const AT_ONCE = 2;

/** The query of an insight as it is asked, or why what it has is none; null: it has nothing yet. */
type InsightQuery =
  | { readonly asked: AskedQuery; readonly reason?: undefined }
  | { readonly asked?: undefined; readonly reason: string | null };

/** Returns what an insight asks. */
export function queryOf(item: InsightItem, { project, overrides = {}, dashboard }: Asking): InsightQuery {
  const { id, query } = item;
  if (query === null) return hasFiltersAlone(item) ? { reason: FILTERS_ALONE } : { reason: null };
  try {
    const asked: AskedQuery = {
      project,
      query: overridden(sourceOf(parseJson(query)), overrides),
      insight: id,
      ...(dashboard === undefined ? {} : { dashboard }),
    };
    return { asked };
  } catch (error) {
    if (error instanceof Failure) return { reason: error.body.detail };
    throw error;
  }
}

/** Returns what is told of an insight's answer, or why its query is none. Throws what computing throws. */
export async function resultOf(
  { answers }: Pick<Context, 'answers'>,
  item: InsightItem,
  asking: Asking,
  asker: Asker,
): Promise<ResultFields> {
  const { asked, reason } = queryOf(item, asking);
  if (asked === undefined || answers === null) return withoutResult(asking, reason);
  return toldFields(asking.project, await answers.ask(asked, asking.refresh, asker));
}

/**
 * Returns the same of the insights of a dashboard, by their numbers. One that cannot be answered tells why, as do those
 * that are not answered in time, for all together have as long as one query has, and those that would have more than
 * MOST_TOLD characters together with what is told before.
 */
export async function resultsOf(
  context: Pick<Context, 'answers'>,
  items: readonly InsightItem[],
  asking: Asking,
  asker: Asker,
): Promise<ReadonlyMap<number, ResultFields>> {
  if (asking.refresh === 'force_cache') return keptResults(context, items, asking);
  const found = new Map<number, ResultFields>();
  const late = AbortSignal.timeout(WAITED_MS);
  const callerLeft = asker.callerLeft === undefined ? late : AbortSignal.any([asker.callerLeft, late]);
  const together: Asker = { seen: new Map(), ...asker, callerLeft };
  const left = [...items];
  let characters = 0;
  const work = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      const fields =
        characters > MOST_TOLD
          ? withoutResult(asking, TOO_MUCH)
          : await resultOf(context, item, asking, together).catch((error: unknown) => {
              if (late.aborted && asker.callerLeft?.aborted !== true) return withoutResult(asking, TOO_LATE);
              if (!(error instanceof Failure)) throw error;
              return withoutResult(asking, error.body.detail);
            });
      characters += JSON.stringify(fields.result).length;
      found.set(item.id, characters > MOST_TOLD ? withoutResult(asking, TOO_MUCH) : fields);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

/** Returns what is told of the answers of insights that are kept. One read, of those that are not in memory. */
async function keptResults(
  { answers }: Pick<Context, 'answers'>,
  items: readonly InsightItem[],
  asking: Asking,
): Promise<ReadonlyMap<number, ResultFields>> {
  const queries = items.map((item) => ({ id: item.id, ...queryOf(item, asking) }));
  const wanted = queries.flatMap(({ id, asked }) => (asked === undefined ? [] : [{ id, asked }]));
  const told = answers === null || wanted.length === 0 ? [] : await answers.cached(wanted.map(({ asked }) => asked));
  const found = new Map<number, ResultFields>();
  for (const { id, reason } of queries) if (reason != null) found.set(id, withoutResult(asking, reason));
  for (const [n, one] of told.entries()) {
    const { id } = wanted[n] as (typeof wanted)[number];
    if (one.state === 'left_out') found.set(id, withoutResult(asking, TOO_MUCH));
    else if (one.state !== 'missing') found.set(id, toldFields(asking.project, one));
  }
  return found;
}

/** Returns the members of an insight that tell the answer of its query. */
export function toldFields(project: ProjectItem, told: KnownAnswer) {
  return {
    result: told.kept?.answer.results ?? null,
    ...answerFields(project, told),
    filters_hash: told.key,
    error: null as string | null,
  };
}

/** What is told of an insight without an answer, and why, where it has a reason. */
const withoutResult = ({ project }: Asking, error: string | null = null): ResultFields => ({
  ...toldFields(project, { key: '', state: 'missing', kept: null, run: null }),
  error,
});
