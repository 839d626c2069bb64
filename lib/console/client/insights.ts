/** Saved questions of a project, and what they answer. */
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { MINUTE_MS } from '../../basics/units.ts';
import type { Answered } from '../../charts/describe/describer.ts';
import { answerOf, askQuery, whenAnswered } from './answers.ts';
import { type At, answered, api, ifMatch, Refusal, type Schemas, type Versioned, versioned } from './api.ts';
import { sourceIn, text } from './json.ts';
import { rowsOfPage } from './paged.ts';
import { eachMinute } from './polling.ts';
import type { SentFilter } from './property-filters.ts';
import type { DateRange } from './ranges.ts';
import { sideBySide } from './side-by-side.ts';

export type Insight = Schemas['Insight'];

/** Returns what an insight is called: by who has named it, or by what it asks; `otherwise` where it asks nothing. */
export const insightName = ({ name, derived_name }: Pick<Insight, 'name' | 'derived_name'>, otherwise = 'Untitled') =>
  name || derived_name || otherwise;

interface InsightFilter {
  /** A part of a name, description or tag; empty: any. */
  readonly search: string;
  /** Those that were deleted, instead of the others. */
  readonly deleted?: boolean;
}

export function useInsights(project: string, page: number, { search, deleted }: InsightFilter) {
  const query = {
    ...rowsOfPage(page, search),
    ...(deleted ? { deleted } : {}),
  };
  return useQuery({
    queryKey: ['insights', project, query],
    placeholderData: keepPreviousData,
    queryFn: () =>
      answered(api.GET('/api/projects/{project_id}/insights/', { params: { path: { project_id: project }, query } })),
  });
}

export const insightAt = (project: string, id: string): At<Insight> => ({
  queryKey: ['insight', project, id],
  queryFn: () =>
    versioned(
      api.GET('/api/projects/{project_id}/insights/{id}/', {
        params: { path: { project_id: project, id: Number(id) } },
      }),
    ),
});

export const useInsight = (project: string, id: string | undefined) =>
  useQuery({ ...insightAt(project, id ?? ''), enabled: id !== undefined, refetchOnMount: 'always' });

/** The dashboards on which an insight is put, and those from which it is taken. */
interface BoardsChange {
  readonly added: readonly number[];
  readonly removed: readonly number[];
}

/** Returns what makes some dashboards others; undefined: they are the same. */
export function boardsChange(before: readonly number[], after: readonly number[]): BoardsChange | undefined {
  const added = after.filter((id) => !before.includes(id));
  const removed = before.filter((id) => !after.includes(id));
  return added.length + removed.length === 0 ? undefined : { added, removed };
}

/** Returns the dashboards after a change; undefined: none. */
export const changedBoards = (boards: readonly number[], change: BoardsChange | undefined): number[] =>
  change === undefined
    ? [...boards]
    : [...boards.filter((id) => !change.removed.includes(id)), ...change.added.filter((id) => !boards.includes(id))];

/** What is written of an insight; nothing of what stays. */
export type InsightChange = Pick<Schemas['InsightsUpdateRequest'], 'name' | 'query'> & {
  readonly dashboards?: BoardsChange;
};

const patch = (project: string, id: number, body: Schemas['InsightsUpdateRequest'], seen?: Versioned<Insight>) =>
  api.PATCH('/api/projects/{project_id}/insights/{id}/', {
    params: { path: { project_id: project, id }, ...(seen && { header: ifMatch(seen) }) },
    body,
  });

/**
 * Writes a change of the version that was seen. Throws a `Refusal` of status 412 when somebody else was faster. Dashboards
 * take an insight up, and leave it out, without another version: those that are there by now stay.
 */
export async function writeInsight(
  project: string,
  seen: Versioned<Insight>,
  { dashboards, ...fields }: InsightChange,
): Promise<Versioned<Insight>> {
  const now = dashboards === undefined ? undefined : await insightAt(project, String(seen.value.id)).queryFn();
  const boards = now && { dashboards: changedBoards(now.value.dashboards, dashboards) };
  return versioned(patch(project, seen.value.id, { ...fields, ...boards }, seen));
}

/** Deletes an insight, so that it can be brought back; or brings it back. */
export const setInsightDeleted = (project: string, id: number, deleted: boolean): Promise<Insight> =>
  answered(patch(project, id, { deleted }));

const RETRIES = 3;
const RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 30_000;

/** What is asked again, when the service says: where it answers too much at the moment. What else fails is told at once. */
const whileBusy = {
  retry: (failures: number, error: unknown): boolean =>
    failures < RETRIES && error instanceof Refusal && (error.status === 429 || error.status === 503),
  retryDelay: (_: number, error: unknown): number =>
    Math.min((error instanceof Refusal ? error.retryAfterMs : null) ?? RETRY_MS, LONGEST_RETRY_MS),
};

/**
 * Returns what a query answers, computed if it must be, and asked for again each minute; until then what another one has
 * answered, with that query. What cannot be asked yet is not.
 */
export function useAnswer(project: string, query: Schemas['Query'], isAsked: boolean) {
  return useQuery({
    queryKey: ['answer', project, query],
    enabled: isAsked,
    placeholderData: keepPreviousData,
    refetchInterval: eachMinute,
    ...whileBusy,
    queryFn: async ({ signal }) => ({ query, answer: await askQuery(project, query, signal) }),
  });
}

/** A dashboard as its tiles are asked for: with what it keeps, and with what this reader sees instead. */
export interface BoardView {
  readonly project: string;
  readonly id: number;
  readonly filters: Readonly<Record<string, unknown>>;
  /** Dates that the reader has chosen; undefined: those of the dashboard. */
  readonly range: DateRange | undefined;
  /** Filters that the reader has chosen; undefined: those of the dashboard. */
  readonly properties: readonly SentFilter[] | undefined;
}

/** Returns what is said of all insights instead of what the dashboard keeps; undefined: nothing. */
function overrideOf({ filters, range, properties }: BoardView): Readonly<Record<string, unknown>> | undefined {
  if (range === undefined && properties === undefined) return undefined;
  return { ...filters, ...range, ...(properties === undefined ? {} : { properties }) };
}

/** Returns what the dashboard came with: it is from the cache, and may be true no longer. Undefined: nothing for this view. */
export const toldAnswer = (board: BoardView, insight: Schemas['TileInsight']): Answered | undefined =>
  overrideOf(board) === undefined && insight.result != null ? answerOf(insight.result, insight) : undefined;

const isSaid = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : text(value, '') !== '');

/**
 * Returns what of a dashboard a chart does not heed, as people say it: its dates and filters reach HogQL only in the place of
 * `{filters}`, its dates in that of `{filters.dateRange.from}` too. Undefined: nothing that is in force.
 */
export function unheededBy(board: BoardView, query: unknown): string | undefined {
  const source = sourceIn(query);
  if (source['kind'] !== 'HogQLQuery') return undefined;
  const hogql = text(source['query'], '');
  const shown = { ...board.filters, ...overrideOf(board) };
  const areDates = isSaid(shown['date_from']) || isSaid(shown['date_to']);
  const dates = areDates && !/\{\s*filters\b/.test(hogql) ? ['dates'] : [];
  const filters = isSaid(shown['properties']) && !/\{\s*filters\s*\}/.test(hogql) ? ['filters'] : [];
  const unheeded = [...dates, ...filters];
  return unheeded.length === 0 ? undefined : unheeded.join(' and ');
}

/** The service answers few queries of an organization at a time: with more it would refuse those of others. */
const inLine = sideBySide(4);

/** Returns how it is asked what an insight answers on its dashboard. */
export function tileAnswer(board: BoardView, insight: Schemas['TileInsight']) {
  const { project, id, filters } = board;
  const override = overrideOf(board);
  return queryOptions({
    queryKey: ['tile-answer', project, id, filters, override, insight.id, insight.query],
    ...whileBusy,
    staleTime: MINUTE_MS,
    placeholderData: toldAnswer(board, insight),
    queryFn: async ({ signal }) => {
      const ask = () =>
        answered(
          api.GET('/api/projects/{project_id}/insights/{id}/', {
            params: {
              path: { project_id: project, id: insight.id },
              query: {
                refresh: 'blocking',
                from_dashboard: id,
                filters_override: override && JSON.stringify(override),
              },
            },
            signal,
          }),
        );
      // What is answered later takes nobody's place.
      const found = await inLine(ask, signal);
      return whenAnswered(project, found.result, found, signal);
    },
  });
}
