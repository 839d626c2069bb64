import * as z from 'zod';
import { integer } from '../http/fields.ts';
import { pageOf, route } from '../http/route.ts';
import { ResultQuery } from '../insights/model.ts';
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
const read = { method: 'GET', scope: 'dashboard:read', tag } as const;
const write = { scope: 'dashboard:write', tag } as const;
const inProject = z.object({ project_id: integer() });
const ofDashboard = z.object({ project_id: integer(), id: integer() });
const all = { paths: ['/api/projects/{project_id}/dashboards'], params: inProject } as const;
const one = { paths: ['/api/projects/{project_id}/dashboards/{id}'], params: ofDashboard } as const;

const UNSUPPORTED = {
  _create_in_folder: null,
  breakdown_colors: null,
  data_color_theme_id: null,
  quick_filter_ids: null,
  'tiles.filters_overrides': null,
  'tiles.transparent_background': null,
  'tiles.button_tile': null,
} as const;

export const listDashboards = route({
  ...read,
  ...all,
  handler: 'dashboards/list',
  summary: 'List dashboards',
  description:
    'Those that the caller may see, pinned ones first, then by name. With `deleted: true` those that are deleted instead.',
  query: DashboardQuery,
  response: pageOf(Dashboard),
  paging: { kind: 'offset' },
});

export const createDashboard = route({
  ...write,
  ...all,
  handler: 'dashboards/create',
  method: 'POST',
  needs: ['answers'],
  summary: 'Create a dashboard',
  description:
    'Empty, with the `tiles` that are sent, from a template, or with the tiles of another dashboard of the project ' +
    '(`use_dashboard`).',
  body: DashboardInput,
  example: { name: 'Growth', tags: ['weekly'], tiles: [{ text: { body: 'What we look at on **Mondays**.' } }] },
  unsupported: UNSUPPORTED,
  response: DashboardDetail,
  status: 201,
  idempotent: true,
});

export const retrieveDashboard = route({
  ...read,
  ...one,
  handler: 'dashboards/retrieve',
  summary: 'Retrieve a dashboard',
  description: 'Without `refresh` the answers of its insights are the cached ones, where there are any.',
  needs: ['answers'],
  query: ResultQuery,
  response: DashboardDetail,
});

export const updateDashboard = route({
  ...write,
  ...one,
  handler: 'dashboards/update',
  method: 'PATCH',
  needs: ['answers'],
  summary: 'Change a dashboard',
  description:
    'Fields that are not sent stay. `deleted: true` deletes softly, `deleted: false` brings back with all tiles. In ' +
    '`tiles`, an item without `id` is a new tile, one with `id` changes that tile or, with `deleted`, takes it away. ' +
    '`duplicate_tiles` copies tiles of it.',
  body: DashboardPatch,
  example: { description: 'Numbers of the week', pinned: true },
  unsupported: UNSUPPORTED,
  response: DashboardDetail,
});

export const destroyDashboard = route({
  ...write,
  handler: 'dashboards/destroy',
  method: 'DELETE',
  paths: one.paths,
  summary: 'Refused: dashboards are deleted softly',
  description: 'Always 405, without a body. A dashboard is removed by PATCH with `deleted: true`.',
  params: z.object({ project_id: integer(), id: z.string() }),
  status: 405,
});

export const moveTile = route({
  ...write,
  handler: 'dashboards/move-tile',
  method: 'PATCH',
  paths: ['/api/projects/{project_id}/dashboards/{id}/move_tile'],
  summary: 'Move a tile to another dashboard',
  description: 'Of the same project; the caller must be allowed to edit both.',
  params: ofDashboard,
  body: TileMove,
});

export const createFromTemplate = route({
  ...write,
  handler: 'dashboards/create-from-template-json',
  method: 'POST',
  needs: ['answers'],
  paths: ['/api/projects/{project_id}/dashboards/create_from_template_json'],
  summary: 'Create a dashboard from a template of your own',
  params: inProject,
  body: TemplateInput,
  example: {
    template: {
      template_name: 'Growth',
      dashboard_description: 'Numbers of the week',
      dashboard_filters: {},
      tiles: [{ type: 'INSIGHT', name: 'Visitors', query: { kind: 'TrendsQuery', series: [{ event: '$pageview' }] } }],
    },
  },
  response: DashboardDetail,
  idempotent: true,
});
