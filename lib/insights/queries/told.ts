/** What is told of the answer of a query. */
import type * as z from 'zod';
import type { ProjectItem } from '../../accounts/organizations/model.ts';
import { definedOf } from '../../basics/defined.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../basics/units.ts';
import { wireInstant } from '../../http/instant.ts';
import type { KnownAnswer } from '../answering/computations.ts';
import { queryStatus, type ToldRun } from '../answering/runs.ts';
import type { QueryAnswer, QueryStatusAnswer } from './model.ts';

/** A client may ask again after so long. */
const CLIENT_REFRESH_MS = MINUTE_MS;

/** How old PostHog lets an answer become, by the interval of its query. Here it decides nothing: an answer is given as long as it is true. */
const AGES_MS: ReadonlyMap<string, number> = new Map([
  ['minute', 5 * MINUTE_MS],
  ['hour', HOUR_MS],
  ['day', 6 * HOUR_MS],
  ['week', DAY_MS],
  ['month', 2 * DAY_MS],
]);
const ageOf = (interval = 'day'): number => AGES_MS.get(interval) ?? 6 * HOUR_MS;

/** Returns what is told of an answer beside it: of its project, the answer and its age. */
export function answerFields(project: ProjectItem, { kept, state, run }: KnownAnswer) {
  const { results: _, hasMore, columns = null, types = null, resolved_date_range } = kept?.answer ?? { results: null };
  return {
    hasMore: hasMore ?? false,
    columns: columns === null ? null : [...columns],
    types: types === null ? null : [...types],
    timezone: project.timezone ?? 'UTC',
    last_refresh: kept === null ? null : wireInstant(kept.at),
    cache_target_age: kept === null ? null : wireInstant(kept.at + ageOf(kept.interval)),
    next_allowed_client_refresh: kept === null ? null : wireInstant(kept.at + CLIENT_REFRESH_MS),
    is_cached: state === 'kept',
    query_status: run === null || !run.isAsync ? null : queryStatus(run),
    hogql: kept?.looked.hogql ?? null,
    ...definedOf({ resolved_date_range }),
  };
}

/** Returns the answer of a query as it is told. */
export function queryAnswer(project: ProjectItem, told: KnownAnswer): z.input<typeof QueryAnswer> {
  const { kept, run, key } = told;
  if (kept === null && run !== null) return { query_status: queryStatus(run) };
  const { limit, offset, metadata } = kept?.answer ?? {};
  return {
    results: kept?.answer.results ?? null,
    ...answerFields(project, told),
    ...definedOf({ limit, offset }),
    cache_key: key,
    calculation_trigger: null,
    timings: null,
    modifiers: {},
    error: null,
    ...metadata,
  };
}

/** Returns a run as it is told to who asks about it: its `results` are the whole answer, as who waits for it is told it. */
export function toldRun(project: ProjectItem, { kept, ...run }: ToldRun): z.input<typeof QueryStatusAnswer> {
  const told = kept && queryAnswer(project, { key: run.key, state: 'computed', kept, run: null });
  return { query_status: { ...queryStatus(run), results: told } };
}
