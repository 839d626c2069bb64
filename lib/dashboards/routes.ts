import * as z from 'zod';
import { integer } from '../http/fields.ts';
import { pageOf, route } from '../http/route.ts';
import {
  Dashboard,
  DashboardDetail,
  DashboardInput,
  DashboardPatch,
  DashboardQuery,
  TemplateInput,
  TileMove,
} from './model.ts';

const tag = 'Dashboards';
const all = ['/api/projects/{project_id}/dashboards'] as const;
const one = ['/api/projects/{project_id}/dashboards/{id}'] as const;
const inProject = z.object({ project_id: z.string() });
const ofDashboard = z.object({ project_id: z.string(), id: integer() });

export const listDashboards = route({
  handler: 'dashboards/list',
  method: 'GET',
  paths: all,
  scope: 'dashboard:read',
  summary: 'List dashboards',
  description: 'Those that the caller may see and that are not deleted; pinned ones first, then by name.',
  tag,
  params: inProject,
  query: DashboardQuery,
  response: pageOf(Dashboard),
  paging: { kind: 'offset' },
  status: 200,
});

export const createDashboard = route({
  handler: 'dashboards/create',
  method: 'POST',
  paths: all,
  scope: 'dashboard:write',
  summary: 'Create a dashboard',
  description:
    'Empty, with the `tiles` that are sent, from a template, or with the tiles of another dashboard of the project ' +
    '(`use_dashboard`).',
  tag,
  params: inProject,
  body: DashboardInput,
  response: DashboardDetail,
  status: 201,
  idempotent: true,
});

export const retrieveDashboard = route({
  handler: 'dashboards/retrieve',
  method: 'GET',
  paths: one,
  scope: 'dashboard:read',
  summary: 'Retrieve a dashboard',
  tag,
  params: ofDashboard,
  response: DashboardDetail,
  status: 200,
});

export const updateDashboard = route({
  handler: 'dashboards/update',
  method: 'PATCH',
  paths: one,
  scope: 'dashboard:write',
  summary: 'Change a dashboard',
  description:
    'Fields that are not sent stay. `deleted: true` deletes softly, `deleted: false` brings back with all tiles. In ' +
    '`tiles`, an item without `id` is a new tile, one with `id` changes that tile or, with `deleted`, takes it away.',
  tag,
  params: ofDashboard,
  body: DashboardPatch,
  response: DashboardDetail,
  status: 200,
});

export const destroyDashboard = route({
  handler: 'dashboards/destroy',
  method: 'DELETE',
  paths: one,
  scope: 'dashboard:write',
  summary: 'Refused: dashboards are deleted softly',
  description: 'Always 405, without a body. A dashboard is removed by PATCH with `deleted: true`.',
  tag,
  params: z.object({ project_id: z.string(), id: z.string() }),
  status: 405,
});

export const moveTile = route({
  handler: 'dashboards/move-tile',
  method: 'PATCH',
  paths: ['/api/projects/{project_id}/dashboards/{id}/move_tile'],
  scope: 'dashboard:write',
  summary: 'Move a tile to another dashboard',
  description: 'Of the same project; the caller must be allowed to edit both.',
  tag,
  params: ofDashboard,
  body: TileMove,
  status: 200,
});

export const createFromTemplate = route({
  handler: 'dashboards/create-from-template-json',
  method: 'POST',
  paths: ['/api/projects/{project_id}/dashboards/create_from_template_json'],
  scope: 'dashboard:write',
  summary: 'Create a dashboard from a template of your own',
  tag,
  params: inProject,
  body: TemplateInput,
  response: DashboardDetail,
  status: 200,
  idempotent: true,
});
