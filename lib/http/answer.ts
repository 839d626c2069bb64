import { gzipSync } from 'node:zlib';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import * as z from 'zod';
import { Failure } from '../ports/errors.ts';
import type { Log } from '../ports/log.ts';
import { BODY_HEADERS, headerOf } from './header.ts';
import type { Route } from './route.ts';

/** An answer in JSON with more than a body. Operations that need no more return the body itself. */
export class Answer<T> {
  readonly kind = 'json';
  readonly body: T;
  /** The version of the writable state: answered as ETag. */
  readonly version: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** It is a 202, of a row that is `orAccepted`: what was asked for is under way. */
  readonly isAccepted: boolean;
  /** It shows more than its version tells of, so it is never a 304. */
  readonly isComputed: boolean;
  constructor(
    body: T,
    options: { version?: number; headers?: Record<string, string>; isAccepted?: boolean; isComputed?: boolean } = {},
  ) {
    this.body = body;
    this.isAccepted = options.isAccepted ?? false;
    this.isComputed = options.isComputed ?? false;
    this.version = options.version;
    this.headers = options.headers ?? {};
  }
}

/** An answer 204 without a body, for rows that are `orEmpty`: what should go is gone. */
export class EmptyAnswer {
  readonly kind = 'empty';
  readonly headers: Readonly<Record<string, string>> = {};
}

/** An answer that is text or bytes already: a page, a file, a picture, the reference. It is sent as it is. */
export class ContentAnswer<Content extends string | Buffer = string | Buffer> {
  readonly kind = 'content';
  readonly content: Content;
  /** `text/html; charset=utf-8`, `image/png`. */
  readonly mediaType: string;
  readonly headers: Readonly<Record<string, string>>;
  constructor(content: Content, mediaType: string, headers: Record<string, string> = {}) {
    this.content = content;
    this.mediaType = mediaType;
    this.headers = headers;
  }
}

/** Whatever an operation answers, told apart by its `kind`. `T` is the body of one in JSON. */
export type AnyAnswer<T> = Answer<T> | EmptyAnswer | ContentAnswer;

const ANSWERS = [Answer, EmptyAnswer, ContentAnswer] as const;

const isAnswer = (value: unknown): value is AnyAnswer<unknown> => ANSWERS.some((one) => value instanceof one);

/** Returns what an operation returned as an answer: it may be one, or the body of one in JSON. */
export const answerOf = (result: unknown): AnyAnswer<unknown> => (isAnswer(result) ? result : new Answer(result));

/**
 * Returns the body as it may leave: exactly the fields that the row declares. A body that does not fit its row is a
 * mistake of ours. `strict` (tests) throws it; otherwise it is logged, and the caller still gets the declared fields:
 * what they asked for was done, and a list must not break on one odd item.
 */
export function declaredBody(row: Route, body: unknown, { strict, log }: { strict: boolean; log: Log }): unknown {
  if (row.response === undefined) return undefined;
  const checked = row.response.safeParse(body);
  if (checked.success) return checked.data;
  const message = `${row.handler} answers what its row does not declare`;
  if (strict) throw new Error(`${message}: ${z.prettifyError(checked.error)}`);
  log.error(message, { faults: z.prettifyError(checked.error) });
  return onlyDeclared(row.response, body);
}

/** Returns a value that does not fit the schema without what the schema does not declare. */
function onlyDeclared(schema: unknown, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return onlyDeclared(schema.unwrap(), value);
  if (schema instanceof z.ZodArray) {
    return Array.isArray(value) ? value.map((item) => onlyDeclared(schema.element, item)) : [];
  }
  if (schema instanceof z.ZodObject) {
    const names = Object.keys(schema.shape).filter((name) => Object.hasOwn(value, name));
    return Object.fromEntries(
      names.map((name) => [name, onlyDeclared(schema.shape[name], (value as Record<string, unknown>)[name])]),
    );
  }
  return schema instanceof z.ZodRecord || schema instanceof z.ZodUnknown ? value : null;
}

/** Returns an answer as a gateway takes it, with a body or without. HEAD has the headers that GET would have. */
export function reply(
  { httpMethod }: Pick<APIGatewayProxyEvent, 'httpMethod'>,
  statusCode: number,
  headers: Readonly<Record<string, string>>,
  body?: string | Buffer,
  mediaType = 'application/json',
): APIGatewayProxyResult {
  if (body === undefined) return { statusCode, headers: { ...headers }, body: '' };
  const described = { ...BODY_HEADERS, ...headers, 'Content-Type': mediaType };
  if (httpMethod !== 'HEAD') {
    return typeof body === 'string'
      ? { statusCode, headers: described, body }
      : { statusCode, headers: described, body: body.toString('base64'), isBase64Encoded: true };
  }
  return { statusCode, headers: { ...described, 'Content-Length': String(Buffer.byteLength(body)) }, body: '' };
}

/** A text of fewer characters is small enough however it is written. */
const SMALL = 500_000;

/**
 * Returns an answer as a gateway may be handed it: as JSON, in which each quote of a text takes two bytes and more, it has at
 * most so many. One that is larger is packed for callers who take that. Throws a 400 where it is too large all the same.
 */
export function handedOver(
  { headers }: Pick<APIGatewayProxyEvent, 'headers'>,
  answer: APIGatewayProxyResult,
  most: number | null,
): APIGatewayProxyResult {
  const fits = (one: APIGatewayProxyResult): boolean => most === null || Buffer.byteLength(JSON.stringify(one)) <= most;
  if (answer.body.length <= SMALL || fits(answer)) return answer;
  if (answer.isBase64Encoded !== true && GZIP.test(headerOf(headers, 'accept-encoding') ?? '')) {
    const packed = {
      ...answer,
      headers: { ...answer.headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' },
      body: gzipSync(answer.body).toString('base64'),
      isBase64Encoded: true,
    };
    if (fits(packed)) return packed;
  }
  throw new Failure('validation', {
    detail: 'The answer is too large to be sent. Ask for less, or take it packed: send `Accept-Encoding: gzip`.',
  });
}

const GZIP = /(?:^|[,\s])(?:gzip|\*)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;
