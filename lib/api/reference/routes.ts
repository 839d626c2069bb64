import * as z from 'zod';
import { route } from '../../http/route.ts';

const read = { method: 'GET', scope: 'public', tag: 'Reference', table: 'none' } as const;

export const retrieveSchema = route({
  ...read,
  handler: 'schema',
  paths: ['/api/schema'],
  summary: 'Retrieve this document',
  description: 'The whole interface as OpenAPI 3.1, in JSON.',
  params: z.object({}),
  query: z.object({ format: z.enum(['json']).optional().describe('JSON is the only one.') }),
  response: z.record(z.string(), z.unknown()),
});

export const retrieveReference = route({
  ...read,
  handler: 'reference/page',
  paths: ['/api/schema/docs'],
  summary: 'Show this document to a person',
  description: 'A page in which operations can be looked up and tried.',
  params: z.object({}),
  content: ['text/html'],
});

export const retrieveReferenceFile = route({
  ...read,
  handler: 'reference/file',
  paths: ['/api/schema/docs/{file}'],
  summary: 'Retrieve a file of the reference page',
  params: z.object({ file: z.enum(['swagger-ui.css', 'swagger-ui-bundle.js']) }),
  content: ['text/css', 'text/javascript'],
});
