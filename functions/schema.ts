import { endpoint } from '../lib/api/endpoint.ts';
import { documentText } from '../lib/api/reference/document-text.ts';
import { retrieveSchema } from '../lib/api/reference/routes.ts';
import { ContentAnswer } from '../lib/http/answer.ts';

/** The prefix that a stage adds to every path. */
const prefixIn = (url: string): string => new URL(url).pathname.replace(/\/api\/schema\/?$/, '');

export const handler = endpoint(
  retrieveSchema,
  ({ paging }) => new ContentAnswer(documentText(prefixIn(paging.url)), 'application/json'),
);
