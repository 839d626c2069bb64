const failure = <const T extends string, const C extends string>(status: number, type: T, code: C, detail: string) =>
  ({ status, type, code, detail }) as const;

/**
 * Every failure that a caller can meet, once. The endpoint, the gateway responses, the OpenAPI document and the
 * contract tests all read this table; a failure that is not in it cannot be answered.
 */
export const FAILURES = {
  validation: failure(400, 'validation_error', 'invalid_input', 'Invalid input.'),
  parse_error: failure(400, 'invalid_request', 'parse_error', 'Malformed request.'),
  not_authenticated: failure(
    401,
    'authentication_error',
    'not_authenticated',
    'Authentication credentials were not provided or are invalid.',
  ),
  permission_denied: failure(
    403,
    'authentication_error',
    'permission_denied',
    'You do not have permission to perform this action.',
  ),
  not_found: failure(404, 'invalid_request', 'not_found', 'Not found.'),
  method_not_allowed: failure(405, 'invalid_request', 'method_not_allowed', 'Method not allowed.'),
  conflict: failure(409, 'invalid_request', 'conflict', 'The request conflicts with another one.'),
  precondition_failed: failure(
    412,
    'invalid_request',
    'precondition_failed',
    'The object has changed since the version that If-Match names.',
  ),
  request_too_large: failure(413, 'invalid_request', 'request_too_large', 'The request body is larger than 1 MiB.'),
  uri_too_long: failure(414, 'invalid_request', 'uri_too_long', 'The address is too long.'),
  unsupported_media_type: failure(
    415,
    'invalid_request',
    'unsupported_media_type',
    'Unsupported media type in request.',
  ),
  headers_too_large: failure(431, 'invalid_request', 'headers_too_large', 'The request headers are too large.'),
  throttled: failure(429, 'throttled_error', 'throttled', 'Request was throttled.'),
  unavailable: failure(
    503,
    'server_error',
    'service_unavailable',
    'The service cannot do this at the moment. Try again later.',
  ),
  server_error: failure(500, 'server_error', 'error', 'A server error occurred.'),
  timeout: failure(504, 'server_error', 'error', 'The request took too long.'),
};

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
 * A reason that may pass (throttling, a network, a server that is down, a full disk). A step is tried again; a request
 * is answered with 503.
 */
export class Transient extends Error {
  override readonly name = 'Transient';
  /** The reason lies with the service itself (its disk, what it runs on in AWS), not with what it reaches out to. */
  readonly isOwn: boolean;
  /** What is reached out to is alive: it has taken a part. */
  readonly isPartial: boolean;

  constructor(
    message: string,
    {
      isOwn = false,
      isPartial = false,
      ...options
    }: ErrorOptions & { readonly isOwn?: boolean; readonly isPartial?: boolean } = {},
  ) {
    super(message, options);
    this.isOwn = isOwn;
    this.isPartial = isPartial;
  }
}

/** A step failed for a reason that only the user can mend (bad credentials, a missing bucket). Never tried again. */
export class Permanent extends Error {
  override readonly name = 'Permanent';
}

/** A file of the service's own is not what was written. Who meets it stops, and names it: nothing but a copy mends it. */
export class Damaged extends Permanent {
  readonly path: string;
  /** What is wrong with it: `it is not there`. */
  readonly how: string;

  constructor(path: string, how: string) {
    super(`The service's file '${path}' is damaged: ${how}. It must be restored from a copy before this can be done.`);
    this.path = path;
    this.how = how;
  }
}

/** What a caller is told of a `Damaged`: the name of the file, which may tell of others, stands in the log. */
export const damagedFailure = (): Failure =>
  new Failure('server_error', {
    code: 'damaged_file',
    detail: 'A stored file that this needs is damaged. Whoever runs the service must restore it; the log names it.',
  });
