import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import { authorize, type ScopeLookup } from '../lib/api/authorize.ts';
import { toContext } from '../lib/http/credentials.ts';
import { headerOf } from '../lib/http/header.ts';
import type { Context } from '../lib/ports/context.ts';

/**
 * Returns the REQUEST authorizer of every route that needs a key. Its answer is valid for this header, method and route
 * template, by which the gateway keeps it. `Unauthorized` is the word that API Gateway answers with 401; a refusal
 * carries `detail`, which the gateway response writes into its body.
 */
export const handler =
  (context: Pick<Context, 'table' | 'clock' | 'log' | 'metrics'>, scopeFor: ScopeLookup) =>
  async (event: APIGatewayRequestAuthorizerEvent): Promise<APIGatewayAuthorizerResult> => {
    const decision = await authorize(context, scopeFor, {
      authorization: headerOf(event.headers, 'authorization'),
      method: event.httpMethod,
      template: event.resource,
    });
    if (decision.kind === 'unauthorized') {
      context.metrics.record({ KeysRefused: 1 });
      throw new Error('Unauthorized');
    }
    return decision.kind === 'allow'
      ? {
          principalId: decision.credentials.userId,
          policyDocument: policy('Allow', event.methodArn),
          context: { ...toContext(decision.credentials) },
        }
      : {
          principalId: decision.keyId,
          policyDocument: policy('Deny', event.methodArn),
          context: { detail: decision.detail },
        };
  };

/**
 * Returns the policy for every path of the API, for one method: the answer is kept for the route template, and other
 * paths of the same template must find it valid. `arn:aws:execute-api:region:account:api/stage/METHOD/path`, where the
 * first three of the slashes' parts are kept.
 */
function policy(Effect: 'Allow' | 'Deny', methodArn: string): APIGatewayAuthorizerResult['policyDocument'] {
  const [api, stage, method] = methodArn.split('/');
  return {
    Version: '2012-10-17',
    Statement: [{ Action: 'execute-api:Invoke', Effect, Resource: `${api}/${stage}/${method}/*` }],
  };
}
