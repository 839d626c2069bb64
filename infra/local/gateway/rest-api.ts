import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { bytesText, messageOf } from '../../../lib/basics/text.ts';
import { KIB, MIB, MINUTE_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import {
  type GatewayResponse,
  type GatewayResponseType,
  gatewayResponse,
} from '../../../lib/http/gateway-responses.ts';
import { headerOf } from '../../../lib/http/header.ts';
import { networkOf } from '../../../lib/http/network.ts';
import { loggedPath } from '../../../lib/http/route.ts';
import { traceOf } from '../../../lib/http/trace.ts';
import { Failure, type FailureKind } from '../../../lib/ports/errors.ts';
import type { Log } from '../../../lib/ports/log.ts';
import { addressAt } from '../environment.ts';
import { type Authorizer, authorizerCache } from './authorizer-cache.ts';
import { type BodyLimits, type BodyRoom, bodyRoom, type HeldBody } from './body-room.ts';
import {
  boundConnections,
  type ConnectionLimits,
  type Connections,
  connectionLimits,
  mostFiles,
} from './connections.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { LONGEST_ARN, type PathMatcher } from './path-matcher.ts';
import type { Probes } from './probes.ts';
import { type ApiStage, authorizerEvent, proxyEvent } from './proxy-event.ts';
import { readBody } from './request-body.ts';
import type { SdkEndpoint } from './sdk-endpoint.ts';
import { addressOf, proxyWatch } from './sender-address.ts';
import { type RateLimit, tokenBucket } from './token-bucket.ts';

/** API Gateway's own limits, which decide before a function's do, and those of one process that serves all. */
export interface GatewayLimits {
  /** Time for a function to answer: 29 s. */
  readonly timeoutMs: number;
  /** Largest body: 10 MB. */
  readonly payloadBytes: number;
  /** Largest body of a request that needs no key: 16 KiB, for the largest is a form with a password. */
  readonly publicPayloadBytes: number;
  /** Request line and headers together: 10,240 bytes. */
  readonly headerBytes: number;
  /** Longest ARN of a method, which holds the path: 1,600 bytes. */
  readonly arnBytes: number;
  /** Bodies of requests with a key, by its user. */
  readonly bodies: BodyLimits;
  /** Bodies of requests that need none, by address: a password at most. */
  readonly publicBodies: BodyLimits;
  /** Answers to requests with a key that are not taken yet, by its user. */
  readonly answers: BodyLimits;
  /** Answers to requests that need none, by address: pages, and the files that they load. */
  readonly publicAnswers: BodyLimits;
  /** Time for the head of a request to come, of the first one from the connection on. */
  readonly headMs: number;
  /** A connection on which no byte moves for so long is closed: an answer that nobody takes would stay in memory. */
  readonly idleMs: number;
  readonly connections: ConnectionLimits;
}

const LIMITS: Omit<GatewayLimits, 'connections'> = {
  timeoutMs: 29 * SECOND_MS,
  payloadBytes: 10 * MIB,
  publicPayloadBytes: 16 * KIB,
  headerBytes: 10_240,
  arnBytes: LONGEST_ARN,
  bodies: { each: 60 * MIB, all: 120 * MIB, spare: 40 * MIB },
  publicBodies: { each: 2 * MIB, all: 20 * MIB, spare: 0 },
  answers: { each: 60 * MIB, all: 120 * MIB, spare: 40 * MIB },
  publicAnswers: { each: 20 * MIB, all: 60 * MIB, spare: 20 * MIB },
  headMs: 10 * SECOND_MS,
  idleMs: 2 * MINUTE_MS,
};

/**
 * How long a connection waits for its next request: longer than proxies keep one (Caddy two minutes, nginx and load
 * balancers of AWS one), for a request that meets the end of its connection is a 502 of the proxy.
 */
const KEPT_ALIVE_MS = 130 * SECOND_MS;

/** How often it is looked for connections whose time is over. */
const LOOK_MS = 2 * SECOND_MS;

/** What is served: as a stage of a REST API has it. */
export interface RestApi extends ApiStage {
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

export interface ServeOptions {
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
type AnswerWatcher = (about: { readonly method: string; readonly status: number; readonly seconds: number }) => void;

/** A request while it is answered. */
interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly method: string;
  /** As it was sent, without its query. */
  readonly path: string;
  /** As `performance.now()` tells it. */
  readonly startedAt: number;
}

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
  const gateway = new RestApiServer(api, options);
  await gateway.listen();
  return gateway;
}

class RestApiServer implements Gateway {
  address = '';
  readonly #api: RestApi;
  readonly #options: ServeOptions;
  readonly #limits: GatewayLimits;
  readonly #prefix: string;
  readonly #takeToken: (now: number) => boolean;
  readonly #authorized: ReturnType<typeof authorizerCache>;
  readonly #room: BodyRoom;
  readonly #publicRoom: BodyRoom;
  readonly #answerRoom: BodyRoom;
  readonly #publicAnswerRoom: BodyRoom;
  readonly #server: Server;
  readonly #connections: Connections;
  #isClosing = false;

  constructor(api: RestApi, options: ServeOptions) {
    this.#api = api;
    this.#options = options;
    this.#limits = { connections: connectionLimits(mostFiles()), ...LIMITS, ...options.limits };
    this.#prefix = api.prefixed ? `/${api.stage}` : '';
    this.#takeToken = options.rateLimit === null ? () => true : tokenBucket(options.rateLimit);
    this.#authorized = authorizerCache(api.authorizer, options.clock);
    this.#room = bodyRoom(this.#limits.bodies);
    this.#publicRoom = bodyRoom(this.#limits.publicBodies);
    this.#answerRoom = bodyRoom(this.#limits.answers);
    this.#publicAnswerRoom = bodyRoom(this.#limits.publicAnswers);
    const watch = proxyWatch(options.proxies ?? 0, options.log);
    const listener = oneAtATime(
      (request, response) => {
        watch(request);
        request.url = originForm(request.url);
        void this.#serve(request, response);
      },
      // Those that are at rest when it closes are closed then; these come to rest later.
      (socket) => this.#isClosing && socket.end(),
      () => options.log.info('closed a connection that sent too many requests ahead'),
    );
    this.#server = createServer({
      maxHeaderSize: this.#limits.headerBytes,
      requireHostHeader: false,
      headersTimeout: this.#limits.headMs,
      requestTimeout: MINUTE_MS,
      keepAliveTimeout: KEPT_ALIVE_MS,
      connectionsCheckingInterval: Math.min(LOOK_MS, this.#limits.headMs),
    })
      .setTimeout(this.#limits.idleMs)
      .on('request', listener)
      .on('checkExpectation', listener)
      .on('clientError', (error, socket) => refuseUnreadable(error, socket as Socket, options.log));
    const { clock, log, proxies = 0 } = options;
    this.#connections = boundConnections(this.#server, { limits: this.#limits.connections, proxies, clock, log });
  }

  async listen(): Promise<void> {
    const { host, port } = this.#options;
    await once(this.#server.listen(port, host), 'listening');
    this.address = addressAt(host, (this.#server.address() as AddressInfo).port);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const last = setTimeout(() => this.#server.closeAllConnections(), this.#limits.timeoutMs + SECOND_MS);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#connections.closeAtRest();
    await closed;
    clearTimeout(last);
  }

  /** Answers one request: what SDKs ask, a probe, or the API. */
  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request;
    const [path = '/'] = url.split('?', 1);
    const asked: Asked = { request, response, requestId: randomUUID(), method, path, startedAt: performance.now() };
    const { sdk, probes = {}, log } = this.#options;
    const probe = method === 'GET' && Object.hasOwn(probes, path) ? probes[path] : undefined;
    try {
      let result: APIGatewayProxyResult;
      if (sdk?.isFor(path)) result = await this.#ofSdk(sdk, asked);
      else if (probe !== undefined) result = await probe();
      else result = await this.#ofApi(asked);
      if (this.#isClosing || !request.complete) response.setHeader('Connection', 'close');
      send(response, result, asked.requestId);
    } catch (error) {
      // The caller went away, or sent less than they promised.
      log.debug('a request was not answered', { request_id: asked.requestId, reason: messageOf(error) });
      response.destroy();
    }
  }

  async #ofSdk(sdk: SdkEndpoint, asked: Asked): Promise<APIGatewayProxyResult> {
    const { request, requestId, method, path } = asked;
    const { status, headers, body } = await sdk.answer(request, requestId);
    const ms = this.#watched(asked, status);
    // What is kept is counted, and told by the minute: a line for each would be thousands a second.
    this.#options.log[status < 300 ? 'debug' : 'info']('answered', { request_id: requestId, method, path, status, ms });
    return { statusCode: status, headers: { ...headers }, body };
  }

  async #ofApi(asked: Asked): Promise<APIGatewayProxyResult> {
    const { request, response, requestId, method, path } = asked;
    const callerLeft = new AbortController();
    response.once('close', () => {
      if (response.writableFinished) return;
      callerLeft.abort(new Failure('parse_error', { detail: 'The caller left before the answer.' }));
    });
    const { result, isLogged } = await this.#respond(asked, callerLeft);
    const status = result.statusCode;
    const ms = this.#watched(asked, status);
    if (!isLogged) {
      const trace = traceOf(requestId, headerOf(request.headers as Record<string, string>, 'traceparent'));
      response.setHeader('traceparent', trace.parent);
      const about = { method, path: this.#pathLogged(path), status, ms };
      this.#options.log.info('answered', { request_id: requestId, trace_id: trace.id, ...about });
    }
    return result;
  }

  /** Tells who watches of an answer, and returns the milliseconds that it took. */
  #watched({ method, startedAt }: Asked, status: number): number {
    const milliseconds = performance.now() - startedAt;
    this.#options.answered?.({ method, status, seconds: milliseconds / SECOND_MS });
    return Math.round(milliseconds);
  }

  /** Returns the path of a request as it may be logged. */
  #pathLogged(whole: string): string {
    const found = this.#api.match(whole.slice(this.#prefix.length));
    return typeof found === 'object' ? loggedPath(found.template, whole) : whole;
  }

  #gatewayAnswer(type: GatewayResponseType, about?: Readonly<Record<string, string>>): Responded {
    return { result: answered(this.#api.responses[type], about), isLogged: false };
  }

  /** A path that is not there: API Gateway looks for a signature of AWS in the header that brings a key. */
  #noEndpoint({ headers }: IncomingMessage): Responded {
    return this.#gatewayAnswer(headers.authorization ? 'INVALID_SIGNATURE' : 'MISSING_AUTHENTICATION_TOKEN');
  }

  /** Finds whom a request is for, and whether they may: then the function is called. */
  async #respond(asked: Asked, callerLeft: AbortController): Promise<Responded> {
    if (!this.#takeToken(performance.now())) return this.#gatewayAnswer('THROTTLED');
    const api = this.#api;
    const prefix = this.#prefix;
    const { request, requestId, method, path: whole } = asked;
    // Another stage, or none, is not there at all. The name of the stage alone is its root.
    if (api.prefixed && !`${whole}/`.startsWith(`${prefix}/`)) return this.#noEndpoint(request);
    const path = whole.slice(prefix.length) || '/';
    const methodArn = `${api.arn}/${api.stage}/${method}${path}`;
    if (methodArn.length > this.#limits.arnBytes) return failure('uri_too_long');
    const found = api.match(path);
    if (found === 'malformed') return failure('parse_error', 'The path of the request is not valid percent-encoding.');
    if (found === undefined) return this.#noEndpoint(request);

    const { template, params } = found;
    const query = (request.url ?? '/').slice(whole.length + 1);
    const sourceIp = addressOf(request, this.#options.proxies ?? 0);
    const parts = { requestId, method, path, prefix, template, params, query, sourceIp };
    const event = proxyEvent(request, api, parts);
    const called = api.methodOf(method, template);
    if (!called.isPublic) {
      const refusal = await this.#refusalOf(event, methodArn);
      if (refusal !== undefined) return refusal;
    }

    const caller = event.requestContext.authorizer?.['principalId'];
    const [owner, room, answerRoom] = called.isPublic
      ? [networkOf(sourceIp), this.#publicRoom, this.#publicAnswerRoom]
      : [caller, this.#room, this.#answerRoom];
    const held = room(owner);
    try {
      const responded = await this.#answerOf(called, request, event, held, callerLeft);
      return isHeldUntilTaken(asked.response, responded.result, answerRoom(owner)) ? responded : NO_ROOM_FOR_ANSWER;
    } finally {
      held.giveBack();
    }
  }

  /** Asks the authorizer: writes what it says of the caller into the event, or returns why they may not. */
  async #refusalOf(event: APIGatewayProxyEvent, methodArn: string): Promise<Responded | undefined> {
    const { headers, httpMethod, resource, requestContext } = event;
    const header = headerOf(headers, 'authorization');
    if (header === undefined || header === '') return this.#gatewayAnswer('UNAUTHORIZED');
    try {
      // One key has one place among the answers that are kept, however many blanks come with it.
      const identity = `${httpMethod} ${resource} ${header.trim().replaceAll(/[ \t]+/g, ' ')}`;
      const { permits, context: about } = await this.#authorized(identity, () => authorizerEvent(event, methodArn));
      if (!permits(methodArn)) return this.#gatewayAnswer('ACCESS_DENIED', about);
      requestContext.authorizer = about;
      return undefined;
    } catch (error) {
      if (messageOf(error) === 'Unauthorized') return this.#gatewayAnswer('UNAUTHORIZED');
      this.#options.log.error('the authorizer failed', { request_id: requestContext.requestId, error });
      return this.#gatewayAnswer('AUTHORIZER_FAILURE');
    }
  }

  /** Reads the body of a request into its event, and calls the function. */
  async #answerOf(
    { isPublic, call, function: name }: Method,
    request: IncomingMessage,
    event: APIGatewayProxyEvent,
    held: HeldBody,
    callerLeft: AbortController,
  ): Promise<Responded> {
    const limits = this.#limits;
    if (hasBody(request)) {
      const most = isPublic ? limits.publicPayloadBytes : limits.payloadBytes;
      const body = await readBody(request, most, held.take);
      if (body === undefined && held.isFull()) return NO_ROOM;
      if (body === undefined) {
        const detail = `The request body is larger than ${bytesText(most)}, which is enough without a key.`;
        return isPublic ? failure('request_too_large', detail) : this.#gatewayAnswer('REQUEST_TOO_LARGE');
      }
      if (body.length > 0) {
        event.isBase64Encoded = this.#api.isBinary || !isUtf8(body);
        event.body = body.toString(event.isBase64Encoded ? 'base64' : 'utf8');
      }
    }

    try {
      const result = await within(limits.timeoutMs, call(event, callerLeft.signal));
      if (result !== undefined) return { result, isLogged: true };
      callerLeft.abort(new Failure('timeout'));
      return this.#gatewayAnswer('INTEGRATION_TIMEOUT');
    } catch (error) {
      if (error instanceof PayloadTooLarge) return this.#gatewayAnswer('REQUEST_TOO_LARGE');
      const { requestId } = event.requestContext;
      this.#options.log.error('a function failed', { function: name, request_id: requestId, error });
      return this.#gatewayAnswer('API_CONFIGURATION_ERROR');
    }
  }
}

/** Returns whether there is room for an answer, which it takes then until the system has taken the last byte. */
function isHeldUntilTaken(response: ServerResponse, { body }: APIGatewayProxyResult, held: HeldBody): boolean {
  if (response.closed) return true;
  response.once('close', held.giveBack);
  return held.take(body.length);
}

/** Returns the target of a request as a path with its query: a proxy may send it with the host before. */
function originForm(target = '/'): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
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
const NO_ROOM_FOR_ANSWER = failure('unavailable', 'Too many large answers wait to be taken.', { 'Retry-After': '5' });

/**
 * Sends an answer. It ends when the system has taken the last byte: Node holds a connection for idle whose answer has
 * ended, and closes it with the server, whether or not somebody is still reading.
 */
function send(response: ServerResponse, result: APIGatewayProxyResult, requestId: string): void {
  response.statusCode = result.statusCode;
  response.setHeader('X-Request-Id', requestId);
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, String(value));
  for (const [name, values] of Object.entries(result.multiValueHeaders ?? {}))
    response.setHeader(name, values.map(String));
  const body = result.isBase64Encoded === true ? Buffer.from(result.body, 'base64') : result.body;
  if (body.length === 0) {
    response.end();
    return;
  }
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.write(body, () => response.end());
}

/**
 * What is not HTTP, or too much of it, before there is a request: answered, and the connection closed. One that a browser
 * opened ahead, and has not used, gets no answer: it would be taken for that to what is asked at this moment, while who
 * finds it closed asks again.
 */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, log: Log): void {
  if (!socket.writable || error.code === 'ECONNRESET' || socket.bytesRead === 0) {
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
  // Who has said nothing in time may not read either: the connection does not wait for its other end.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroySoon();
}
