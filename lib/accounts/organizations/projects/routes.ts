import * as z from 'zod';
import { integer, uuid } from '../../../http/fields.ts';
import { LEVELS } from '../../../http/levels.ts';
import { pageOf, route } from '../../../http/route.ts';
import { Project, ProjectInput, TokenReset } from './model.ts';

const tag = 'Projects';
const read = { method: 'GET', scope: 'project:read', tag } as const;
const write = { scope: 'project:write', tag } as const;
const all = {
  paths: ['/api/organizations/{organization_id}/projects'],
  params: z.object({ organization_id: uuid() }),
} as const;
/** A project has two addresses; PostHog's Terraform provider uses the second. */
const one = {
  paths: ['/api/projects/{project_id}', '/api/organizations/{organization_id}/projects/{project_id}'],
  params: z.object({ organization_id: uuid().optional(), project_id: integer() }),
} as const;

/** What PostHog's projects do with events, in browsers and in queries. */
const UNSUPPORTED = {
  access_control: null,
  person_processing_opt_out: null,
  cookieless_server_hash_mode: null,
  path_cleaning_filters: null,
  primary_dashboard: null,
  app_urls: null,
  recording_domains: null,
  autocapture_opt_out: null,
  autocapture_exceptions_opt_in: null,
  autocapture_web_vitals_opt_in: null,
  capture_console_log_opt_in: true,
  capture_dead_clicks: null,
  capture_performance_opt_in: true,
  heatmaps_opt_in: null,
  session_recording_opt_in: null,
  session_recording_network_payload_capture_config: null,
  surveys_opt_in: null,
  modifiers: null,
  test_account_filters_default_checked: null,
  drop_events_older_than: null,
  base_currency: 'USD',
  human_friendly_comparison_periods: null,
  person_display_name_properties: null,
} as const;

export const listProjects = route({
  ...read,
  ...all,
  handler: 'projects/list',
  paths: [...all.paths, '/api/projects'],
  isOfCurrent: true,
  summary: 'List projects',
  description:
    "The organization's, oldest first. Where none is named, those of the current one, `@current`, and of these what the " +
    'key opens.',
  response: pageOf(Project),
  paging: { kind: 'offset' },
});

export const createProject = route({
  ...write,
  ...all,
  handler: 'projects/create',
  method: 'POST',
  level: LEVELS.admin,
  summary: 'Create a project',
  description: 'For admins and owners. Without a name it is a "Default project".',
  body: ProjectInput,
  example: { name: 'Mobile app' },
  unsupported: UNSUPPORTED,
  response: Project,
  status: 201,
  idempotent: true,
});

export const retrieveProject = route({
  ...read,
  ...one,
  handler: 'projects/retrieve',
  summary: 'Retrieve a project',
  response: Project,
});

export const updateProject = route({
  ...write,
  ...one,
  handler: 'projects/update',
  method: 'PATCH',
  summary: 'Change a project',
  description: 'Answers to queries follow its time zone, week start and test accounts at once; exports stay in UTC.',
  body: ProjectInput,
  example: { name: 'Web and mobile' },
  unsupported: UNSUPPORTED,
  response: Project,
});

const reset = {
  ...write,
  paths: ['/api/projects/{project_id}/reset_token'],
  params: z.object({ project_id: integer() }),
  level: LEVELS.admin,
  body: TokenReset,
  example: { keep_old_for_a_day: true },
  response: Project,
} as const;

export const resetProjectToken = route({
  ...reset,
  handler: 'projects/reset-token',
  method: 'POST',
  summary: "Reset a project's token",
  description:
    'For admins and owners. The project gets another `api_token`. All before end at once, or, if ' +
    '`keep_old_for_a_day` is true, each a day after it was reset; what takes events knows of it at most a minute later.',
});

export const patchProjectToken = route({
  ...reset,
  handler: 'projects/patch-token',
  method: 'PATCH',
  summary: "Reset a project's token, as PostHog's clients do",
  description: 'The same as POST.',
});

export const destroyProject = route({
  ...write,
  ...one,
  handler: 'projects/destroy',
  method: 'DELETE',
  level: LEVELS.admin,
  summary: 'Delete a project',
  description:
    'For admins and owners. It is gone at once; its exports are stopped and its records removed in the background. ' +
    'The last one may go.',
  status: 204,
});
