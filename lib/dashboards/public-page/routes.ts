import * as z from 'zod';
import { route } from '../../http/route.ts';
import { PasswordForm, SharedDashboard, SharedQuery } from './model.ts';

const page = {
  paths: ['/shared/{token}', '/shared_dashboard/{token}', '/embedded/{token}'],
  scope: 'public',
  needs: ['answers', 'pictures'],
  tag: 'Dashboard sharing',
  params: z.object({ token: z.string().regex(/^[\w-]{30}(\.(json|csv|png|pdf))?$/) }),
  query: SharedQuery,
  response: SharedDashboard,
  content: ['text/html', 'text/csv', 'image/png', 'application/pdf'],
} as const;

export const retrieveShared = route({
  ...page,
  handler: 'shared/page',
  method: 'GET',
  summary: 'Show a shared dashboard to anybody',
  description:
    'A page; with `.json` after the token, what it is made from; with `.csv` and `?tile=`, the numbers of a tile. Other ' +
    'sites may show `/embedded/` in a frame. Nothing tells who made the dashboard, what its insights ask, or what else ' +
    'there is. Results come from the cache: a reader waits for none. `.png` and `.pdf` are there where the service has a browser.',
});

export const openShared = route({
  ...page,
  handler: 'shared/open',
  method: 'POST',
  summary: 'Enter the password of a shared dashboard',
  description:
    'Answers with the page, and with a cookie that opens it for twelve hours. Ten tries of an address in five minutes.',
  body: PasswordForm,
  example: { password: 'what the owner has told you' },
  table: 'counts',
});
