/** The public API, typed from its own document. The console asks for nothing else. */
import createClient from 'openapi-fetch';
import type { paths } from '../../../build/types/api.d.ts';
import type { Schemas } from './schemas.ts';
import { dropKey, endSession, sessionKey } from './session.ts';

export type { Schemas };

/** Where the service is: the page's own address, with the stage's name if it has one. */
export const ADDRESS = `${location.origin}${location.pathname.replace(/\/$/, '')}`;

/** A refusal in the API's words. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  /** The field at fault; parts of a nested name are joined by `__`. */
  readonly attr: string | null;
  /** When to ask again, in milliseconds; null: that was not said. */
  readonly retryAfterMs: number | null;
  constructor(status: number, { code, detail, attr }: Schemas['Error'], retryAfterMs: number | null = null) {
    super(detail);
    this.status = status;
    this.code = code;
    this.attr = attr;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Returns a refusal of what need not be asked: it is wrong whatever the service knows. */
export const refusedHere = (detail: string): Refusal =>
  new Refusal(400, { type: 'validation_error', code: 'invalid_input', detail, attr: null });

export const api = createClient<paths>({
  baseUrl: ADDRESS,
  // An answer that is kept by the browser could be another key's.
  cache: 'no-store',
  credentials: 'omit',
});

/** Returns how a request names the key of the session; null: nobody is signed in. */
function credentials(): string | null {
  const key = sessionKey();
  return key === null ? null : `Bearer ${key}`;
}

const NOT_FOUND: Schemas['Error'] = { type: 'invalid_request', code: 'not_found', detail: 'Not found.', attr: null };

/** What named the key that the service has known last: what was done with it is kept when it knows it no longer. */
let lastKnown: string | null = null;

api.use({
  onRequest: ({ request, params }) => {
    // In an address dots stand for what is around: to delete a person called `..` would be to delete the project.
    if (Object.values(params.path ?? {}).some((name) => name === '.' || name === '..'))
      return Response.json(NOT_FOUND, { status: 404 });
    const own = credentials();
    if (own !== null) request.headers.set('Authorization', own);
    return request;
  },
  onResponse: ({ request, response }) => {
    const own = credentials();
    // What was asked with a key of before, and is answered late, says nothing about the key of now.
    if (own === null || request.headers.get('Authorization') !== own) return response;
    if (response.status !== 401) lastKnown = own;
    else if (lastKnown === own) endSession();
    else dropKey();
    return response;
  },
});

interface Reply<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

const isError = (value: unknown): value is Schemas['Error'] =>
  typeof value === 'object' && value !== null && 'detail' in value && 'code' in value;

function retryAfterMs({ headers }: Response): number | null {
  const seconds = Number(headers.get('retry-after') ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1_000 : null;
}

function refusalOf({ error, response }: Reply<unknown>): Refusal {
  const detail = `The service answered ${response.status} without saying why.`;
  const told = isError(error) ? error : { type: 'server_error' as const, code: 'unknown', detail, attr: null };
  return new Refusal(response.status, told, retryAfterMs(response));
}

/** Returns the body of an answer. Throws its `Refusal`. */
export async function answered<T>(asked: Promise<Reply<T>>): Promise<T> {
  const reply = await asked;
  if (!reply.response.ok) throw refusalOf(reply);
  return reply.data as T;
}

/** Returns what is asked for; null: the key may not tell it. Throws the `Refusal` of anything else. */
export const unlessForbidden = <T>(asked: Promise<T>): Promise<T | null> =>
  asked.catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 403) return null;
    throw error;
  });

/** An object with the ETag that it had, for `If-Match`. */
export interface Versioned<T> {
  readonly value: T;
  readonly etag: string | null;
}

/** How an object at an address is asked for: under which key its version is known here, and what reads it as it is now. */
export interface At<Value> {
  readonly queryKey: readonly unknown[];
  readonly queryFn: () => Promise<Versioned<Value>>;
}

/** Returns the object of an answer with its version. Throws its `Refusal`. */
export async function versioned<T>(asked: Promise<Reply<T>>): Promise<Versioned<T>> {
  const reply = await asked;
  if (!reply.response.ok) throw refusalOf(reply);
  return { value: reply.data as T, etag: reply.response.headers.get('etag') };
}

/** Returns the header that lets a write happen only to the version that was seen. */
export const ifMatch = ({ etag }: Versioned<unknown>): { 'If-Match'?: string } =>
  etag === null ? {} : { 'If-Match': etag };

/** Returns the cursor in the link to the next page of a list; undefined: there is none. */
export const cursorOf = (next: string | null): string | undefined =>
  next === null ? undefined : (new URL(next).searchParams.get('cursor') ?? undefined);
