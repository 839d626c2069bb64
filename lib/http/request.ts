import type * as z from 'zod';
import type { Tell } from '../accounts/activity/model.ts';
import type { MembershipItem, OrganizationItem, ProjectItem } from '../accounts/organizations/model.ts';
import type { UserItem } from '../accounts/users/model.ts';
import type { Op } from '../ports/table/table.ts';
import type { Route } from './route.ts';

/** What the authorizer found out about the key; travels as text in the request context. */
export interface Credentials {
  readonly userId: string;
  readonly keyId: string;
  readonly keyMask: string;
  readonly scopes: readonly string[];
  /** Empty: no limit. */
  readonly scopedTeams: readonly number[];
  /** Empty: no limit. */
  readonly scopedOrganizations: readonly string[];
}

/** Who calls: the key, its user and the user's memberships (read with each request, so a removal acts at once). */
export interface Caller extends Credentials {
  readonly user: UserItem;
  readonly memberships: readonly MembershipItem[];
}

/** The organization that the path names (directly, or through its project), proved to be the caller's. */
export interface Tenant {
  readonly organization: OrganizationItem;
  /** The caller's membership in it. */
  readonly membership: MembershipItem;
  /** Present when the path names a project. */
  readonly project?: ProjectItem;
}

type Parsed<T> = NonNullable<T> extends z.ZodType ? z.output<NonNullable<T>> : undefined;

/** What `run` may return as the body of a row's answer. */
export type Body<R extends Route> =
  NonNullable<R['response']> extends infer S ? (S extends z.ZodType ? z.input<S> : undefined) : undefined;

/**
 * What is known of a request before its caller is proved: enough to start the operation's own reads. `@current` in
 * the path has been replaced by the id that it stands for.
 */
export interface Early<R extends Route = Route> {
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
  readonly caller: Caller;
  /** Throws when the path names neither an organization nor a project (a mistake of ours). */
  readonly tenant: Tenant;
  /** What was read beside the tenancy reads. */
  readonly read: Read;
  /** Limit, offset and cursor of a list, and what `page.ts` needs to write links. */
  readonly paging: Paging;
  /**
   * Versions that If-Match names; undefined when it was not sent or is `*`. To be put into the write's condition:
   * `is: { ver: [...ifMatch] }`; when the write is refused, `endpoint` answers 412.
   */
  readonly ifMatch: readonly number[] | undefined;
  /** Ops to add to the transaction that creates `objectId`, so that a repeat with the same Idempotency-Key is known. */
  readonly once: (objectId: string) => Op[];
  /**
   * Ops to add to the transaction of what this request changes: the entry of the activity log. Every operation that
   * changes something adds them (`test/contract/activity.test.ts` looks).
   */
  readonly activity: Tell;
  readonly requestId: string;
}

export interface Paging {
  readonly limit: number;
  readonly offset: number;
  /** Where the last page ended, as `next` carries it. */
  readonly cursor: string | undefined;
  /** The request's own absolute address, without query; on the caller's origin, with slash or without, as sent. */
  readonly url: string;
  /** The query as sent, repeated names kept. */
  readonly query: readonly (readonly [string, string])[];
}

/** An answer with more than a body. Operations that need no more return the body itself. */
export class Answer<T> {
  readonly body: T;
  /** The version of the writable state: answered as ETag. */
  readonly version: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  constructor(body: T, options: { version?: number; headers?: Record<string, string> } = {}) {
    this.body = body;
    this.version = options.version;
    this.headers = options.headers ?? {};
  }
}

/** 204: what was asked to be gone is gone. For rows that are `orEmpty`. */
export class EmptyAnswer extends Answer<never> {
  constructor() {
    super(undefined as never);
  }
}

/** An answer that is no JSON: a page, or a file that it needs. The text is sent as it is. */
export class TextAnswer extends Answer<never> {
  readonly text: string;
  /** `text/html; charset=utf-8`. */
  readonly mediaType: string;
  constructor(text: string, mediaType: string, headers: Record<string, string> = {}) {
    super(undefined as never, { headers });
    this.text = text;
    this.mediaType = mediaType;
  }
}
