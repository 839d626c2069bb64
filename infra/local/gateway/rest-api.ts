/** What a REST API does with a request, as API Gateway does: the same events, the authorizer and its cache, its own answers, its limits. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { bytesText, messageOf } from '../../../lib/basics/text.ts';
import { KIB, MIB, SECOND_MS } from '../../../lib/basics/units.ts';
import {
  type GatewayResponse,
  type GatewayResponseType,
  gatewayResponse,
} from '../../../lib/http/gateway-responses.ts';
import { headerOf } from '../../../lib/http/header.ts';
import { networkOf } from '../../../lib/http/network.ts';
import { loggedPath } from '../../../lib/http/route.ts';
import { Failure, type FailureKind } from '../../../lib/ports/errors.ts';
import type { Log } from '../../../lib/ports/log.ts';
import { type Authorizer, authorizerCache } from './authorizer-cache.ts';
import { type BodyLimits, type BodyRoom, bodyRoom, type HeldBody } from './body-room.ts';
import { LONGEST_ARN, type PathMatcher } from './path-matcher.ts';
import { type ApiStage, authorizerEvent, proxyEvent } from './proxy-event.ts';
import { readBody } from './request-body.ts';
import { addressOf } from './sender-address.ts';
import { type RateLimit, tokenBucket } from './token-bucket.ts';

/** What is held at most for callers of one kind. */
interface CallerLimits {
  /** Largest body. */
  readonly payloadBytes: number;
  readonly bodies: BodyLimits;
  /** Answers that are not taken yet. */
  readonly answers: BodyLimits;
}

/** API Gateway's own limits, which decide before a function's do, and those of one process that serves all. */
export interface RequestLimits {
  /** Time for a function to answer. */
  readonly timeoutMs: number;
  /** Of requests with a key, by its user. */
  readonly keyed: CallerLimits;
  /** Of those that need none, by address: they send a form with a password at most, and load pages and the files of these. */
  readonly public: CallerLimits;
}

export const REQUEST_LIMITS: RequestLimits = {
  timeoutMs: 29 * SECOND_MS,
  keyed: {
    payloadBytes: 10 * MIB,
    bodies: { each: 60 * MIB, all: 120 * MIB, spare: 40 * MIB },
    answers: { each: 60 * MIB, all: 120 * MIB, spare: 40 * MIB },
  },
  public: {
    payloadBytes: 16 * KIB,
    bodies: { each: 2 * MIB, all: 20 * MIB, spare: 0 },
    answers: { each: 20 * MIB, all: 60 * MIB, spare: 20 * MIB },
  },
};

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

export interface ResponderOptions {
  readonly clock: () => number;
  readonly log: Log;
  /** Null: none. */
  readonly rateLimit: RateLimit | null;
  /** How many proxies stand before it. Default: none. */
  readonly proxies?: number;
}

/** A request while it is answered. */
export interface Asked {
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

/** A request whose path is there. */
interface Found {
  readonly called: Method;
  readonly event: APIGatewayProxyEvent;
  readonly methodArn: string;
}

/** The room for callers of one kind. */
interface Share {
  readonly payloadBytes: number;
  /** The answer to a larger body. */
  readonly tooLarge: Responded;
  readonly bodies: BodyRoom;
  readonly answers: BodyRoom;
}

const shareOf = ({ payloadBytes, bodies, answers }: CallerLimits, tooLarge: Responded): Share => ({
  payloadBytes,
  tooLarge,
  bodies: bodyRoom(bodies),
  answers: bodyRoom(answers),
});

export class Responder {
  readonly #api: RestApi;
  readonly #options: ResponderOptions;
  readonly #timeoutMs: number;
  readonly #prefix: string;
  readonly #takeToken: (now: number) => boolean;
  readonly #authorized: ReturnType<typeof authorizerCache>;
  readonly #keyed: Share;
  readonly #public: Share;

  constructor(api: RestApi, options: ResponderOptions, { timeoutMs, keyed, public: ofPublic }: RequestLimits) {
    this.#api = api;
    this.#options = options;
    this.#timeoutMs = timeoutMs;
    this.#prefix = api.prefixed ? `/${api.stage}` : '';
    this.#takeToken = options.rateLimit === null ? () => true : tokenBucket(options.rateLimit);
    this.#authorized = authorizerCache(api.authorizer, options.clock);
    this.#keyed = shareOf(keyed, this.#gatewayAnswer('REQUEST_TOO_LARGE'));
    const detail = `The request body is larger than ${bytesText(ofPublic.payloadBytes)}, which is enough without a key.`;
    this.#public = shareOf(ofPublic, failure('request_too_large', detail));
  }

  /** Finds whom a request is for, and whether they may: then the function is called. Rejects when the caller went away. */
  async respond(asked: Asked): Promise<Responded> {
    const { request, response } = asked;
    const callerLeft = new AbortController();
    response.once('close', () => {
      if (response.writableFinished) return;
      callerLeft.abort(new Failure('parse_error', { detail: 'The caller left before the answer.' }));
    });
    if (!this.#takeToken(performance.now())) return this.#gatewayAnswer('THROTTLED');
    const found = this.#find(asked);
    if ('result' in found) return found;
    const { called, event, methodArn } = found;
    const refusal = called.isPublic ? undefined : await this.#refusalOf(event, methodArn);
    if (refusal !== undefined) return refusal;

    const share = called.isPublic ? this.#public : this.#keyed;
    const { identity, authorizer } = event.requestContext;
    const owner = called.isPublic ? networkOf(identity.sourceIp) : authorizer?.['principalId'];
    const held = share.bodies(owner);
    try {
      const responded =
        (await this.#takeBody(request, event, share, held)) ?? (await this.#call(called, event, callerLeft));
      return isHeldUntilTaken(response, responded.result, share.answers(owner)) ? responded : NO_ROOM_FOR_ANSWER;
    } finally {
      held.giveBack();
    }
  }

  /** Returns the path of a request as it may be logged. */
  pathLogged(whole: string): string {
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

  /** Finds what a request calls, by its path. */
  #find({ request, requestId, method, path: whole }: Asked): Found | Responded {
    const api = this.#api;
    const prefix = this.#prefix;
    // Another stage, or none, is not there at all. The name of the stage alone is its root.
    if (api.prefixed && !`${whole}/`.startsWith(`${prefix}/`)) return this.#noEndpoint(request);
    const path = whole.slice(prefix.length) || '/';
    const methodArn = `${api.arn}/${api.stage}/${method}${path}`;
    if (methodArn.length > LONGEST_ARN) return failure('uri_too_long');
    const found = api.match(path);
    if (found === 'malformed') return failure('parse_error', 'The path of the request is not valid percent-encoding.');
    if (found === undefined) return this.#noEndpoint(request);

    const { template, params } = found;
    const query = (request.url ?? '/').slice(whole.length + 1);
    const sourceIp = addressOf(request, this.#options.proxies ?? 0);
    const parts = { requestId, method, path, prefix, template, params, query, sourceIp };
    const event = proxyEvent(request, api, parts);
    return { called: api.methodOf(method, template), event, methodArn };
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

  /** Reads the body of a request into its event, or returns why it is not taken. */
  async #takeBody(
    request: IncomingMessage,
    event: APIGatewayProxyEvent,
    { payloadBytes, tooLarge }: Share,
    held: HeldBody,
  ): Promise<Responded | undefined> {
    if (!hasBody(request)) return undefined;
    const body = await readBody(request, payloadBytes, held.take);
    if (body === undefined) return held.isFull() ? NO_ROOM : tooLarge;
    if (body.length === 0) return undefined;
    event.isBase64Encoded = this.#api.isBinary || !isUtf8(body);
    event.body = body.toString(event.isBase64Encoded ? 'base64' : 'utf8');
    return undefined;
  }

  async #call(
    { call, function: name }: Method,
    event: APIGatewayProxyEvent,
    callerLeft: AbortController,
  ): Promise<Responded> {
    try {
      const result = await within(this.#timeoutMs, call(event, callerLeft.signal));
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
