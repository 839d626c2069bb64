import * as z from 'zod';
import { route } from '../../http/route.ts';
import { SharedDashboard, SharedQuery } from './model.ts';

export const retrieveShared = route({
  handler: 'shared/page',
  method: 'GET',
  paths: ['/shared/{token}', '/shared_dashboard/{token}', '/embedded/{token}'],
  scope: 'public',
  summary: 'Show a shared dashboard to anybody',
  description:
    'A page; with `.json` after the token, what it is made from. Other sites may show `/embedded/` in a frame. ' +
    'Nothing tells who made the dashboard, or what else there is.',
  tag: 'Dashboard sharing',
  params: z.object({ token: z.string().regex(/^[\w-]{30}(\.json)?$/) }),
  query: SharedQuery,
  response: SharedDashboard,
  content: ['text/html'],
});
