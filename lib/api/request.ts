import type * as z from 'zod';
import type { ActivityOps } from '../accounts/activity/model.ts';
import type { Caller, Tenant } from '../accounts/organizations/tenant.ts';
import type { Credentials } from '../http/credentials.ts';
import type { IfMatch } from '../http/etag.ts';
import type { Paging } from '../http/page.ts';
import type { Route } from '../http/route.ts';
import type { Op } from '../ports/table/table.ts';

type Parsed<T> = NonNullable<T> extends z.ZodType ? z.output<NonNullable<T>> : undefined;

/** The body of a row's answer, as `run` returns it: nothing where the row has no `response`. */
export type Body<R extends Route> =
  NonNullable<R['response']> extends infer S
    ? S extends z.ZodUndefined
      ? void
      : S extends z.ZodType
        ? z.input<S>
        : undefined
    : undefined;

/** A request before its caller is proved, for the operation's own reads. `@current` is replaced by its id already. */
export interface EarlyRequest<R extends Route = Route> {
  readonly params: Parsed<R['params']>;
  readonly query: Parsed<R['query']>;
  readonly caller: Credentials;
  readonly paging: Paging;
}

/** A checked request. `Read` is what the operation's `read` returned. */
export interface Request<R extends Route = Route, Read = undefined> {
  readonly params: Parsed<R['params']>;
  readonly query: Parsed<R['query']>;
  readonly body: Parsed<R['body']>;
  /** Returns the body as it was sent. */
  readonly bytes: () => Buffer;
  readonly caller: Caller;
  /** Throws when the path names neither an organization nor a project (a mistake of ours). */
  readonly tenant: Tenant;
  /** The result of `found` or, without it, of `read`. */
  readonly read: Read;
  /** Limit, offset and cursor of a list, and what `page.ts` needs to write links. */
  readonly paging: Paging;
  /**
   * Undefined also when it is `*`. To be put into the write's condition, by `inVersion`; when the write is refused,
   * `endpoint` answers 412.
   */
  readonly ifMatch: IfMatch;
  /** Returns ops for the transaction that creates `objectId`, by which a repeat of the request is known. */
  readonly idempotencyOps: (objectId: string) => Op[];
  /**
   * Returns the ops of an entry of the activity log, to add to the transaction of the change. Every operation that
   * changes something adds them (`test/contract/activity.test.ts` looks).
   */
  readonly activityOps: ActivityOps;
  readonly requestId: string;
  /** Returns a header of the request. */
  readonly header: (name: string) => string | undefined;
  /** The address from which the request came, as the gateway knows it. */
  readonly address: string;
}
