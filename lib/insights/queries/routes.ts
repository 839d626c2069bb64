import * as z from 'zod';
import { integer } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { QueryAnswer, QueryInput, QueryStatusAnswer } from './model.ts';

const asking = { scope: 'query:read', tag: 'Queries', needs: ['answers'] } as const;
const one = {
  paths: ['/api/projects/{project_id}/query/{id}'],
  params: z.object({ project_id: integer(), id: z.string().max(200) }),
} as const;

export const createQuery = route({
  ...asking,
  handler: 'query/create',
  method: 'POST',
  paths: ['/api/projects/{project_id}/query'],
  table: 'read',
  params: z.object({ project_id: integer() }),
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
  ...asking,
  ...one,
  handler: 'query/retrieve',
  method: 'GET',
  summary: 'Retrieve the status of a query',
  description: '202 while it is answered, then its answer as `results`, for a quarter of an hour.',
  response: QueryStatusAnswer,
  orAccepted: true,
});

export const destroyQuery = route({
  ...asking,
  ...one,
  handler: 'query/destroy',
  method: 'DELETE',
  table: 'read',
  summary: 'Cancel a query',
  response: z.object({ message: z.string() }),
});
