/** Batch exports of a project, their runs, logs and backfills. */
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import type { paths } from '../../../build/types/api.d.ts';
import { HOUR_MS } from '../../basics/units.ts';
import { LENGTH } from '../../lake/intervals.ts';
import { type At, answered, api, cursorOf, ifMatch, Refusal, type Schemas, type Versioned, versioned } from './api.ts';
import { rowsOfPage, useLong, usePaged } from './paged.ts';
import { live, polled } from './polling.ts';

export type BatchExport = Schemas['BatchExport'];
export type Run = Schemas['BatchExportRunDetail'];
export type Backfill = Schemas['BatchExportBackfill'];

const RUNS_PAGE = 50;
const LOG_PAGE = 200;

/** Is a run or a backfill still under way? */
export const isOpen = ({ status }: { readonly status: Run['status'] }): boolean =>
  status === 'Starting' || status === 'Running';

export function useExports(project: string, page: number, search: string) {
  const query = rowsOfPage(page, search);
  return useQuery({
    queryKey: ['exports', project, query],
    placeholderData: keepPreviousData,
    refetchInterval: live,
    queryFn: () =>
      answered(
        api.GET('/api/projects/{project_id}/batch_exports/', { params: { path: { project_id: project }, query } }),
      ),
  });
}

export const exportAt = (project: string, id: string): At<BatchExport> => ({
  queryKey: ['export', project, id],
  queryFn: () =>
    versioned(
      api.GET('/api/projects/{project_id}/batch_exports/{id}/', { params: { path: { project_id: project, id } } }),
    ),
});

/** Writes a change of the version that was seen. Throws a `Refusal` of status 412 when somebody else was faster. */
export const writeExport = (
  project: string,
  seen: Versioned<BatchExport>,
  change: Schemas['BatchExportPatch'],
): Promise<Versioned<BatchExport>> =>
  versioned(
    api.PATCH('/api/projects/{project_id}/batch_exports/{id}/', {
      params: { path: { project_id: project, id: seen.value.id }, header: ifMatch(seen) },
      body: change,
    }),
  );

/**
 * Returns the steps by which destinations of these types are tested (undefined: this service has none of the type), and why
 * it is not known which types there are.
 */
export function useDestinationTests(project: string, types: readonly string[]) {
  const found = useQueries({
    queries: types.map((type) => ({
      queryKey: ['destination', project, type],
      staleTime: HOUR_MS,
      retry: false,
      queryFn: () =>
        answered(
          api.GET('/api/projects/{project_id}/batch_exports/test/', {
            params: { path: { project_id: project }, query: { destination: type } },
          }),
        ),
    })),
  });
  return {
    isPending: found.some(({ isPending }) => isPending),
    error: found.map(({ error }) => error).find((error) => error !== null && !isOfType(error)) ?? null,
    steps: (type: string) => found[types.indexOf(type)]?.data?.steps,
  };
}

/** Is it a refusal of a type that this service does not have? */
const isOfType = (error: Error): boolean => error instanceof Refusal && error.status === 400;

/** Backfills deliver the past, however long ago it was. */
const BEGINNING = '1970-01-01T00:00:00Z';

type RunsQuery = NonNullable<
  paths['/api/projects/{project_id}/batch_exports/{id}/runs/']['get']['parameters']['query']
>;

/** Returns a page of the runs of an export. */
const readRuns = (project: string, id: string, query: RunsQuery) =>
  answered(
    api.GET('/api/projects/{project_id}/batch_exports/{id}/runs/', {
      params: { path: { project_id: project, id }, query },
    }),
  );

interface RunFilter {
  /** Absent: of any state. */
  readonly status: Run['status'] | undefined;
  /** `-7d`. */
  readonly since: string;
}

export function useRuns(project: string, id: string, { status, since }: RunFilter) {
  const query = { limit: RUNS_PAGE, start: BEGINNING, after: since, status: status && [status] };
  return usePaged<Run>({
    key: ['runs', project, id, status, since],
    isLive: () => true,
    read: (cursor) => readRuns(project, id, { ...query, ...cursor }),
  });
}

/** As many runs stand on the longest page. */
const LONG_PAGE = 100;
/** So many pages tell of a strip; what a month of hours needs, and some more for what ran again. */
const STRIP_PAGES = 10;
const SLOWLY_MS = 30_000;

interface RunsBetween {
  /** The newest interval first. */
  readonly runs: readonly Run[];
  /** Whether that are all. */
  readonly isWhole: boolean;
}

/** Returns the runs of the intervals between two instants, milliseconds since 1970. */
export function useRunsBetween(project: string, id: string, from: number, to: number) {
  const query = {
    limit: LONG_PAGE,
    ordering: '-data_interval_start',
    start: new Date(from).toISOString(),
    end: new Date(to).toISOString(),
  } as const;
  const read = async (before: readonly Run[] = [], cursor?: string): Promise<RunsBetween> => {
    const page = await readRuns(project, id, { ...query, cursor });
    const runs = [...before, ...page.results];
    const next = cursorOf(page.next);
    return next === undefined || runs.length >= STRIP_PAGES * LONG_PAGE
      ? { runs, isWhole: next === undefined }
      : read(runs, next);
  };
  return useQuery({
    queryKey: ['runs', project, id, 'between', from, to],
    refetchInterval: (asked) => ((asked.state.data?.runs.length ?? 0) > LONG_PAGE ? SLOWLY_MS : live(asked)),
    queryFn: () => read(),
  });
}

/** Returns a run, again and again while it is open; undefined asks for none. */
export function useRun(project: string, id: string, run: string | undefined) {
  return useQuery({
    queryKey: ['runs', project, id, 'one', run],
    enabled: run !== undefined,
    refetchInterval: polled<Run>(isOpen),
    queryFn: () =>
      answered(
        api.GET('/api/projects/{project_id}/batch_exports/{id}/runs/{run_id}/', {
          params: { path: { project_id: project, id, run_id: run ?? '' } },
        }),
      ),
  });
}

/** Returns the end of the newest interval that these runs have delivered; undefined: none has. */
const deliveredUntil = (runs: readonly Pick<Run, 'status' | 'data_interval_end'>[]): string | undefined =>
  runs
    .filter(({ status }) => status === 'Completed')
    .map(({ data_interval_end: end }) => end)
    .toSorted()
    .at(-1);

/** How far an export has come. */
interface Lag {
  /** The end of the newest interval that was delivered. */
  readonly until: string;
  /** How many intervals of the schedule have ended since; what was before the export is for backfills. */
  readonly behind: number;
}

function lagOf({ interval, created_at, start_at, end_at }: BatchExport, until: string): Lag {
  const from = Math.max(...[until, created_at, start_at ?? created_at].map((at) => Date.parse(at)));
  const now = Math.min(Date.now(), end_at === null ? Number.POSITIVE_INFINITY : Date.parse(end_at));
  return { until, behind: Math.max(0, Math.floor((now - from) / LENGTH[interval])) };
}

/**
 * Returns how far an export has come; null: nothing was delivered yet, undefined: not known yet. Its latest runs tell it,
 * unless they are those of a backfill: then the newest interval is asked for, once for each change.
 */
export function useLag(project: string, one: BatchExport): Lag | null | undefined {
  const latest = one.latest_runs[0];
  const known = deliveredUntil(one.latest_runs);
  const lag = known === undefined ? undefined : lagOf(one, known);
  const { data } = useQuery({
    queryKey: ['delivered', project, one.id, latest?.id, latest?.status],
    enabled: latest !== undefined && (lag === undefined || lag.behind > 0),
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const { results } = await readRuns(project, one.id, {
        limit: 1,
        ordering: '-data_interval_start',
        status: ['Completed'],
        start: BEGINNING,
        after: BEGINNING,
      });
      return deliveredUntil(results) ?? null;
    },
  });
  if (latest === undefined) return null;
  if (lag?.behind === 0) return lag;
  return data == null ? data : lagOf(one, data);
}

export function useBackfills(project: string, id: string) {
  return usePaged<Backfill>({
    key: ['backfills', project, id],
    isLive: (rows) => rows.some(isOpen),
    read: (query) =>
      answered(
        api.GET('/api/projects/{project_id}/batch_exports/{id}/backfills/', {
          params: { path: { project_id: project, id }, query },
        }),
      ),
  });
}

interface LogFilter {
  readonly level: Schemas['BatchExportLogEntry']['level'] | undefined;
  readonly search: string;
  readonly follow: boolean;
}

/**
 * Returns the lines of an export's log, of one run when it is named: the newest, then older ones. Lines that are written
 * while somebody reads on are after those that they began with, and move none of them.
 */
export function useLogs(project: string, id: string, run: string | undefined, { level, search, follow }: LogFilter) {
  const filter = {
    limit: LOG_PAGE,
    level: level && [level],
    ...(search === '' ? {} : { search }),
  };
  return useLong<Schemas['BatchExportLogEntry'], { readonly offset: number; readonly before: string }>({
    key: ['logs', project, id, run, level, search],
    isLive: () => follow,
    nextOf: (pages) => {
      const [newest] = pages[0]?.results ?? [];
      if (newest === undefined || pages.at(-1)?.next === null) return undefined;
      const before = new Date(Date.parse(newest.timestamp) + 1).toISOString();
      return { offset: pages.length * LOG_PAGE, before };
    },
    read: (place) => {
      const query = { ...filter, ...place };
      return run === undefined
        ? answered(
            api.GET('/api/projects/{project_id}/batch_exports/{id}/logs/', {
              params: { path: { project_id: project, id }, query },
            }),
          )
        : answered(
            api.GET('/api/projects/{project_id}/batch_exports/{id}/runs/{run_id}/logs/', {
              params: { path: { project_id: project, id, run_id: run }, query },
            }),
          );
    },
  });
}
