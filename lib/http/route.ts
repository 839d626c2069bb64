import type * as z from 'zod';
import type { Scope } from '../auth/scopes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What else than the table a handler touches; infra grants exactly this. */
export type Need = 'workflow' | 'vault' | 'lake' | 'spool' | 'outbound';

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
  readonly method: Method;
  readonly paths: readonly [string, ...string[]];
  /** `public`: no key; `any`: any valid key. There is no default. */
  readonly scope: Scope | 'public' | 'any';
  readonly summary: string;
  /** More than the summary, for the reference page. */
  readonly description?: string;
  /** The heading in the reference page. */
  readonly tag: string;
  readonly params: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** Absent: an answer without a body. */
  readonly response?: Response;
  readonly status: 200 | 201 | 204;
  /** POSTs that create or start something take an Idempotency-Key. */
  readonly idempotent?: boolean;
  readonly needs?: readonly Need[];
}

/** Keeps the exact types of a row. */
export function route<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  row: Route<P, Q, B, R>,
): Route<P, Q, B, R> {
  return row;
}
