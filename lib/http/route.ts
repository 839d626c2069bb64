import * as z from 'zod';
import type { Need } from '../ports/needs.ts';
import type { MembershipLevel } from './levels.ts';
import type { Scope } from './scopes.ts';
import type { Unsupported } from './unsupported.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** How a list is paged; `page.ts` reads it. */
export interface PagingRule {
  /** `offset`: limit, offset and count. `cursor`: pages linked to one another, without a count. */
  readonly kind: 'offset' | 'cursor';
  /** The results of a page when the caller does not say. */
  readonly limit?: number;
  /** A larger limit is taken as this. */
  readonly max?: number;
  /**
   * A cursor list that may also be asked by `offset`, up to so many. Who does so takes a page with fewer results than they
   * asked for as the last, so nothing is cut: what is larger than these numbers, or than an answer may be, is refused.
   */
  readonly maxOffset?: number;
}

/** The limits of a list that names none: the first is PostHog's, the second ours. */
export const PAGING = { limit: 100, max: 1000 } as const;

/** Of lists by cursor that are paged by offset too, as clients of PostHog do that count what they get. */
export const BY_CURSOR_OR_OFFSET = { kind: 'cursor', max: 10_000, maxOffset: 100_000 } as const satisfies PagingRule;

/** In the OpenAPI document, an operation that is another one on a second path names it here. */
export const TWIN = 'x-twin-of';

/**
 * One endpoint, declared once and read by the gateway, the authorizer, `endpoint`, the OpenAPI document, infra and
 * the contract tests.
 *
 * A path template has no trailing slash; requests may. Two parameters at one place have one name in all rows (API
 * Gateway's rule), so organizations are always `{organization_id}` and projects `{project_id}`: a path that names
 * one of them is proved to be the caller's before the operation runs.
 */
export interface Route<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> {
  /** The file below `functions/`, without its ending; the operation's name everywhere. */
  readonly handler: string;
  readonly method: HttpMethod;
  readonly paths: readonly [string, ...string[]];
  /** `public`: no key; `any`: any valid key. There is no default. */
  readonly scope: Scope | 'public' | 'any';
  /** Whether a path of it that names no organization is about the current one: what a key is limited to is seen to by the handler. */
  readonly isOfCurrent?: boolean;
  /** The least membership that a caller needs in the organization of the path. Absent: any. */
  readonly level?: MembershipLevel;
  readonly summary: string;
  /** More than the summary, for the reference page. */
  readonly description?: string;
  /** The heading in the reference page. */
  readonly tag: string;
  readonly params: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** The body is bytes of any type, as `bytes` of the request; such a row has no `body`. At most so many. */
  readonly maxBytes?: number;
  /** Fields that PostHog's body has and this one has not; of a row without a body, parameters of its query. */
  readonly unsupported?: Unsupported;
  /** Absent: an answer without a body, or one that is text. */
  readonly response?: Response;
  /** Media types of what it answers as content (`ContentAnswer`): pages for people, and what they need. */
  readonly content?: readonly [string, ...string[]];
  /** 202: what was asked for is done, or under way. 405: a method that the path has in name only; it answers so without a body. */
  readonly status: 200 | 201 | 202 | 204 | 405;
  /** Whether the answer may also be `EmptyAnswer`, a 204. */
  readonly orEmpty?: boolean;
  /** Whether the answer may also be a 202 of the same shape: what was asked for is under way. */
  readonly orAccepted?: boolean;
  /** A body that works as it stands, for the reference. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** Whether the operation takes an Idempotency-Key: a POST that creates or starts something. */
  readonly idempotent?: boolean;
  /** Whether a POST takes If-Match; what has the path of a PATCH always does. */
  readonly conditional?: boolean;
  /** Lists say how they are paged. */
  readonly paging?: PagingRule;
  readonly needs?: readonly Need[];
  /** Whether the request may bring secrets, which are sealed; other operations with the vault only open what is sealed. */
  readonly seals?: true;
  /**
   * What the operation does with the table, if less than others: a GET reads it, any other method writes it, too.
   * `counts`: it reads, and counts how often something was done.
   */
  readonly table?: 'none' | 'read' | 'counts';
}

const WITH_BODY: ReadonlySet<HttpMethod> = new Set(['POST', 'PUT', 'PATCH']);

/** Returns whether what a request of the row has as its body is read, though it may be that no field of it is. */
export const takesBody = ({ method, body, maxBytes }: Pick<Route, 'method' | 'body' | 'maxBytes'>): boolean =>
  body !== undefined || (maxBytes === undefined && WITH_BODY.has(method));

/** Returns the row with its exact types, of status 200 by default. What it does not name is undefined in requests. */
export function route<
  P extends z.ZodType,
  Q extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  R extends z.ZodType = z.ZodUndefined,
>(row: Omit<Route<P, Q, B, R>, 'status'> & Partial<Pick<Route, 'status'>>): Route<P, Q, B, R> {
  return { status: 200, ...row };
}

/** Returns a path as it may be logged: as its template where a token in it opens a page, whatever the method. */
export const loggedPath = (template: string, path: string): string => (template.includes('{token}') ? template : path);

const link = z.string().nullable().meta({ format: 'uri' });

/** Returns the shape of an offset list's answer. */
export function pageOf<T extends z.ZodType>(result: T) {
  return z.object({
    count: z.int().describe('How many there are in all.'),
    next: link,
    previous: link,
    results: z.array(result),
  });
}

/** Returns the shape of a cursor list's answer. */
export function cursorPageOf<T extends z.ZodType>(result: T) {
  return z.object({ next: link, previous: link, results: z.array(result) });
}
