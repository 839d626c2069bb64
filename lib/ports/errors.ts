/**
 * Every failure that a caller can meet, once. The endpoint, the gateway responses, the OpenAPI document and the
 * contract tests all read this table; a failure that is not in it cannot be answered.
 */
export const FAILURES = {
  validation: { status: 400, type: 'validation_error', code: 'invalid_input', detail: 'Invalid input.' },
  parse_error: { status: 400, type: 'invalid_request', code: 'parse_error', detail: 'Malformed request.' },
  not_authenticated: {
    status: 401,
    type: 'authentication_error',
    code: 'not_authenticated',
    detail: 'Authentication credentials were not provided or are invalid.',
  },
  permission_denied: {
    status: 403,
    type: 'authentication_error',
    code: 'permission_denied',
    detail: 'You do not have permission to perform this action.',
  },
  not_found: { status: 404, type: 'invalid_request', code: 'not_found', detail: 'Not found.' },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request',
    code: 'method_not_allowed',
    detail: 'Method not allowed.',
  },
  conflict: {
    status: 409,
    type: 'invalid_request',
    code: 'conflict',
    detail: 'The request conflicts with another one.',
  },
  precondition_failed: {
    status: 412,
    type: 'invalid_request',
    code: 'precondition_failed',
    detail: 'The object has changed since the version that If-Match names.',
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request',
    code: 'request_too_large',
    detail: 'The request body is larger than 1 MiB.',
  },
  uri_too_long: { status: 414, type: 'invalid_request', code: 'uri_too_long', detail: 'The address is too long.' },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request',
    code: 'unsupported_media_type',
    detail: 'Unsupported media type in request.',
  },
  headers_too_large: {
    status: 431,
    type: 'invalid_request',
    code: 'headers_too_large',
    detail: 'The request headers are too large.',
  },
  throttled: { status: 429, type: 'throttled_error', code: 'throttled', detail: 'Request was throttled.' },
  server_error: { status: 500, type: 'server_error', code: 'error', detail: 'A server error occurred.' },
  timeout: { status: 504, type: 'server_error', code: 'error', detail: 'The request took too long.' },
} as const satisfies Record<string, { status: number; type: string; code: string; detail: string }>;

export type FailureKind = keyof typeof FAILURES;

/** The shape of every error answer: four fields, about the first error only. */
export interface ErrorBody {
  type: string;
  code: string;
  detail: string;
  attr: string | null;
}

interface FailureOptions {
  /** The text for people; by default the kind's own. */
  detail?: string;
  /** The field at fault, nested names joined with `__`. */
  attr?: string | null;
  /** A finer code than the kind's own (`required`, `blank`, `does_not_exist` ...). */
  code?: string;
  headers?: Record<string, string>;
}

/** A failure on its way to the caller. Thrown by `fail`, answered by `endpoint`. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: ErrorBody;

  constructor(kind: FailureKind, options: FailureOptions = {}) {
    const { status, type, code, detail } = FAILURES[kind];
    super(options.detail ?? detail);
    this.kind = kind;
    this.status = status;
    this.headers = options.headers ?? {};
    this.body = { type, code: options.code ?? code, detail: this.message, attr: options.attr ?? null };
  }
}

/** Ends the operation with a failure that the caller meets. */
export function fail(kind: FailureKind, options: FailureOptions | string = {}): never {
  throw new Failure(kind, typeof options === 'string' ? { detail: options } : options);
}

/** Ends the operation with a 400 about one field of the body or of the query. */
export function invalid(attr: string | null, detail: string, code = 'invalid_input'): never {
  throw new Failure('validation', { attr, detail, code });
}

/**
 * A step failed for a reason that may pass (throttling, a network, a server that is down). State machines match the
 * name and try again with backoff.
 */
export class Transient extends Error {
  override readonly name = 'Transient';
}

/** A step failed for a reason that only the user can mend (bad credentials, a missing bucket). Never tried again. */
export class Permanent extends Error {
  override readonly name = 'Permanent';
}

/** Returns the text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the words as messages list them: `'a', 'b'`. */
export const inQuotes = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');
