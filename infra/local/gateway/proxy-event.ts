import type { IncomingMessage } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import type { APIGatewayProxyEvent, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';

/** Where an API stands. */
export interface ApiStage {
  /** `arn:aws:execute-api:region:account:id`. */
  readonly arn: string;
  readonly stage: string;
}

/** What is known of a request when its path has been found. */
interface EventParts {
  readonly requestId: string;
  readonly method: string;
  /** Without the stage. */
  readonly path: string;
  /** The stage's, if paths begin with it. */
  readonly prefix: string;
  readonly template: string;
  readonly params: Record<string, string> | null;
  readonly query: string;
  /** Null: nobody knows. */
  readonly sourceIp: string | null;
}

/** The event that API Gateway sends a function, as yet without body and authorizer. */
export function proxyEvent(
  request: IncomingMessage,
  { arn, stage }: ApiStage,
  parts: EventParts,
): APIGatewayProxyEvent {
  const { method, path, template } = parts;
  const host = hostOf(request);
  const headers: Record<string, string> = Object.assign(Object.create(null), { Host: host });
  const multiValueHeaders: Record<string, string[]> = Object.assign(Object.create(null), { Host: [host] });
  const raw = request.rawHeaders;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    const value = raw[at + 1] as string;
    if (name.toLowerCase() === 'host') continue;
    headers[name] = value;
    const values = multiValueHeaders[name];
    if (values === undefined) multiValueHeaders[name] = [value];
    else values.push(value);
  }
  let last: Record<string, string> | null = null;
  let multiple: Record<string, string[]> | null = null;
  if (parts.query !== '') {
    last = Object.create(null) as Record<string, string>;
    multiple = Object.create(null) as Record<string, string[]>;
    for (const [name, value] of Object.entries(parseQuery(parts.query, '&', '=', { maxKeys: 0 }))) {
      const values = Array.isArray(value) ? value : [value ?? ''];
      multiple[name] = values;
      last[name] = values.at(-1) ?? '';
    }
  }
  const now = Date.now();
  const [, , , , accountId = '', apiId = ''] = arn.split(':');
  return {
    resource: template,
    path,
    httpMethod: method,
    headers,
    multiValueHeaders,
    queryStringParameters: last,
    multiValueQueryStringParameters: multiple,
    pathParameters: parts.params,
    stageVariables: null,
    body: null,
    isBase64Encoded: false,
    requestContext: {
      accountId,
      apiId,
      authorizer: undefined,
      extendedRequestId: parts.requestId,
      httpMethod: method,
      identity: {
        ...NO_IDENTITY,
        sourceIp: parts.sourceIp ?? '',
        userAgent: request.headers['user-agent'] ?? null,
      },
      path: `${parts.prefix}${path}`,
      protocol: `HTTP/${request.httpVersion}`,
      requestId: parts.requestId,
      requestTimeEpoch: now,
      resourceId: template,
      resourcePath: template,
      stage,
    },
  };
}

/** Names of this machine by which only somebody on it reaches it, with any port: that of a container may be another. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * Returns the host that links may name: the one that was sent, if that is a name of loopback; else the address at which
 * the request came in. Whoever sends a request may write any other name.
 */
function hostOf({ socket, headers }: IncomingMessage): string {
  const { host = '' } = headers;
  return LOOPBACK.test(host) ? host : addressOf(socket);
}

/** The address at which a request came in, as URLs write it. */
function addressOf({ localAddress = '127.0.0.1', localPort }: IncomingMessage['socket']): string {
  const address = localAddress.replace(/^::ffff:/, '');
  return `${address.includes(':') ? `[${address}]` : address}:${localPort}`;
}

/**
 * Whether a request came in at a loopback address under a name that is none of loopback. Whoever has a page open in a browser
 * of this machine may have a name of theirs lead here, and the page would read what is answered.
 */
export const isUnderForeignName = ({ socket, headers: { host } }: IncomingMessage): boolean =>
  host !== undefined && LOOPBACK.test(addressOf(socket)) && !LOOPBACK.test(host);

const NO_IDENTITY = {
  accessKey: null,
  accountId: null,
  apiKey: null,
  apiKeyId: null,
  caller: null,
  clientCert: null,
  cognitoAuthenticationProvider: null,
  cognitoAuthenticationType: null,
  cognitoIdentityId: null,
  cognitoIdentityPoolId: null,
  principalOrgId: null,
  user: null,
  userArn: null,
};

/** The event that API Gateway sends the authorizer: a function's, without what it is to find out. */
export function authorizerEvent(event: APIGatewayProxyEvent, methodArn: string): APIGatewayRequestAuthorizerEvent {
  const { body: _body, isBase64Encoded: _encoded, requestContext, ...rest } = event;
  const { authorizer: _authorizer, ...about } = requestContext;
  return { ...rest, type: 'REQUEST', methodArn, requestContext: { ...about, authorizer: undefined } };
}
