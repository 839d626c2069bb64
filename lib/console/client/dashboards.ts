/** Dashboards of a project and their tiles. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type At, answered, api, ifMatch, type Schemas, type Versioned, versioned } from './api.ts';
import { rowsOfPage } from './paged.ts';

export type Dashboard = Schemas['DashboardDetail'];
export type Tile = Schemas['Tile'];

/** The privilege of who may edit a dashboard that only collaborators may. */
export const MAY_EDIT = 37;

/** Returns what somebody lacks who sees a dashboard and may not edit it, in a sentence; undefined: they may. */
export const editLack = ({ user_access_level: level, effective_privilege_level: privilege }: Dashboard) =>
  (level === 'editor' || level === 'manager') && privilege >= MAY_EDIT
    ? undefined
    : 'The dashboard is yours to see, not to edit';

interface DashboardFilter {
  readonly search?: string;
  readonly tag?: string;
  readonly pinned?: boolean;
  /** Those that were deleted, instead of the others. */
  readonly deleted?: boolean;
}

export function useDashboards(project: string, page: number, { search, tag, pinned, deleted }: DashboardFilter) {
  const query = {
    ...rowsOfPage(page, search),
    ...(tag === undefined ? {} : { tags: [tag] }),
    ...(pinned ? { pinned } : {}),
    ...(deleted ? { deleted } : {}),
  };
  return useQuery({
    queryKey: ['dashboards', project, query],
    placeholderData: keepPreviousData,
    queryFn: () =>
      answered(api.GET('/api/projects/{project_id}/dashboards/', { params: { path: { project_id: project }, query } })),
  });
}

export const dashboardAt = (project: string, id: string): At<Dashboard> => ({
  queryKey: ['dashboard', project, id],
  queryFn: () =>
    versioned(
      api.GET('/api/projects/{project_id}/dashboards/{id}/', {
        params: { path: { project_id: project, id: Number(id) } },
      }),
    ),
});

export const useDashboard = (project: string, id: string | undefined) =>
  useQuery({ ...dashboardAt(project, id ?? ''), enabled: id !== undefined });

const patch = (project: string, id: number, body: Schemas['DashboardsUpdateRequest'], seen?: Versioned<Dashboard>) =>
  api.PATCH('/api/projects/{project_id}/dashboards/{id}/', {
    params: { path: { project_id: project, id }, ...(seen && { header: ifMatch(seen) }) },
    body,
  });

/** Brings a deleted dashboard back, with its tiles. */
export const restoreDashboard = (project: string, id: number): Promise<Dashboard> =>
  answered(patch(project, id, { deleted: false }));

/** Moves a tile to another dashboard, as it is by then. */
export const moveTile = (project: string, from: number, tile: number, to: number): Promise<unknown> =>
  answered(
    api.PATCH('/api/projects/{project_id}/dashboards/{id}/move_tile/', {
      params: { path: { project_id: project, id: from } },
      body: { tile: { id: tile }, to_dashboard: to },
    }),
  );

/** Puts what a tile shows on another dashboard too, below what is there: the same insight, or a text of its own. */
export function showTile(project: string, { insight, text, color }: Tile, on: number): Promise<unknown> {
  const shown = insight === null ? { text: { body: text?.body ?? '' } } : { insight: insight.id };
  return answered(patch(project, on, { tiles: [{ ...shown, color }] }));
}

/** Copies a tile on its own dashboard, with a copy of its insight, below what is there. */
export const duplicateTile = (project: string, id: number, tile: number): Promise<unknown> =>
  answered(patch(project, id, { duplicate_tiles: [{ id: tile }] }));

/** Writes a change of the version that was seen. Throws a `Refusal` of status 412 when somebody else was faster. */
export const writeDashboard = (
  project: string,
  seen: Versioned<Dashboard>,
  change: Schemas['DashboardsUpdateRequest'],
): Promise<Versioned<Dashboard>> => versioned(patch(project, seen.value.id, change, seen));
