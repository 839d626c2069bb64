/** Saved questions of a project, and what they answer. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { answered, api, type Schemas, versioned } from './api.ts';

export type Insight = Schemas['Insight'];

export const INSIGHTS_PAGE = 25;

export interface Answered {
  readonly results: unknown;
  readonly columns: readonly string[] | undefined;
  readonly types: readonly unknown[] | undefined;
  readonly hasMore: boolean | undefined;
}

type Told = Pick<Insight, 'columns' | 'types' | 'hasMore'>;

/** Returns an answer as charts take it. */
export const answerOf = (results: unknown, { columns, types, hasMore }: Told): Answered => ({
  results,
  columns: (columns as readonly string[] | null | undefined) ?? undefined,
  types: types ?? undefined,
  hasMore,
});

export function useInsights(project: string, page: number) {
  const query = { limit: INSIGHTS_PAGE, offset: (page - 1) * INSIGHTS_PAGE };
  return useQuery({
    queryKey: ['insights', project, page],
    placeholderData: keepPreviousData,
    queryFn: () =>
      answered(api.GET('/api/projects/{project_id}/insights/', { params: { path: { project_id: project }, query } })),
  });
}

export const insightKey = (project: string, id: string) => ['insight', project, id];

export function useInsight(project: string, id: string | undefined) {
  return useQuery({
    queryKey: insightKey(project, id ?? ''),
    enabled: id !== undefined,
    queryFn: () =>
      versioned(
        api.GET('/api/projects/{project_id}/insights/{id}/', {
          params: { path: { project_id: project, id: Number(id) } },
        }),
      ),
  });
}

/** Returns what a query answers, computed if it must be. */
export function useAnswer(project: string, query: Readonly<Record<string, unknown>>) {
  return useQuery({
    queryKey: ['answer', project, query],
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: async ({ signal }) => {
      const answer = await answered(
        api.POST('/api/projects/{project_id}/query/', {
          params: { path: { project_id: project } },
          body: { query, refresh: 'blocking' },
          signal,
        }),
      );
      return answerOf(answer.results, answer);
    },
  });
}

/** Returns what an insight answers on its dashboard. */
export function useTileAnswer(project: string, insight: Schemas['TileInsight'], dashboard: number) {
  return useQuery({
    queryKey: ['tile-answer', project, dashboard, insight.id, insight.query],
    enabled: insight.query !== null,
    retry: false,
    staleTime: 60_000,
    queryFn: async () => {
      if (insight.result != null) return answerOf(insight.result, insight);
      const found = await answered(
        api.GET('/api/projects/{project_id}/insights/{id}/', {
          params: {
            path: { project_id: project, id: insight.id },
            query: { refresh: 'blocking', from_dashboard: dashboard },
          },
        }),
      );
      return answerOf(found.result, found);
    },
  });
}
