import { handler as authorizer } from '../../../functions/authorizer.ts';
import type { Handler } from '../../../lib/api/endpoint.ts';
import { scopeFor } from '../../../lib/api/methods.ts';
import { rowFor, templates } from '../../../lib/api/routes.ts';
import { GATEWAY_RESPONSES } from '../../../lib/http/gateway-responses.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { functionsOf } from '../functions.ts';
import { pathMatcher } from './path-matcher.ts';
import type { Method } from './rest-api.ts';
import { type Gateway, type ServeOptions, serveRestApi } from './server.ts';
import { DEFAULT_RATE_LIMIT, type RateLimit } from './token-bucket.ts';

export interface GatewayOptions extends Omit<ServeOptions, 'clock' | 'log' | 'rateLimit'> {
  readonly context: Context;
  /** Null: none. Default: `DEFAULT_RATE_LIMIT`. */
  readonly rateLimit?: RateLimit | null;
}

const METHOD_NOT_ALLOWED = 'method-not-allowed';

const match = pathMatcher(templates);

/** Serves the rows in this process, each by its function over the context. */
export function startGateway({
  context,
  rateLimit = DEFAULT_RATE_LIMIT,
  ...options
}: GatewayOptions): Promise<Gateway> {
  const functionNamed = functionsOf<Handler>(context);
  return serveRestApi(
    {
      arn: 'arn:aws:execute-api:local:000000000000:local',
      stage: 'local',
      prefixed: false,
      isBinary: false,
      match,
      methodOf: (verb, template) => {
        const row = rowFor(verb, template);
        const name = row?.handler ?? METHOD_NOT_ALLOWED;
        const call: Method['call'] = async (event, callerLeft) => (await functionNamed(name))(event, { callerLeft });
        return { isPublic: row?.scope === 'public', function: name, call };
      },
      authorizer: authorizer(context, scopeFor),
      responses: GATEWAY_RESPONSES,
    },
    { clock: context.clock, log: context.log, rateLimit, ...options },
  );
}
