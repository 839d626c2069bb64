import * as z from 'zod';
import { route } from './route.ts';

export const retrieveSchema = route({
  handler: 'schema',
  method: 'GET',
  paths: ['/api/schema'],
  scope: 'public',
  summary: 'Retrieve this document',
  description: 'The whole interface as OpenAPI 3.1, in JSON.',
  tag: 'Reference',
  params: z.object({}),
  query: z.object({ format: z.enum(['json']).optional().describe('JSON is the only one.') }),
  response: z.record(z.string(), z.unknown()),
  status: 200,
});
