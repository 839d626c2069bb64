import * as z from 'zod';
import { integer } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { QueryAnswer, QueryInput, QueryStatusAnswer } from './model.ts';

const tag = 'Queries';
const needs = ['answers'] as const;
const scope = 'query:read';
const inProject = z.object({ project_id: integer() });
const ofRun = z.object({ project_id: integer(), id: z.string().max(200) });

export const createQuery = route({
  handler: 'query/create',
  method: 'POST',
  paths: ['/api/projects/{project_id}/query'],
  scope,
  tag,
  needs,
  table: 'read',
  params: inProject,
  summary: 'Ask a query',
  description:
    'Answers at once from the cache while its answer is true: until an event comes that it is about, or its relative ' +
    'dates mean another time. `InsightVizNode`, `DataTableNode` and `DataVisualizationNode` are answered as their ' +
    '`source`. It creates nothing.',
  body: QueryInput,
  example: { query: { kind: 'HogQLQuery', query: 'SELECT event, count() FROM events GROUP BY event' } },
  response: QueryAnswer,
  orAccepted: true,
});

export const retrieveQuery = route({
  handler: 'query/retrieve',
  method: 'GET',
  paths: ['/api/projects/{project_id}/query/{id}'],
  scope,
  tag,
  needs,
  params: ofRun,
  summary: 'Retrieve the status of a query',
  description: '202 while it is answered, then its answer as `results`, for a quarter of an hour.',
  response: QueryStatusAnswer,
  orAccepted: true,
});

export const destroyQuery = route({
  handler: 'query/destroy',
  method: 'DELETE',
  paths: ['/api/projects/{project_id}/query/{id}'],
  scope,
  tag,
  needs,
  table: 'read',
  params: ofRun,
  summary: 'Cancel a query',
  response: z.object({ message: z.string() }),
});
