/**
 * What a request of an SDK says: whose its events are, when it was sent, and the events as they came. It is refused as
 * a whole only when there is nothing to be kept: bad events among good ones are refused one by one, in `normalize.ts`.
 */
import { isObject } from '../basics/json.ts';
import { decode } from './decode.ts';
import { instantOf } from './timestamp.ts';
import { DECODE_LIMITS, type DecodeLimits, Undecodable } from './undecodable.ts';
import { bearerOf, eventOfV1, isV1, type PayloadHeaders, sdkOf } from './v1.ts';

export interface CaptureRequest {
  /** Of the address, with or without a slash at the end. */
  readonly path: string;
  /** The parameters of the query, decoded. */
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Undefined: none that say anything of the payload. */
  readonly headers?: PayloadHeaders;
  /** As it was sent, whatever its headers say of it. */
  readonly body: Buffer;
}

export interface Payload {
  /** Of the project: printable ASCII, 1 to 64 characters. Whether there is such a project is not known here. */
  readonly token: string;
  /** One at least; JSON values of any kind. */
  readonly events: readonly unknown[];
  /** By the clock of the sender, microseconds since 1970; null when they do not say. */
  readonly sentAt: number | null;
  /** How many bytes it has without its wrapping. */
  readonly bytes: number;
}

/** Why a whole request is refused, and the answer to it. */
export interface RefusedPayload {
  readonly status: 400 | 401 | 413 | 415;
  readonly reason: Undecodable['reason'] | 'missing_token' | 'invalid_token' | 'several_tokens';
  /** A sentence for the sender. */
  readonly detail: string;
}

/** Returns what the request says, or why it is refused. Never throws for what was sent. */
export function readPayload(request: CaptureRequest, limits: DecodeLimits = DECODE_LIMITS): Payload | RefusedPayload {
  const { path, query, headers = {}, body } = request;
  try {
    if (isV1(path)) return payloadOfV1(decode(body, limits, headers['content-encoding'] ?? null), headers);
    return payloadOf(decode(query['data'] ? Buffer.from(query['data'], 'utf8') : body, limits), request);
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error;
    return { status: STATUSES[error.reason], reason: error.reason, detail: error.message };
  }
}

const STATUSES = { empty: 400, undecodable: 400, too_large: 413, unsupported_encoding: 415 } as const;

function payloadOf(
  { value, bytes }: ReturnType<typeof decode>,
  { path, query }: CaptureRequest,
): Payload | RefusedPayload {
  const isBatch = isObject(value) && Array.isArray(value['batch']);
  const events: readonly unknown[] = isBatch ? (value['batch'] as unknown[]) : Array.isArray(value) ? value : [value];
  if (!isBatch && !events.some(isObject))
    return { status: 400, reason: 'undecodable', detail: 'The request holds neither an event nor a list of events.' };
  const token = tokenOf(isBatch ? (value['api_key'] ?? value['token']) : undefined, events);
  if (typeof token !== 'string') return token;
  if (events.length === 0) return EMPTY;
  return {
    token,
    events: /^\/engage\/?$/.test(path) ? events.map(identifying) : events,
    sentAt: (isObject(value) ? instantOf(value['sent_at']) : undefined) ?? sentAtOf(query) ?? null,
    bytes,
  };
}

const EMPTY: RefusedPayload = { status: 400, reason: 'empty', detail: 'The batch holds no events.' };

/** Who sends says in each request when that was: `created_at` is when its events were put together, and stays the same. */
function payloadOfV1({ value, bytes }: ReturnType<typeof decode>, headers: PayloadHeaders): Payload | RefusedPayload {
  const token = checkedToken(bearerOf(headers));
  if (typeof token !== 'string') return token;
  const batch = isObject(value) ? value['batch'] : undefined;
  if (!Array.isArray(batch))
    return { status: 400, reason: 'undecodable', detail: 'The request holds no list of events: `batch`.' };
  if (batch.length === 0) return EMPTY;
  const sdk = sdkOf(headers);
  return {
    token,
    events: batch.map((event) => eventOfV1(event, sdk)),
    sentAt: instantOf(headers['posthog-request-timestamp']) ?? null,
    bytes,
  };
}

/** What old SDKs sent to `/engage` sets properties of a person, and has no name. */
const identifying = (event: unknown): unknown =>
  isObject(event) && (event['event'] ?? null) === null ? { ...event, event: '$identify' } : event;

/** Milliseconds; the first SDKs sent seconds there, which say too little. */
function sentAtOf(query: CaptureRequest['query']): number | undefined {
  const text = query['_'] ?? query['sent_at'];
  return text !== undefined && /^\d{13}$/.test(text) ? Number(text) * 1000 : undefined;
}

const TOKEN = /^[!-~]{1,64}$/;
/** How personal API keys begin, which are secrets. */
const PERSONAL = 'phx_';

function tokenOf(ofBatch: unknown, events: readonly unknown[]): string | RefusedPayload {
  const named = ofBatch === undefined || ofBatch === null ? events.map(tokenOfEvent) : [ofBatch];
  const tokens = new Set(named.filter((token) => token !== undefined && token !== null));
  if (tokens.size > 1)
    return unauthorized('several_tokens', 'The events of one request have different project tokens.');
  return checkedToken([...tokens][0]);
}

function checkedToken(token: unknown): string | RefusedPayload {
  if (token === undefined || token === '') return unauthorized('missing_token', 'The request has no project token.');
  const text = typeof token === 'string' ? token.trim() : '';
  if (text.startsWith(PERSONAL))
    return unauthorized('invalid_token', 'The token is a personal API key. Send the token of the project: phc_...');
  if (!TOKEN.test(text)) return unauthorized('invalid_token', 'The token is not that of a project: phc_...');
  return text;
}

function tokenOfEvent(event: unknown): unknown {
  if (!isObject(event)) return undefined;
  const { token, $token, api_key, properties } = event;
  return token ?? $token ?? api_key ?? (isObject(properties) ? properties['token'] : undefined);
}

const unauthorized = (reason: RefusedPayload['reason'], detail: string): RefusedPayload => ({
  status: 401,
  reason,
  detail,
});
