import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { handler as authorizer } from '../../functions/authorizer.ts';
import { scopeFor } from '../../lib/api/methods.ts';
import { rowFor, templates } from '../../lib/api/routes.ts';
import { GATEWAY_RESPONSES } from '../../lib/http/gateway-responses.ts';
import type { Context } from '../../lib/ports/context.ts';
import { type Gateway, type GatewayLimits, serveRestApi } from './rest-api.ts';
import { DEFAULT_RATE_LIMIT, type RateLimit } from './token-bucket.ts';

export type { Gateway };

export interface GatewayOptions {
  readonly context: Context;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Null: none. Default: `DEFAULT_RATE_LIMIT`. */
  readonly rateLimit?: RateLimit | null;
  readonly limits?: Partial<GatewayLimits>;
}

type Handler = (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>;

const METHOD_NOT_ALLOWED = 'method-not-allowed';

/** Serves the rows in this process, each by its function over the context. */
export function startGateway({
  context,
  rateLimit = DEFAULT_RATE_LIMIT,
  ...options
}: GatewayOptions): Promise<Gateway> {
  const functionNamed = functionsOf(context);
  return serveRestApi(
    {
      arn: 'arn:aws:execute-api:local:000000000000:local',
      stage: 'local',
      prefixed: false,
      templates,
      methodOf: (verb, template) => {
        const row = rowFor(verb, template);
        const name = row?.handler ?? METHOD_NOT_ALLOWED;
        const call = async (event: APIGatewayProxyEvent) => (await functionNamed(name))(event);
        return { isPublic: row?.scope === 'public', function: name, call };
      },
      authorizer: authorizer(context, scopeFor),
      responses: GATEWAY_RESPONSES,
    },
    { clock: context.clock, log: context.log, rateLimit, ...options },
  );
}

/** The function of a row, loaded when it is first needed and bound to the context once. */
function functionsOf(context: Context): (name: string) => Promise<Handler> {
  const bound = new Map<string, Promise<Handler>>();
  return (name) => {
    const known = bound.get(name);
    if (known !== undefined) return known;
    const loading = import(`../../functions/${name}.ts`).then((module: { handler: (context: Context) => Handler }) =>
      module.handler(context),
    );
    bound.set(name, loading);
    loading.catch(() => bound.delete(name));
    return loading;
  };
}
