import * as z from 'zod';
import { route } from '../http/route.ts';

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

export const retrieveReference = route({
  handler: 'reference/page',
  method: 'GET',
  paths: ['/api/schema/docs'],
  scope: 'public',
  summary: 'Show this document to a person',
  description: 'A page in which operations can be looked up and tried.',
  tag: 'Reference',
  params: z.object({}),
  content: ['text/html'],
  status: 200,
});

export const retrieveReferenceFile = route({
  handler: 'reference/file',
  method: 'GET',
  paths: ['/api/schema/docs/{file}'],
  scope: 'public',
  summary: 'Retrieve a file of the reference page',
  tag: 'Reference',
  params: z.object({ file: z.enum(['swagger-ui.css', 'swagger-ui-bundle.js']) }),
  content: ['text/css', 'text/javascript'],
  status: 200,
});
