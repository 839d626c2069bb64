import * as z from 'zod';
import { integer } from '../http/fields.ts';
import { pageOf, route } from '../http/route.ts';
import { Insight, InsightInput, InsightPatch } from './model.ts';

const tag = 'Insights';
const all = ['/api/projects/{project_id}/insights'] as const;
const one = ['/api/projects/{project_id}/insights/{id}'] as const;
const inProject = z.object({ project_id: z.string() });
const ofInsight = z.object({ project_id: z.string(), id: integer() });

export const listInsights = route({
  handler: 'insights/list',
  method: 'GET',
  paths: all,
  scope: 'insight:read',
  summary: 'List insights',
  description: 'Newest first, without those that are deleted.',
  tag,
  params: inProject,
  response: pageOf(Insight),
  paging: { kind: 'offset' },
  status: 200,
});

export const createInsight = route({
  handler: 'insights/create',
  method: 'POST',
  paths: all,
  scope: 'insight:write',
  summary: 'Create an insight',
  description: 'A saved question, with a tile on each of `dashboards`. It is shown, not asked.',
  tag,
  params: inProject,
  body: InsightInput,
  response: Insight,
  status: 201,
  idempotent: true,
});

export const retrieveInsight = route({
  handler: 'insights/retrieve',
  method: 'GET',
  paths: one,
  scope: 'insight:read',
  summary: 'Retrieve an insight',
  tag,
  params: ofInsight,
  response: Insight,
  status: 200,
});

export const updateInsight = route({
  handler: 'insights/update',
  method: 'PATCH',
  paths: one,
  scope: 'insight:write',
  summary: 'Change an insight',
  description:
    'Fields that are not sent stay. `dashboards` is the whole list: the insight gets a tile where it has none, and ' +
    'loses those elsewhere. `deleted: true` deletes softly, `deleted: false` brings back.',
  tag,
  params: ofInsight,
  body: InsightPatch,
  response: Insight,
  status: 200,
});
