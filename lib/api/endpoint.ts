/** Makes the handler of an endpoint from its row and its operation. No other file knows middy. */
import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context as LambdaContext } from 'aws-lambda';
import * as z from 'zod';
import { activityOpsOf } from '../accounts/activity/ops.ts';
import type { Tenant } from '../accounts/organizations/tenant.ts';
import { messageOf } from '../basics/text.ts';
import {
  type Answer,
  type AnyAnswer,
  answerOf,
  type ContentAnswer,
  declaredBody,
  handedOver,
  reply,
} from '../http/answer.ts';
import { bodyOf, bytesOf, fields } from '../http/body.ts';
import { type Credentials, type CredentialsText, fromContext } from '../http/credentials.ts';
import { etagOf, ifMatchOf, namesVersion } from '../http/etag.ts';
import { failureFrom } from '../http/failures.ts';
import { headerOf } from '../http/header.ts';
import { type IdempotencyKey, idempotencyKeyOf } from '../http/idempotency.ts';
import { OffsetPage, type Paging, pagingOf } from '../http/page.ts';
import { parse } from '../http/parse.ts';
import { requestIdOf } from '../http/request-id.ts';
import { loggedPath, type Route, takesBody } from '../http/route.ts';
import { traceOf } from '../http/trace.ts';
import { refuseUnsupported } from '../http/unsupported.ts';
import type { Context } from '../ports/context.ts';
import { inWords } from '../ports/disk-failures.ts';
import { type Failure, fail } from '../ports/errors.ts';
import { keyLimit } from './key-limit.ts';
import type { Body, EarlyRequest, Request } from './request.ts';
import { type Admission, CURRENT_PLACE, resolveCurrent, tenancy, tenantPathOf } from './tenancy.ts';

type Awaitable<T> = T | Promise<T>;

/** What an endpoint does, beside what its row declares. */
export interface Operation<R extends Route, Read, Found = Read> {
  /** Reads what needs nothing but the request, beside tenancy's reads. The result is seen only when tenancy passes. */
  readonly read?: (request: EarlyRequest<R>, context: Context) => Promise<Read>;
  /** After tenancy, before the body: turns what was read into what `run` gets, or throws that it is not there. */
  readonly found?: (read: Read, tenant: Tenant) => Found;
  readonly run: Run<R, Found>;
  /** Answers a create again, for a repeated Idempotency-Key. Rows that are `idempotent` must have it. */
  readonly replay?: (objectId: string, request: Request<R, Found>, context: Context) => Result<R>;
  /** Returns a failure as a page for people; undefined: the answer has the four fields. */
  readonly failurePage?: (failure: Failure, event: APIGatewayProxyEvent) => ContentAnswer | undefined;
}

/** Runs an operation whose request is checked. */
export type Run<R extends Route, Read> = (request: Request<R, Read>, context: Context) => Result<R>;

type Result<R extends Route> = Awaitable<Body<R> | AnyAnswer<Body<R>>>;

/** What a call comes with beside its event: on Lambda its context, on one machine what tells that the caller has left. */
type Invocation = Partial<LambdaContext> & { readonly callerLeft?: AbortSignal };

export type Handler = (event: APIGatewayProxyEvent, invocation?: Invocation) => Promise<APIGatewayProxyResult>;

/** An operation as this file sees it: its types were checked where `endpoint` was called. */
type AnyOperation = Operation<Route, unknown>;
type AnyRequest = Request<Route, unknown>;

/** One request on its way through the chain; each middleware adds what it finds out. */
interface Exchange {
  readonly event: APIGatewayProxyEvent;
  context: Context;
  readonly startedAt: number;
  /** Names the request to whoever answers it or is called. */
  readonly traceparent: string;
  credentials?: Credentials;
  early?: EarlyRequest;
  admitted?: Admission;
  read?: unknown;
  idempotencyKey?: IdempotencyKey | undefined;
  /** The id of what an earlier request with the same Idempotency-Key created: this one is answered as that was. */
  created?: string | undefined;
}

type Middleware = middy.MiddlewareObj<unknown, unknown, Error, LambdaContext, { exchange: Exchange }>;

/**
 * Returns the handler of a row, as a function of its context. Each request passes one chain: log and request id,
 * caller, tenancy, parsing, run, answer; what is thrown becomes a failure on the way out. Throws when the row is
 * `idempotent` and the operation has no `replay`.
 */
export function endpoint<R extends Route, Read = undefined, Found = Read>(
  row: R,
  operation: Operation<R, Read, Found> | Run<R, Found>,
): (context: Context) => Handler {
  const { run, replay, failurePage, ...reads } = (typeof operation === 'function'
    ? { run: operation }
    : operation) as unknown as AnyOperation;
  if (row.idempotent === true && replay === undefined) throw new Error(`${row.handler} cannot replay`);

  const perform = async ({ request, exchange }: { request: AnyRequest; exchange: Exchange }) => {
    const { context, idempotencyKey } = exchange;
    if (exchange.created === undefined) {
      try {
        return answerOf(await run(request, context));
      } catch (error) {
        // Two with one key at once: the slower one fails, in whatever way, and finds what the faster one wrote.
        exchange.created = await idempotencyKey?.find();
        if (exchange.created === undefined) throw error;
      }
    }
    return answerOf(await replay?.(exchange.created, request, context));
  };

  return (context) => {
    const chain = middy(perform as (input: unknown) => Promise<unknown>)
      .use(requestLog(row, context))
      .use(failureAnswers(failurePage))
      .use(callerCredentials(row))
      .use(admission(row, reads, tenancy(context.table)))
      .use(requestLimit(keyLimit(context)))
      .use(requestParsing(row))
      .use(answerText(row));
    return (event, invocation) => chain(event, invocation as LambdaContext) as Promise<APIGatewayProxyResult>;
  };
}

/** Gives every line of the request's log its id, and every answer `X-Request-Id`; logs that the request is answered. */
function requestLog(row: Route, context: Context): Middleware {
  const close: Middleware['after'] = ({ response, internal: { exchange } }) => {
    const { event, startedAt, credentials } = exchange;
    const { statusCode, headers } = response as APIGatewayProxyResult;
    Object.assign(headers ?? {}, { 'X-Request-Id': requestIdOf(event), traceparent: exchange.traceparent });
    exchange.context.log.info('answered', {
      method: event.httpMethod,
      path: loggedPath(event.resource, event.path),
      status: statusCode,
      ms: context.clock() - startedAt,
      ...(credentials === undefined ? {} : { key: credentials.keyMask }),
    });
  };
  return {
    before: (request) => {
      const event = request.event as APIGatewayProxyEvent;
      const requestId = requestIdOf(event);
      const trace = traceOf(requestId, headerOf(event.headers, 'traceparent'));
      const log = context.log.with({
        request_id: requestId,
        trace_id: trace.id,
        operation: row.handler,
        // Undefined on one machine.
        function_request_id: request.context?.awsRequestId,
      });
      const callerLeft = (request.context as Invocation | undefined)?.callerLeft;
      request.internal.exchange = {
        event,
        context: { ...context, log, ...(callerLeft && { callerLeft }) },
        startedAt: context.clock(),
        traceparent: trace.parent,
      };
    },
    after: close,
    onError: close,
  };
}

/** Answers whatever is thrown with one of the public failures. A mistake of ours is logged and not shown. */
function failureAnswers(pageOf: AnyOperation['failurePage']): Middleware {
  return {
    onError: (request) => {
      const { context, event } = request.internal.exchange;
      const failure = failureFrom(request.error, event);
      if (failure.status >= 500) {
        const { error } = request;
        context.log.error(messageOf(inWords(error)), { error });
      }
      const page = pageOf?.(failure, event);
      request.response =
        page === undefined
          ? reply(event, failure.status, failure.headers, JSON.stringify(failure.body))
          : reply(event, failure.status, { ...failure.headers, ...page.headers }, page.content, page.mediaType);
    },
  };
}

/**
 * Takes the credentials from the event: the authorizer has checked the key and its scope. Throws a 401 when the key has
 * expired while the gateway kept that answer.
 */
function callerCredentials(row: Route): Middleware {
  return {
    before: ({ internal: { exchange } }) => {
      if (row.scope === 'public') return;
      const text = exchange.event.requestContext.authorizer as CredentialsText | null | undefined;
      if (typeof text?.userId !== 'string') fail('not_authenticated');
      const credentials = fromContext(text);
      if ((credentials.expiresAt ?? Infinity) <= exchange.context.clock()) fail('not_authenticated');
      exchange.credentials = credentials;
      exchange.context = { ...exchange.context, callerUser: credentials.userId };
    },
  };
}

/**
 * Admits the caller to what the path names, with the operation's own reads and the look for an earlier request beside
 * tenancy's reads. Failures of these are seen only by callers who are admitted.
 */
function admission(
  row: Route,
  { read, found }: Pick<AnyOperation, 'read' | 'found'>,
  admit: ReturnType<typeof tenancy>,
): Middleware {
  return {
    before: async ({ internal: { exchange } }) => {
      const { event, context, credentials } = exchange;
      if (credentials === undefined) return;
      const { userId } = credentials;
      const sent = { ...(row.isOfCurrent === true ? CURRENT_PLACE : {}), ...event.pathParameters };
      const params = await resolveCurrent(context.table, credentials, event.resource, sent);
      const path = tenantPathOf(event.resource, params);
      const [proof, own, earlier] = await Promise.allSettled([
        admit(row, credentials, path),
        (async () => {
          exchange.early = earlyRequestOf(row, event, params, credentials, context);
          return read?.(exchange.early, context);
        })(),
        (async () => {
          if (row.idempotent !== true) return undefined;
          exchange.idempotencyKey = idempotencyKeyOf(event, row.status, userId, context);
          return exchange.idempotencyKey?.find();
        })(),
      ]);
      exchange.admitted = valueOf(proof);
      const result = valueOf(own);
      exchange.read = found === undefined ? result : found(result, tenantOf(exchange.admitted, row));
      exchange.created = valueOf(earlier);
    },
  };
}

/** Counts the requests of a key whose caller is admitted: who may not do something is told so first. */
function requestLimit(count: ReturnType<typeof keyLimit>): Middleware {
  return {
    before: async ({ internal: { exchange } }) => {
      if (exchange.credentials !== undefined) await count(exchange.credentials.keyId);
    },
  };
}

function valueOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

/** Returns the request without its body. Throws a 404 when path parameters do not fit: they name nothing. */
function earlyRequestOf(
  row: Route,
  event: APIGatewayProxyEvent,
  sent: Readonly<Record<string, string | undefined>>,
  caller: Credentials,
  { settings }: Pick<Context, 'settings'>,
): EarlyRequest {
  const params = row.params.safeParse(sent);
  if (!params.success) fail('not_found');
  const paging = pagingOf(event, row.paging, settings.publicUrl);
  return { params: params.data, query: parsedQuery(row, paging.query), caller, paging };
}

/** Parses the body and hands the operation its request. */
function requestParsing(row: Route): Middleware {
  return {
    before: (request) => {
      const { exchange } = request.internal;
      const { event, admitted, idempotencyKey } = exchange;
      const early = exchange.early ?? earlyRequestOf(row, event, event.pathParameters ?? {}, NOBODY, exchange.context);
      const complete: AnyRequest = {
        ...early,
        body: parsedBody(row, event),
        bytes: () => bytesOf(event),
        get caller() {
          return admitted?.caller ?? mistake(`${row.handler} is public and has no caller`);
        },
        get tenant() {
          return tenantOf(admitted, row);
        },
        read: exchange.read,
        ifMatch: ifMatchOf(headerOf(event.headers, 'if-match')),
        idempotencyOps: (objectId) => idempotencyKey?.ops(objectId) ?? [],
        activityOps: activityOpsOf(exchange.context, {
          user_uuid: early.caller.userId,
          key_mask: early.caller.keyMask,
          request_id: requestIdOf(event),
          organization: admitted?.tenant?.organization.id,
          project: admitted?.tenant?.project?.id,
        }),
        requestId: requestIdOf(event),
        header: (name) => headerOf(event.headers, name),
        address: event.requestContext.identity.sourceIp,
      };
      request.event = { request: complete, exchange };
    },
  };
}

function parsedQuery({ query, body, unsupported }: Route, sent: Paging['query']): unknown {
  if (query === undefined) return undefined;
  const values = fields(sent, query);
  if (body === undefined && unsupported !== undefined) refuseUnsupported(unsupported, values);
  return parse(query, values);
}

const NO_FIELDS = z.object({});

/** Returns the body as its row declares it. One of which no field is read is checked all the same, and not returned. */
function parsedBody(row: Route, event: APIGatewayProxyEvent): unknown {
  if (!takesBody(row)) return undefined;
  const { body = NO_FIELDS, unsupported = {} } = row;
  const sent = bodyOf(event, body);
  // Clients that make JSON of nothing send `null`.
  const parsed = parse(body, row.body === undefined ? (sent ?? {}) : sent);
  if (row.body === undefined) return undefined;
  refuseUnsupported(unsupported, sent);
  return parsed;
}

/** The credentials of whoever calls a public operation. */
const NOBODY: Credentials = {
  userId: '',
  keyId: '',
  keyHash: '',
  keyMask: '',
  scopes: [],
  scopedTeams: [],
  scopedOrganizations: [],
  expiresAt: null,
};

const tenantOf = (admitted: Admission | undefined, { handler }: Route): Tenant =>
  admitted?.tenant ?? mistake(`${handler} names no tenant`);

function mistake(message: string): never {
  throw new Error(message);
}

/** Writes the answer, whichever kind it is, and says of one that repeats an earlier one that it does. */
function answerText(row: Route): Middleware {
  return {
    after: (request) => {
      const { event, context, created } = request.internal.exchange;
      const { answerBytes } = context.settings;
      const answer = request.response as AnyAnswer<unknown>;
      const headers = { ...answer.headers, ...(created === undefined ? {} : { 'Idempotent-Replayed': 'true' }) };
      if (answer.kind === 'empty') request.response = reply(event, 204, headers);
      else {
        const told =
          answer.kind === 'content'
            ? reply(event, row.status, headers, answer.content, answer.mediaType)
            : jsonReply(row, answer, headers, event, context);
        request.response = handedOver(event, told, answerBytes);
      }
    },
  };
}

/** Returns an answer in JSON with exactly the fields that the row declares; a 304 for a version that the caller has. */
function jsonReply(
  row: Route,
  { body, version, isAccepted, isComputed }: Answer<unknown>,
  own: Readonly<Record<string, string>>,
  event: APIGatewayProxyEvent,
  { settings, log }: Pick<Context, 'settings' | 'log'>,
): APIGatewayProxyResult {
  const headers = { ...own, ...(version === undefined ? {} : { ETag: etagOf(version) }) };
  if (
    row.method === 'GET' &&
    !isComputed &&
    version !== undefined &&
    namesVersion(headerOf(event.headers, 'if-none-match'), version)
  )
    return reply(event, 304, headers);
  const textOf = (value: unknown): string =>
    JSON.stringify(declaredBody(row, value, { strict: settings.strictAnswers, log }));
  const text = textOf(body);
  const fitting = body instanceof OffsetPage ? body.fitting(text) : body;
  return reply(event, isAccepted ? 202 : row.status, headers, fitting === body ? text : textOf(fitting));
}
