import { FAILURES, type FailureKind } from '../ports/errors.ts';
import { BODY_HEADERS } from './header.ts';

/** An answer of the gateway itself, before or instead of a function. */
export interface GatewayResponse {
  /** Null: the status that the gateway would answer anyway. */
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; `$context.…` in it is replaced by the gateway, as it is, without escaping. */
  readonly template: string;
}

/** The longest time that a stage's token bucket needs for one token: its rate is at least one a second. */
const RETRY_AFTER = { 'Retry-After': '1' };

/** Returns the gateway's answer for a failure. */
export function gatewayResponse(
  kind: FailureKind,
  more: { detail?: string; headers?: Record<string, string> } = {},
): GatewayResponse & { status: number } {
  const { status, type, code, detail } = FAILURES[kind];
  return {
    status,
    headers: { ...BODY_HEADERS, ...more.headers },
    template: JSON.stringify({ type, code, detail: more.detail ?? detail, attr: null }),
  };
}

const NO_ENDPOINT = gatewayResponse('not_found', { detail: 'Endpoint not found.' });

/** The gateway's own answers, in the shape of every error, by API Gateway's types; for infra and the local gateway. */
export const GATEWAY_RESPONSES = {
  /** No key, or none that is good. */
  UNAUTHORIZED: gatewayResponse('not_authenticated'),
  /** A policy of the authorizer says Deny; its context says why. */
  ACCESS_DENIED: gatewayResponse('permission_denied', { detail: '$context.authorizer.detail' }),
  // API Gateway's names for a path that is not there, which it takes for one that asks for a signature of AWS: there is
  // none, or the header that a key comes in is none, or an old one. No method of ours asks for a signature.
  MISSING_AUTHENTICATION_TOKEN: NO_ENDPOINT,
  INVALID_SIGNATURE: NO_ENDPOINT,
  EXPIRED_TOKEN: NO_ENDPOINT,
  RESOURCE_NOT_FOUND: NO_ENDPOINT,
  BAD_REQUEST_PARAMETERS: gatewayResponse('parse_error'),
  BAD_REQUEST_BODY: gatewayResponse('parse_error'),
  UNSUPPORTED_MEDIA_TYPE: gatewayResponse('unsupported_media_type'),
  REQUEST_TOO_LARGE: gatewayResponse('request_too_large'),
  THROTTLED: gatewayResponse('throttled', { headers: RETRY_AFTER }),
  QUOTA_EXCEEDED: gatewayResponse('throttled', { headers: RETRY_AFTER }),
  INTEGRATION_TIMEOUT: gatewayResponse('timeout'),
  // A function that Lambda does not begin, as all that may run at once do. One that fails has another answer.
  INTEGRATION_FAILURE: gatewayResponse('unavailable', { headers: { 'Retry-After': '5' } }),
  AUTHORIZER_FAILURE: gatewayResponse('server_error'),
  AUTHORIZER_CONFIGURATION_ERROR: gatewayResponse('server_error'),
  API_CONFIGURATION_ERROR: gatewayResponse('server_error'),
  DEFAULT_4XX: { ...gatewayResponse('parse_error'), status: null },
  DEFAULT_5XX: { ...gatewayResponse('server_error'), status: null },
} as const satisfies Record<string, GatewayResponse>;

export type GatewayResponseType = keyof typeof GATEWAY_RESPONSES;
