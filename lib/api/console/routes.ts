import * as z from 'zod';
import { route } from '../../http/route.ts';

const read = { method: 'GET', scope: 'public', tag: 'Console', table: 'none' } as const;

export const retrieveConsole = route({
  ...read,
  handler: 'console/page',
  paths: ['/'],
  summary: 'Show the console to a person',
  description: 'A page that does with a key what the API can do. What it shows stands in the fragment of its address.',
  params: z.object({}),
  content: ['text/html'],
});

export const retrieveConsoleFile = route({
  ...read,
  handler: 'console/file',
  paths: ['/console/{file}'],
  summary: 'Retrieve a file of the console',
  params: z.object({ file: z.string().regex(/^[\w-]+\.(js|css)$/, 'Name a file that the page names.') }),
  content: ['text/css', 'text/javascript'],
});
