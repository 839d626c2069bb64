import type { APIGatewayProxyEvent } from 'aws-lambda';
import * as z from 'zod';
import { endpoint, type Handler } from '../lib/api/endpoint.ts';
import { allowedMethods } from '../lib/api/methods.ts';
import type { Context } from '../lib/ports/context.ts';
import { fail } from '../lib/ports/errors.ts';

const NAME = 'method-not-allowed';

/** Answers any other method on a known path: whoever may see what the path names learns which methods it has. */
export function handler(context: Context): Handler {
  // Each is made once, for each counts the requests of a key.
  const refusals = new Map<string, Handler>();
  return (event: APIGatewayProxyEvent, invocation) => {
    const { httpMethod, resource } = event;
    const called = `${httpMethod} ${resource}`;
    const refusal = refusals.get(called) ?? refusalOf(httpMethod, resource)(context);
    refusals.set(called, refusal);
    return refusal(event, invocation);
  };
}

const refusalOf = (method: string, path: string): ((context: Context) => Handler) =>
  endpoint(
    {
      handler: NAME,
      method: 'GET',
      paths: [path],
      scope: 'any',
      summary: '',
      tag: '',
      params: z.object({}),
      status: 200,
    },
    () =>
      fail('method_not_allowed', {
        detail: `Method "${method}" not allowed.`,
        headers: { Allow: allowedMethods(path).join(', ') },
      }),
  );
