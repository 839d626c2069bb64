/** The API as its definition in the template says, in the terms of the server that treats requests as API Gateway does. */
import type { APIGatewayAuthorizerResult, APIGatewayProxyResult } from 'aws-lambda';
import { AUTHORIZER_TTL_MS } from '../../infra/local/gateway/authorizer-cache.ts';
import { pathMatcher } from '../../infra/local/gateway/path-matcher.ts';
import type { Method, RestApi } from '../../infra/local/gateway/rest-api.ts';
import { MIB } from '../../lib/basics/units.ts';
import type { GatewayResponse, GatewayResponseType } from '../../lib/http/gateway-responses.ts';
import { ACCOUNT, type Assembly, PARTITION, REGION } from './assembly.ts';
import type { Lambda } from './lambda.ts';
import type { Permissions } from './permissions.ts';

const ANY = 'x-amazon-apigateway-any-method';
/** The source by which answers of the authorizer are kept; the server knows no other. */
const IDENTITY = 'method.request.header.Authorization, context.httpMethod, context.resourcePath';

interface Definition {
  readonly paths: Readonly<Record<string, Readonly<Record<string, MethodDefinition>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<
      Record<string, { readonly 'x-amazon-apigateway-authorizer': Readonly<Record<string, unknown>> }>
    >;
  };
  readonly 'x-amazon-apigateway-binary-media-types'?: readonly string[];
  readonly 'x-amazon-apigateway-minimum-compression-size'?: number;
  readonly 'x-amazon-apigateway-gateway-responses': Readonly<Record<string, ResponseDefinition>>;
}
interface MethodDefinition {
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly 'x-amazon-apigateway-integration': {
    readonly type: string;
    readonly httpMethod: string;
    readonly uri: string;
    readonly timeoutInMillis: number;
  };
}
interface ResponseDefinition {
  readonly statusCode?: string;
  readonly responseParameters?: Readonly<Record<string, string>>;
  readonly responseTemplates: Readonly<Record<string, string>>;
}

interface ApiOptions {
  readonly assembly: Assembly;
  readonly permissions: Permissions;
  readonly lambda: Lambda;
}

/** Returns the template's REST API, and how long its methods wait for a function, in milliseconds. */
export function apiOf({ assembly, permissions, lambda }: ApiOptions): { api: RestApi; timeoutMs: number } {
  const resource = assembly.theOne('AWS::ApiGateway::RestApi');
  const { StageName: stage } = assembly.theOne('AWS::ApiGateway::Stage').properties;
  const definition = resource.properties['Body'] as Definition;
  const binary = definition['x-amazon-apigateway-binary-media-types'];
  // API Gateway unpacks requests that are as large; the rehearsal's server hands over all as they are sent.
  if (definition['x-amazon-apigateway-minimum-compression-size'] !== 10 * MIB)
    throw new Error('the rehearsal has no gateway that unpacks requests');
  const arn = `arn:${PARTITION}:execute-api:${REGION}:${ACCOUNT}:${resource.ref}`;

  const called = (uri: string): string => {
    const found = /:lambda:path\/2015-03-31\/functions\/(arn:[^/]+)\/invocations$/.exec(uri)?.[1];
    if (found === undefined) throw new Error(`an integration has the address ${uri}`);
    return found;
  };
  const invoke = async (lambdaArn: string, source: string, event: unknown): Promise<unknown> => {
    if (!permissions.mayInvoke(lambdaArn, 'apigateway.amazonaws.com', source))
      throw new Error(`may not invoke ${lambdaArn}`);
    const outcome = await lambda.invoke(lambdaArn, event);
    // An authorizer's `Unauthorized` is such a message.
    if ('failed' in outcome) throw new Error(outcome.failed.errorMessage);
    return JSON.parse(outcome.payload);
  };

  const timeouts = new Set<number>();
  const methods = new Map<string, Method>();
  for (const [template, verbs] of Object.entries(definition.paths)) {
    for (const [verb, method] of Object.entries(verbs)) {
      if (verb === 'parameters') continue;
      const { type, httpMethod, uri, timeoutInMillis } = method['x-amazon-apigateway-integration'];
      if (type !== 'aws_proxy' || httpMethod !== 'POST')
        throw new Error(`${verb} ${template} is no proxy of a function`);
      timeouts.add(timeoutInMillis);
      const lambdaArn = called(uri);
      methods.set(`${verb === ANY ? ANY : verb.toUpperCase()} ${template}`, {
        isPublic: method.security === undefined,
        function: lambdaArn.split(':').at(-1) ?? '',
        call: async (event) =>
          proxyResult(await invoke(lambdaArn, `${arn}/${stage}/${event.httpMethod}${template}`, event)),
      });
    }
  }
  const [timeoutMs = 0, ...others] = timeouts;
  if (others.length > 0) throw new Error('the rehearsal has one time limit for all methods');

  const [scheme, ...schemes] = Object.values(definition.components.securitySchemes);
  const { type, identitySource, authorizerUri, authorizerResultTtlInSeconds } =
    scheme?.['x-amazon-apigateway-authorizer'] ?? {};
  if (
    schemes.length > 0 ||
    type !== 'request' ||
    identitySource !== IDENTITY ||
    authorizerResultTtlInSeconds !== AUTHORIZER_TTL_MS / 1000
  ) {
    throw new Error('the rehearsal does not know this authorizer');
  }

  return {
    timeoutMs,
    api: {
      arn,
      stage,
      prefixed: true,
      isBinary: binary?.includes('*/*') === true,
      match: pathMatcher(Object.keys(definition.paths)),
      methodOf: (verb, template) => {
        const found = methods.get(`${verb} ${template}`) ?? methods.get(`${ANY} ${template}`);
        if (found === undefined) throw new Error(`no method ${verb} of ${template}`);
        return found;
      },
      authorizer: async (event) =>
        (await invoke(called(String(authorizerUri)), `${arn}/authorizers/key`, event)) as APIGatewayAuthorizerResult,
      responses: Object.fromEntries(
        Object.entries(definition['x-amazon-apigateway-gateway-responses']).map(([name, one]) => [
          name,
          responseOf(one),
        ]),
      ) as Record<GatewayResponseType, GatewayResponse>,
    },
  };
}

function responseOf({ statusCode, responseParameters = {}, responseTemplates }: ResponseDefinition): GatewayResponse {
  const headers = Object.entries(responseParameters).map(([name, value]) => {
    const [, header] = /^gatewayresponse\.header\.(.+)$/.exec(name) ?? [];
    const [, text] = /^'(.*)'$/.exec(value) ?? [];
    if (header === undefined || text === undefined) throw new Error(`the rehearsal does not know ${name}: ${value}`);
    return [header, text];
  });
  return {
    status: statusCode === undefined ? null : Number(statusCode),
    headers: Object.fromEntries(headers),
    template: responseTemplates['application/json'] ?? '',
  };
}

/** Returns the answer of a function. Throws when API Gateway would not take it. */
function proxyResult(value: unknown): APIGatewayProxyResult {
  const known = ['statusCode', 'headers', 'multiValueHeaders', 'body', 'isBase64Encoded'];
  const { statusCode, body = '' } = (value ?? {}) as Partial<APIGatewayProxyResult>;
  const isProper =
    Number.isInteger(statusCode) &&
    typeof body === 'string' &&
    Object.keys(value as object).every((name) => known.includes(name));
  if (!isProper) throw new Error('Malformed Lambda proxy response');
  return { ...(value as APIGatewayProxyResult), body };
}
