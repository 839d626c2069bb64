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

export const openConsoleLink = route({
  ...read,
  handler: 'console/link',
  paths: ['/project/{project}/{page}/{id}'],
  summary: 'Open in the console what a client links to',
  description:
    "PostHog's clients make links of an address and a name, such as `/project/1/insights/i0000009` and `/project/1/dashboard/3`.",
  params: z.object({
    project: z.string().regex(/^[1-9]\d*$/),
    page: z.enum(['insights', 'dashboard']),
    id: z
      .string()
      .regex(/^(?:[1-9]\d*|i[0-9a-z]{7,10})$/)
      .describe('The number of a dashboard, or the short id or number of an insight.'),
  }),
  content: ['text/html'],
});
