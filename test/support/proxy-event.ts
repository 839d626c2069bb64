import type { APIGatewayProxyEvent } from 'aws-lambda';
import { type Credentials, toContext } from '../../lib/http/credentials.ts';
import type { Route } from '../../lib/http/route.ts';

/** The parts of a request that a test names; the rest is as a plain client sends it. */
export interface Sent {
  /** Which of the row's paths; default: the first. */
  readonly path?: string;
  readonly params?: Readonly<Record<string, string>>;
  /** As in an address, without `?`. */
  readonly query?: string;
  /** Text is sent as it is, bytes as base64, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly credentials?: Partial<Credentials> & Pick<Credentials, 'userId'>;
  readonly method?: string;
  /** Without the slash at the end. */
  readonly bare?: boolean;
  readonly stage?: string;
  readonly domainName?: string;
}

/** Returns the event with which a REST API's gateway calls the row's function. */
export function proxyEvent(row: Pick<Route, 'method' | 'paths'>, sent: Sent = {}): APIGatewayProxyEvent {
  const template = sent.path ?? row.paths[0];
  const params = sent.params ?? {};
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const path = sent.bare === true ? filled : `${filled}/`;
  const headers: Record<string, string> = { Host: 'api.example.com', ...sent.headers };
  const query = new URLSearchParams(sent.query);
  const names = [...new Set(query.keys())];
  const body = Buffer.isBuffer(sent.body)
    ? sent.body.toString('base64')
    : typeof sent.body === 'string' || sent.body === undefined
      ? (sent.body ?? null)
      : JSON.stringify(sent.body);
  const credentials =
    sent.credentials === undefined
      ? undefined
      : {
          keyId: 'key',
          keyHash: '',
          keyMask: 'phx_...abcd',
          scopes: ['*'],
          scopedTeams: [],
          scopedOrganizations: [],
          expiresAt: null,
          ...sent.credentials,
        };
  return {
    resource: template,
    path,
    httpMethod: sent.method ?? row.method,
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: names.length === 0 ? null : Object.fromEntries(query),
    multiValueQueryStringParameters:
      names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, query.getAll(name)])),
    pathParameters: Object.keys(params).length === 0 ? null : { ...params },
    stageVariables: null,
    body,
    isBase64Encoded: Buffer.isBuffer(sent.body),
    requestContext: {
      // Who sends a request to API Gateway may have chosen this one (X-Amzn-RequestId).
      requestId: 'of-the-sender',
      extendedRequestId: 'request-1',
      identity: { sourceIp: '203.0.113.1' },
      path: `${sent.stage ?? ''}${path}`,
      ...(sent.domainName === undefined ? {} : { domainName: sent.domainName }),
      ...(credentials === undefined ? {} : { authorizer: toContext(credentials) }),
    },
  } as unknown as APIGatewayProxyEvent;
}
