import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { parse as parseQuery } from 'node:querystring';
import type { APIGatewayProxyEvent, APIGatewayProxyResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import findMyWay from 'find-my-way';
import { type GatewayResponse, type GatewayResponseType, gatewayResponse } from '../../lib/http/gateway-responses.ts';
import { headerOf } from '../../lib/http/header.ts';
import { networkOf } from '../../lib/http/network.ts';
import { loggedPath } from '../../lib/http/route.ts';
import { traceOf } from '../../lib/http/trace.ts';
import { Failure, type FailureKind, messageOf } from '../../lib/ports/errors.ts';
import type { Log } from '../../lib/ports/log.ts';
import { MIB, MINUTE_MS, SECOND_MS } from '../../lib/ports/units.ts';
import { type Authorizer, authorizerCache } from './authorizer-cache.ts';
import { type BodyLimits, bodyRoom, type HeldBody } from './body-room.ts';
import { addressAt } from './environment.ts';
import type { Probes } from './probes.ts';
import { readBody } from './request-body.ts';
import type { SdkEndpoint } from './sdk-endpoint.ts';
import { addressOf } from './sender-address.ts';
import { type RateLimit, tokenBucket } from './token-bucket.ts';

/** API Gateway's own limits, which decide before a function's do, and those of one process that serves all. */
export interface GatewayLimits {
  /** Time for a function to answer: 29 s. */
  readonly timeoutMs: number;
  /** Largest body: 10 MB. */
  readonly payloadBytes: number;
  /** Largest body of a request that needs no key: 1 MB, as much as a function reads of one. */
  readonly publicPayloadBytes: number;
  /** Request line and headers together: 10,240 bytes. */
  readonly headerBytes: number;
  /** Longest ARN of a method, which holds the path: 1,600 bytes. */
  readonly arnBytes: number;
  /** Bodies of requests with a key, by its user. */
  readonly bodies: BodyLimits;
  /** Bodies of requests that need none, by address: a password at most. */
  readonly publicBodies: BodyLimits;
  /** A connection on which no byte moves for so long is closed: an answer that nobody takes would stay in memory. */
  readonly idleMs: number;
}

const LIMITS: GatewayLimits = {
  timeoutMs: 29 * SECOND_MS,
  payloadBytes: 10 * MIB,
  publicPayloadBytes: MIB,
  headerBytes: 10_240,
  arnBytes: 1_600,
  bodies: { each: 60 * MIB, all: 120 * MIB, spare: 40 * MIB },
  publicBodies: { each: 2 * MIB, all: 20 * MIB, spare: 0 },
  idleMs: 2 * MINUTE_MS,
};

/** What is served: as a stage of a REST API has it. */
export interface RestApi {
  /** `arn:aws:execute-api:region:account:id`. */
  readonly arn: string;
  readonly stage: string;
  /** Paths begin with the stage's name, as at API Gateway's own addresses; at a custom domain they do not. */
  readonly prefixed: boolean;
  /** Bodies reach functions in base64 whatever they hold, as with the binary media type of all. */
  readonly isBinary: boolean;
  /** Finds the path template of a request, as `pathMatcher` makes it. */
  readonly match: PathMatcher;
  /** What a method of a path template leads to. */
  readonly methodOf: (verb: string, template: string) => Method;
  readonly authorizer: Authorizer;
  /** The gateway's own answers; each of these has a status. */
  readonly responses: Readonly<Record<GatewayResponseType, GatewayResponse>>;
}

export interface Method {
  /** Without the authorizer. */
  readonly isPublic: boolean;
  /** Name of the function, for the log. */
  readonly function: string;
  /** Calls the function; the signal is aborted when nobody waits for its answer any more. `PayloadTooLarge`: the event is larger than a function takes. */
  readonly call: (event: APIGatewayProxyEvent, callerLeft: AbortSignal) => Promise<APIGatewayProxyResult>;
}

/** An invocation that a function's runtime does not take; the request is answered with 413. */
export class PayloadTooLarge extends Error {
  override readonly name = 'PayloadTooLarge';
}

interface ServeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly clock: () => number;
  readonly log: Log;
  /** Null: none. */
  readonly rateLimit: RateLimit | null;
  readonly limits?: Partial<GatewayLimits>;
  /** What a GET of a path is answered with that is none of the API's, without key and limit: for who runs the server. */
  readonly probes?: Probes;
  /** Answers what SDKs ask, whose paths are none of the API's. */
  readonly sdk?: SdkEndpoint;
  readonly answered?: AnswerWatcher;
  /** How many proxies stand before it. Default: none. */
  readonly proxies?: number;
}

/** Is told of every answer to a request of the API. */
export type AnswerWatcher = (about: {
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}) => void;

/** An answer, and whether a function gave it, which has logged it then. */
interface Responded {
  readonly result: APIGatewayProxyResult;
  readonly isLogged: boolean;
}

export interface Gateway {
  /** `http://127.0.0.1:8010`. */
  readonly address: string;
  /** Takes no new connections, lets what runs finish, then closes what is open. */
  close(): Promise<void>;
}

/**
 * Serves a REST API on one machine as API Gateway does: the same events, the authorizer and its cache, the gateway's
 * own answers, its limits. Paths match with and without a trailing slash.
 */
export async function serveRestApi(api: RestApi, options: ServeOptions): Promise<Gateway> {
  const { host, port, log, rateLimit, probes = {}, proxies = 0 } = options;
  const limits = { ...LIMITS, ...options.limits };
  const isLetThrough = rateLimit === null ? () => true : tokenBucket(rateLimit);
  const authorized = authorizerCache(api.authorizer, options.clock);
  const [room, publicRoom] = [bodyRoom(limits.bodies), bodyRoom(limits.publicBodies)];
  const prefix = api.prefixed ? `/${api.stage}` : '';
  const gatewayAnswer = (type: GatewayResponseType, about?: Readonly<Record<string, string>>): Responded => ({
    result: answered(api.responses[type], about),
    isLogged: false,
  });

  /** Returns the path of a request as it may be logged. */
  function pathLogged(whole: string): string {
    const found = api.match(whole.slice(prefix.length));
    return typeof found === 'object' ? loggedPath(found.template, whole) : whole;
  }

  async function respond(request: IncomingMessage, requestId: string, callerLeft: AbortController): Promise<Responded> {
    if (!isLetThrough(performance.now())) return gatewayAnswer('THROTTLED');
    const method = request.method ?? 'GET';
    const target = request.url ?? '/';
    const mark = target.indexOf('?');
    const whole = mark === -1 ? target : target.slice(0, mark);
    // Another stage, or none, is not there at all. The name of the stage alone is its root.
    if (api.prefixed && !`${whole}/`.startsWith(`${prefix}/`)) return gatewayAnswer('MISSING_AUTHENTICATION_TOKEN');
    const path = whole.slice(prefix.length) || '/';
    const methodArn = `${api.arn}/${api.stage}/${method}${path}`;
    if (methodArn.length > limits.arnBytes) return failure('uri_too_long');
    const found = api.match(path);
    if (found === 'malformed') return failure('parse_error', 'The path of the request is not valid percent-encoding.');
    if (found === undefined) return gatewayAnswer('MISSING_AUTHENTICATION_TOKEN');

    const { template, params } = found;
    const query = target.slice(whole.length + 1);
    const sourceIp = addressOf(request, proxies);
    const parts = { requestId, method, path, prefix, template, params, query, sourceIp };
    const event = proxyEvent(request, api, parts);
    const called = api.methodOf(method, template);
    if (!called.isPublic) {
      const header = headerOf(event.headers, 'authorization');
      if (header === undefined || header === '') return gatewayAnswer('UNAUTHORIZED');
      try {
        const { permits, context: about } = await authorized(`${method} ${template} ${header}`, () =>
          authorizerEvent(event, methodArn),
        );
        if (!permits(methodArn)) return gatewayAnswer('ACCESS_DENIED', about);
        event.requestContext.authorizer = about;
      } catch (error) {
        if (messageOf(error) === 'Unauthorized') return gatewayAnswer('UNAUTHORIZED');
        log.error('the authorizer failed', { request_id: requestId, error });
        return gatewayAnswer('AUTHORIZER_FAILURE');
      }
    }

    const { authorizer: caller } = event.requestContext;
    const held = called.isPublic ? publicRoom(networkOf(sourceIp)) : room(caller?.['principalId']);
    try {
      return await answerOf(called, request, event, held, callerLeft);
    } finally {
      held.giveBack();
    }
  }

  /** Reads the body of a request into its event, and calls the function. */
  async function answerOf(
    { isPublic, call, function: name }: Method,
    request: IncomingMessage,
    event: APIGatewayProxyEvent,
    held: HeldBody,
    callerLeft: AbortController,
  ): Promise<Responded> {
    if (hasBody(request)) {
      const most = isPublic ? limits.publicPayloadBytes : limits.payloadBytes;
      const body = await readBody(request, most, held.take);
      if (body === undefined) return held.isFull() ? NO_ROOM : gatewayAnswer('REQUEST_TOO_LARGE');
      if (body.length > 0) {
        event.isBase64Encoded = api.isBinary || !isUtf8(body);
        event.body = body.toString(event.isBase64Encoded ? 'base64' : 'utf8');
      }
    }

    try {
      const result = await within(limits.timeoutMs, call(event, callerLeft.signal));
      if (result !== undefined) return { result, isLogged: true };
      callerLeft.abort(new Failure('timeout'));
      return gatewayAnswer('INTEGRATION_TIMEOUT');
    } catch (error) {
      if (error instanceof PayloadTooLarge) return gatewayAnswer('REQUEST_TOO_LARGE');
      log.error('a function failed', { function: name, request_id: event.requestContext.requestId, error });
      return gatewayAnswer('INTEGRATION_FAILURE');
    }
  }

  let closing = false;
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = randomUUID();
    const startedAt = performance.now();
    const { method = 'GET', url = '/' } = request;
    const [path = '/'] = url.split('?', 1);
    const probe = method === 'GET' && Object.hasOwn(probes, path) ? probes[path] : undefined;
    try {
      if (options.sdk?.isFor(path)) {
        const { status, headers, body } = await options.sdk.answer(request, requestId);
        const milliseconds = performance.now() - startedAt;
        options.answered?.({ method, status, seconds: milliseconds / SECOND_MS });
        // What is kept is counted, and told by the minute: a line for each would be thousands a second.
        const level = status < 300 ? 'debug' : 'info';
        log[level]('answered', { request_id: requestId, method, path, status, ms: Math.round(milliseconds) });
        if (closing || !request.complete) response.setHeader('Connection', 'close');
        send(response, { statusCode: status, headers: { ...headers }, body }, requestId);
        return;
      }
      if (probe !== undefined) {
        send(response, await probe(), requestId);
        return;
      }
      const callerLeft = new AbortController();
      response.once('close', () => {
        if (response.writableFinished) return;
        callerLeft.abort(new Failure('parse_error', { detail: 'The caller left before the answer.' }));
      });
      const { result, isLogged } = await respond(request, requestId, callerLeft);
      const milliseconds = performance.now() - startedAt;
      const status = result.statusCode;
      options.answered?.({ method, status, seconds: milliseconds / SECOND_MS });
      if (!isLogged) {
        const trace = traceOf(requestId, headerOf(request.headers as Record<string, string>, 'traceparent'));
        response.setHeader('traceparent', trace.parent);
        const about = { method, path: pathLogged(path), status, ms: Math.round(milliseconds) };
        log.info('answered', { request_id: requestId, trace_id: trace.id, ...about });
      }
      if (closing || !request.complete) response.setHeader('Connection', 'close');
      send(response, result, requestId);
    } catch (error) {
      // The caller went away, or sent less than they promised.
      log.debug('a request was not answered', { request_id: requestId, reason: messageOf(error) });
      response.destroy();
    }
  }

  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    requireHostHeader: false,
    headersTimeout: 10 * SECOND_MS,
    requestTimeout: MINUTE_MS,
  });
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    request.url = originForm(request.url);
    void serve(request, response);
  };
  server
    .setTimeout(limits.idleMs)
    .on('request', listener)
    .on('checkExpectation', listener)
    .on('clientError', (error, socket) => refuseUnreadable(error, socket as Socket, log));
  await once(server.listen(port, host), 'listening');
  const { port: chosen } = server.address() as AddressInfo;
  return {
    address: addressAt(host, chosen),
    close: async () => {
      closing = true;
      const last = setTimeout(() => server.closeAllConnections(), limits.timeoutMs + 1_000);
      await new Promise((resolve) => server.close(resolve));
      clearTimeout(last);
    },
  };
}

/** Returns the target of a request as a path with its query: a proxy may send it with the host before. */
function originForm(target = '/'): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

interface Match {
  readonly template: string;
  readonly params: Record<string, string> | null;
}

/** The router only finds; it calls nothing. */
const ignored = (): void => {};

/** Undefined: no template fits. */
type PathMatcher = (path: string) => Match | 'malformed' | undefined;

/** Makes the matcher of path templates, which any number of servers may share. */
export function pathMatcher(templates: readonly string[]): PathMatcher {
  const router = findMyWay({
    ignoreTrailingSlash: true,
    maxParamLength: LIMITS.arnBytes,
    onBadUrl: ignored,
  });
  for (const template of templates) {
    router.on('GET', template.replaceAll(/\{(\w+)\}/g, ':$1'), ignored, template);
  }
  return (path) => {
    const found = router.find('GET', path);
    if (found === null) return undefined;
    if (found.store === null) return 'malformed';
    const params = found.params as Record<string, string>;
    // `/api/organizations//` is no address: an empty name between two slashes.
    for (const name in params) if (params[name] === '') return undefined;
    return { template: found.store as string, params: Object.keys(params).length === 0 ? null : params };
  };
}

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
function proxyEvent(request: IncomingMessage, { arn, stage }: RestApi, parts: EventParts): APIGatewayProxyEvent {
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
  const address = (socket.localAddress ?? '127.0.0.1').replace(/^::ffff:/, '');
  const { host = '' } = headers;
  return LOOPBACK.test(host) ? host : `${address.includes(':') ? `[${address}]` : address}:${socket.localPort}`;
}

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

function authorizerEvent(event: APIGatewayProxyEvent, methodArn: string): APIGatewayRequestAuthorizerEvent {
  const { body: _body, isBase64Encoded: _encoded, requestContext, ...rest } = event;
  const { authorizer: _authorizer, ...about } = requestContext;
  return { ...rest, type: 'REQUEST', methodArn, requestContext: { ...about, authorizer: undefined } };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** The promise's value, or undefined when it takes longer. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Puts the authorizer's words into the template, as they are: they must be safe inside JSON text. */
function answered(
  { status, headers, template }: GatewayResponse,
  about: Readonly<Record<string, string>> = {},
): APIGatewayProxyResult {
  if (status === null) throw new Error('a default of the gateway is no answer by itself');
  const body = template.replaceAll(/\$context\.authorizer\.(\w+)/g, (_, name: string) => about[name] ?? '');
  return { statusCode: status, headers: { ...headers, 'Content-Type': 'application/json' }, body };
}

const failure = (kind: FailureKind, detail?: string, headers?: Record<string, string>): Responded => ({
  result: answered(gatewayResponse(kind, { ...(detail && { detail }), ...(headers && { headers }) })),
  isLogged: false,
});

const NO_ROOM = failure('unavailable', 'Too many large requests are coming in.', { 'Retry-After': '5' });

function send(response: ServerResponse, result: APIGatewayProxyResult, requestId: string): void {
  response.statusCode = result.statusCode;
  response.setHeader('X-Request-Id', requestId);
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, String(value));
  for (const [name, values] of Object.entries(result.multiValueHeaders ?? {}))
    response.setHeader(name, values.map(String));
  const body = result.isBase64Encoded === true ? Buffer.from(result.body, 'base64') : result.body;
  response.end(body);
}

/** What is not HTTP, or too much of it, before there is a request: answered, and the connection closed. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, log: Log): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, headers, template } = gatewayResponse(
    error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'parse_error',
  );
  const requestId = randomUUID();
  log.info('answered', { request_id: requestId, status, reason: error.code ?? messageOf(error) });
  socket.end(
    [
      `HTTP/1.1 ${status} Refused`,
      'Connection: close',
      'Content-Type: application/json',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${Buffer.byteLength(template)}`,
      `X-Request-Id: ${requestId}`,
      '',
      template,
    ].join('\r\n'),
  );
}
