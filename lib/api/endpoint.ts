/** From a row and what is particular to it to a handler: the only file that knows middy. */
import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context as LambdaContext } from 'aws-lambda';
import { tellAs } from '../accounts/activity/tell.ts';
import { declaredBody, reply } from '../http/answer.ts';
import { bodyOf, fields } from '../http/body.ts';
import { etagOf, namesVersion, versionsIn } from '../http/etag.ts';
import { failureFrom } from '../http/failures.ts';
import { headerOf } from '../http/header.ts';
import { type Once, onceOf } from '../http/idempotency.ts';
import { OffsetPage, pagingOf } from '../http/page.ts';
import { parsed } from '../http/parsed.ts';
import {
  Answer,
  type Body,
  type Credentials,
  type Early,
  EmptyAnswer,
  type Request,
  type Tenant,
  TextAnswer,
} from '../http/request.ts';
import type { Route } from '../http/route.ts';
import type { Context } from '../ports/context.ts';
import { type Failure, fail, messageOf } from '../ports/errors.ts';
import { type CredentialsText, fromContext } from './credentials.ts';
import { type Admitted, placeOf, resolveCurrent, tenancy } from './tenancy.ts';

type Awaitable<T> = T | Promise<T>;

/** What is particular to an operation. */
export interface Operation<R extends Route, Read, Found = Read> {
  /** Reads that need nothing but the request; started beside the tenancy's own, seen only when that has passed. */
  readonly read?: (request: Early<R>, context: Context) => Promise<Read>;
  /**
   * What `run` gets for what was read, once tenancy has passed and before the body is looked at: the place to answer
   * that the object is not there.
   */
  readonly found?: (read: Read, tenant: Tenant) => Found;
  readonly run: Run<R, Found>;
  /** The answer of a create again, for a repeated Idempotency-Key. Rows that are `idempotent` must have it. */
  readonly replay?: (objectId: string, request: Request<R, Found>, context: Context) => Result<R>;
  /** A failure as a page for people; undefined: the four fields. */
  readonly failed?: (failure: Failure, event: APIGatewayProxyEvent) => TextAnswer | undefined;
}

/** What an operation does once its request is checked. */
export type Run<R extends Route, Read> = (request: Request<R, Read>, context: Context) => Result<R>;

type Result<R extends Route> = Awaitable<Body<R> | Answer<Body<R>>>;

export type Handler = (event: APIGatewayProxyEvent, lambda?: LambdaContext) => Promise<APIGatewayProxyResult>;

/** The form of operations inside this file: whatever the row says, `endpoint` has checked it. */
type AnyOperation = Operation<Route, unknown>;
type AnyRequest = Request<Route, unknown>;

/** What the chain finds out about one request, stage by stage. */
interface Exchange {
  readonly event: APIGatewayProxyEvent;
  readonly context: Context;
  readonly startedAt: number;
  credentials?: Credentials;
  early?: Early;
  admitted?: Admitted;
  read?: unknown;
  once?: Once | undefined;
  /** What an earlier request with the same Idempotency-Key created. */
  created?: string | undefined;
}

type Stage = middy.MiddlewareObj<unknown, unknown, Error, LambdaContext, { exchange: Exchange }>;

/**
 * The handler of a row, as a function of its context. Each request passes one chain: log and request id, caller,
 * tenancy, parse, run, check of the answer; failures are mapped on the way out.
 */
export function endpoint<R extends Route, Read = undefined, Found = Read>(
  row: R,
  operation: Operation<R, Read, Found> | Run<R, Found>,
): (context: Context) => Handler {
  const {
    run,
    replay,
    failed: page,
    ...reads
  } = (typeof operation === 'function' ? { run: operation } : operation) as unknown as AnyOperation;
  if (row.idempotent === true && replay === undefined) throw new Error(`${row.handler} cannot replay`);

  const perform = async ({
    request,
    exchange,
  }: {
    request: AnyRequest;
    exchange: Exchange;
  }): Promise<Answer<unknown>> => {
    const { context, created, once } = exchange;
    const again = async (objectId: string) => replayed(await replay?.(objectId, request, context));
    if (created !== undefined) return again(created);
    try {
      const result: unknown = await run(request, context);
      return result instanceof Answer ? result : new Answer(result);
    } catch (error) {
      // Two with one key at once: the slower one fails, in whatever way, and finds what the faster one wrote.
      const twin = await once?.find();
      if (twin === undefined) throw error;
      return again(twin);
    }
  };

  return (context) => {
    const chain = middy(perform as (input: unknown) => Promise<unknown>)
      .use(logged(row, context))
      .use(failed(page))
      .use(called(row))
      .use(admitted(row, reads, tenancy(context.table)))
      .use(checked(row))
      .use(answered(row));
    return (event, lambda) => chain(event, lambda as LambdaContext) as Promise<APIGatewayProxyResult>;
  };
}

function replayed(result: unknown): Answer<unknown> {
  const { body, version, headers } = result instanceof Answer ? result : new Answer<unknown>(result);
  return new Answer(body, {
    ...(version === undefined ? {} : { version }),
    headers: { ...headers, 'Idempotent-Replayed': 'true' },
  });
}

/** Every line of the request's log carries its id, and every answer: `X-Request-Id`. */
function logged(row: Route, context: Context): Stage {
  const close: Stage['after'] = ({ response, internal: { exchange } }) => {
    const { event, startedAt, credentials } = exchange;
    const { statusCode, headers } = response as APIGatewayProxyResult;
    Object.assign(headers ?? {}, { 'X-Request-Id': event.requestContext.requestId });
    exchange.context.log.info('answered', {
      method: event.httpMethod,
      path: event.path,
      status: statusCode,
      ms: context.clock() - startedAt,
      ...(credentials === undefined ? {} : { key: credentials.keyMask }),
    });
  };
  return {
    before: (request) => {
      const event = request.event as APIGatewayProxyEvent;
      const log = context.log.with({ request_id: event.requestContext.requestId, operation: row.handler });
      request.internal.exchange = { event, context: { ...context, log }, startedAt: context.clock() };
    },
    after: close,
    onError: close,
  };
}

/** Whatever is thrown becomes one of the public failures; what is our mistake is logged, and says nothing. */
function failed(page: AnyOperation['failed']): Stage {
  return {
    onError: (request) => {
      const { context, event } = request.internal.exchange;
      const failure = failureFrom(request.error, event);
      if (failure.status >= 500) {
        const { error } = request;
        context.log.error(messageOf(error), { stack: error instanceof Error ? error.stack : undefined });
      }
      const shown = page?.(failure, event);
      request.response =
        shown === undefined
          ? reply(event, failure.status, failure.headers, JSON.stringify(failure.body))
          : reply(event, failure.status, { ...failure.headers, ...shown.headers }, shown.text, shown.mediaType);
    },
  };
}

/** The authorizer has checked the key and its scope; what it found is in the event. */
function called(row: Route): Stage {
  return {
    before: ({ internal: { exchange } }) => {
      if (row.scope === 'public') return;
      const text = exchange.event.requestContext.authorizer as CredentialsText | null | undefined;
      if (typeof text?.userId !== 'string') fail('not_authenticated');
      exchange.credentials = fromContext(text);
    },
  };
}

/**
 * Tenancy, with the operation's own reads and the look for an earlier request beside it. Their failures are seen only
 * by callers who passed.
 */
function admitted(
  row: Route,
  { read, found }: Pick<AnyOperation, 'read' | 'found'>,
  admit: ReturnType<typeof tenancy>,
): Stage {
  return {
    before: async ({ internal: { exchange } }) => {
      const { event, context, credentials } = exchange;
      if (credentials === undefined) return;
      const { userId } = credentials;
      const sent = event.pathParameters ?? {};
      const params = await resolveCurrent(context.table, userId, event.resource, sent);
      const place = placeOf(event.resource, params);
      const [proof, own, earlier] = await Promise.allSettled([
        admit(row, credentials, place),
        (async () => {
          exchange.early = earlyOf(row, event, params, credentials);
          return read?.(exchange.early, context);
        })(),
        (async () => {
          if (row.idempotent !== true) return undefined;
          exchange.once = onceOf(event, row.status, userId, context);
          return exchange.once?.find();
        })(),
      ]);
      exchange.admitted = valueOf(proof);
      const result = valueOf(own);
      exchange.read = found === undefined ? result : found(result, tenantOf(exchange.admitted, row));
      exchange.created = valueOf(earlier);
    },
  };
}

function valueOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

/** Path parameters that do not fit name nothing: 404. */
function earlyOf(
  row: Route,
  event: APIGatewayProxyEvent,
  sent: Readonly<Record<string, string | undefined>>,
  caller: Credentials,
): Early {
  const params = row.params.safeParse(sent);
  if (!params.success) fail('not_found');
  const paging = pagingOf(event, row.paging);
  const query = row.query === undefined ? undefined : parsed(row.query, fields(paging.query, row.query));
  return { params: params.data, query, caller, paging };
}

/** The last stage before the operation: the body, and the request as the operation sees it. */
function checked(row: Route): Stage {
  return {
    before: (request) => {
      const { exchange } = request.internal;
      const { event, admitted, once } = exchange;
      const tags = headerOf(event.headers, 'if-match');
      const versions = tags === undefined ? 'any' : versionsIn(tags);
      const early = exchange.early ?? earlyOf(row, event, event.pathParameters ?? {}, NOBODY);
      const complete: AnyRequest = {
        ...early,
        body: row.body === undefined ? undefined : parsed(row.body, bodyOf(event, row.body)),
        get caller() {
          return admitted?.caller ?? mistake(`${row.handler} is public and has no caller`);
        },
        get tenant() {
          return tenantOf(admitted, row);
        },
        read: exchange.read,
        ifMatch: versions === 'any' ? undefined : versions,
        once: (objectId) => once?.ops(objectId) ?? [],
        activity: tellAs(exchange.context, {
          user_uuid: early.caller.userId,
          key_mask: early.caller.keyMask,
          request_id: event.requestContext.requestId,
          organization: admitted?.tenant?.organization.id,
          project: admitted?.tenant?.project?.id,
        }),
        requestId: event.requestContext.requestId,
      };
      request.event = { request: complete, exchange };
    },
  };
}

/** Who calls a public operation. */
const NOBODY: Credentials = {
  userId: '',
  keyId: '',
  keyMask: '',
  scopes: [],
  scopedTeams: [],
  scopedOrganizations: [],
};

const tenantOf = (admitted: Admitted | undefined, { handler }: Route): Tenant =>
  admitted?.tenant ?? mistake(`${handler} names no tenant`);

function mistake(message: string): never {
  throw new Error(message);
}

/** The answer, with exactly the fields that the row declares; text as it is. */
function answered(row: Route): Stage {
  return {
    after: (request) => {
      const { event, context } = request.internal.exchange;
      const answer = request.response as Answer<unknown>;
      const { body, version, headers } = answer;
      if (answer instanceof EmptyAnswer) {
        request.response = reply(event, 204, headers);
        return;
      }
      if (answer instanceof TextAnswer) {
        request.response = reply(event, row.status, headers, answer.text, answer.mediaType);
        return;
      }
      const tag: Record<string, string> = version === undefined ? {} : { ETag: etagOf(version) };
      if (
        row.method === 'GET' &&
        version !== undefined &&
        namesVersion(headerOf(event.headers, 'if-none-match'), version)
      ) {
        request.response = reply(event, 304, { ...headers, ...tag });
        return;
      }
      const textOf = (value: unknown): string =>
        JSON.stringify(declaredBody(row, value, { strict: context.settings.strictAnswers, log: context.log }));
      const text = textOf(body);
      const fitting = body instanceof OffsetPage ? body.fitting(text) : body;
      request.response = reply(event, row.status, { ...headers, ...tag }, fitting === body ? text : textOf(fitting));
    },
  };
}
