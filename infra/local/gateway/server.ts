/** The HTTP server of one machine: its connections, what is asked of it beside the API, and how answers are sent and logged. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { messageOf } from '../../../lib/basics/text.ts';
import { MINUTE_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import { gatewayResponse } from '../../../lib/http/gateway-responses.ts';
import { headerOf } from '../../../lib/http/header.ts';
import { traceOf } from '../../../lib/http/trace.ts';
import type { Log } from '../../../lib/ports/log.ts';
import { addressAt } from '../environment.ts';
import {
  boundConnections,
  type ConnectionLimits,
  type Connections,
  connectionLimits,
  mostFiles,
} from './connections.ts';
import { oneAtATime } from './one-at-a-time.ts';
import type { Probes } from './probes.ts';
import {
  type Asked,
  REQUEST_LIMITS,
  type RequestLimits,
  Responder,
  type ResponderOptions,
  type RestApi,
} from './rest-api.ts';
import type { SdkEndpoint } from './sdk-endpoint.ts';
import { proxyWatch } from './sender-address.ts';

export interface GatewayLimits extends RequestLimits {
  /** Time for the head of a request to come, of the first one from the connection on. */
  readonly headMs: number;
  /** A connection on which no byte moves for so long is closed: an answer that nobody takes would stay in memory. */
  readonly idleMs: number;
  readonly connections: ConnectionLimits;
}

/** Request line and headers together, as API Gateway takes them. */
const HEADER_BYTES = 10_240;

/**
 * How long a connection waits for its next request: longer than proxies keep one (Caddy two minutes, nginx and load
 * balancers of AWS one), for a request that meets the end of its connection is a 502 of the proxy.
 */
const KEPT_ALIVE_MS = 130 * SECOND_MS;

/** How often it is looked for connections whose time is over. */
const LOOK_MS = 2 * SECOND_MS;

export interface ServeOptions extends ResponderOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly limits?: Partial<GatewayLimits>;
  /** What a GET of a path is answered with that is none of the API's, without key and limit: for who runs the server. */
  readonly probes?: Probes;
  /** Answers what SDKs ask, whose paths are none of the API's. */
  readonly sdk?: SdkEndpoint;
  readonly answered?: AnswerWatcher;
}

/** Is told of every answer to a request of the API. */
type AnswerWatcher = (about: { readonly method: string; readonly status: number; readonly seconds: number }) => void;

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
  readonly #options: ServeOptions;
  readonly #limits: GatewayLimits;
  readonly #responder: Responder;
  readonly #server: Server;
  readonly #connections: Connections;
  #isClosing = false;

  constructor(api: RestApi, options: ServeOptions) {
    this.#options = options;
    this.#limits = {
      ...REQUEST_LIMITS,
      headMs: 10 * SECOND_MS,
      idleMs: 2 * MINUTE_MS,
      connections: connectionLimits(mostFiles()),
      ...options.limits,
    };
    this.#responder = new Responder(api, options, this.#limits);
    const watch = proxyWatch(options.proxies ?? 0, options.log);
    const listener = oneAtATime(
      (request, response) => {
        watch(request);
        request.url = originForm(request.url);
        void this.#serve(request, response);
      },
      () => options.log.info('closed a connection that sent too many requests ahead'),
    );
    this.#server = createServer({
      maxHeaderSize: HEADER_BYTES,
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
      else result = (await probe?.(request)) ?? (await this.#ofApi(asked));
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
    const { result, isLogged } = await this.#responder.respond(asked);
    const status = result.statusCode;
    const ms = this.#watched(asked, status);
    if (!isLogged) {
      const trace = traceOf(requestId, headerOf(request.headers as Record<string, string>, 'traceparent'));
      response.setHeader('traceparent', trace.parent);
      const about = { method, path: this.#responder.pathLogged(path), status, ms };
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
}

/** Returns the target of a request as a path with its query: a proxy may send it with the host before. */
function originForm(target = '/'): string {
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

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
