/** Answers to queries as charts take them, waited for where they take longer than a request may. */
import type { Answered } from '../../charts/describe/describer.ts';
import { answered, api, type Schemas } from './api.ts';

type Told = Pick<
  Schemas['QueryAnswer'],
  'columns' | 'types' | 'hasMore' | 'last_refresh' | 'timezone' | 'query_status' | 'resolved_date_range'
>;

/** How often it is asked what became of a query. */
const LOOK_MS = 1_000;

/** Returns an answer as charts take it; `trueAt`: when the service said that it is true, if it did. */
export const answerOf = (
  results: unknown,
  { columns, types, hasMore, last_refresh, timezone, resolved_date_range }: Told,
  trueAt?: string,
): Answered => ({
  results,
  columns: (columns as readonly string[] | null | undefined) ?? undefined,
  types: types ?? undefined,
  hasMore,
  computedAt: last_refresh,
  trueAt,
  range: resolved_date_range,
  timezone,
});

const now = (): string => new Date().toISOString();

/** Returns what a query answers, computed if it must be. Throws the `Refusal` of one that has no answer. */
export async function askQuery(project: string, query: Schemas['Query'], signal?: AbortSignal): Promise<Answered> {
  const told = await answered(
    api.POST('/api/projects/{project_id}/query/', {
      params: { path: { project_id: project } },
      body: { query, refresh: 'blocking' },
      signal,
    }),
  );
  return whenAnswered(project, told.results, told, signal);
}

/** Returns an answer, once it is there if it is answered later. Throws the `Refusal` of a query that has none. */
export async function whenAnswered(
  project: string,
  results: unknown,
  told: Told,
  signal?: AbortSignal,
): Promise<Answered> {
  let run: Schemas['QueryStatus'] | null | undefined = told.query_status;
  if (results != null || run == null) return answerOf(results, told, now());
  const params = { path: { project_id: project, id: run.id } };
  while (!run.complete) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    signal?.throwIfAborted();
    const { query_status } = await answered(api.GET('/api/projects/{project_id}/query/{id}/', { params }));
    run = query_status;
  }
  const answer = run.results as (Told & { readonly results: unknown }) | null;
  return answerOf(answer?.results, answer ?? {}, now());
}
