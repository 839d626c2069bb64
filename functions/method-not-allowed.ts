import type { APIGatewayProxyEvent } from 'aws-lambda';
import * as z from 'zod';
import { endpoint, type Handler } from '../lib/api/endpoint.ts';
import { allowedMethods } from '../lib/api/methods.ts';
import type { Context } from '../lib/ports/context.ts';
import { fail } from '../lib/ports/errors.ts';

const NAME = 'method-not-allowed';

/** Answers any other method on a known path: whoever may see what the path names learns which methods it has. */
export const handler =
  (context: Context): Handler =>
  (event: APIGatewayProxyEvent) =>
    endpoint(
      {
        handler: NAME,
        method: 'GET',
        paths: [event.resource],
        scope: 'any',
        summary: '',
        tag: '',
        params: z.object({}),
        status: 200,
      },
      () =>
        fail('method_not_allowed', {
          detail: `Method "${event.httpMethod}" not allowed.`,
          headers: { Allow: allowedMethods(event.resource).join(', ') },
        }),
    )(context)(event);
