/** What a request of an SDK comes to, before it is kept: whose it is, and how many of its events can be taken. */
import {
  type Arrival,
  type EventRefusal,
  type EventWarning,
  eachEvent,
  type RefusedEvent,
  refusalOf,
  uuidToTell,
} from './normalize.ts';
import { type CaptureRequest, type RefusedPayload, readPayload } from './payload.ts';
import { DECODE_LIMITS, type DecodeLimits } from './undecodable.ts';
import { isV1 } from './v1.ts';

/** A request that came. */
export interface ArrivedRequest extends CaptureRequest {
  /** Which request it is. */
  readonly id: string;
  /** When it came, milliseconds since 1970. */
  readonly receivedAt: number;
  /** Of the sender; null: nobody knows. */
  readonly address: string | null;
}

/** Events that are refused, or warned of, for one reason. */
export interface Refusals {
  readonly events: number;
  /** The last of them. */
  readonly sample: Pick<RefusedEvent, 'event' | 'distinctId'>;
}

/** Events that are taken, and of which something is not as it was meant, by what that is. */
export type EventWarnings = Readonly<Partial<Record<EventWarning, Refusals>>>;

type RefusalsByReason = Readonly<Partial<Record<EventRefusal, Refusals>>>;

export interface RequestContent {
  /** Of the project. Whether there is such a project is not known here. */
  readonly token: string;
  /** How many of its events can be taken. */
  readonly taken: number;
  /** How many bytes it has without its wrapping. */
  readonly bytes: number;
  readonly refused: RefusalsByReason;
  /**
   * What becomes of the events, by their uuids: null when they are taken, or one of those with the uuid is. Of the first
   * `MOST_RESULTS` that have one, where the sender reads it: those that are not named they take for taken.
   */
  readonly results: readonly (readonly [uuid: string, refusal: EventRefusal | null])[];
}

/** SDKs send up to a thousand at a time; an answer of so many is far below what a function may answer (6 MB, AWS). */
const MOST_RESULTS = 10_000;

/** The events of a request, as they were sent, and with what they came. */
interface SentEvents {
  readonly sent: readonly unknown[];
  readonly bytes: number;
  readonly arrival: Arrival;
}

function sentIn(request: ArrivedRequest, limits: DecodeLimits): SentEvents | RefusedPayload {
  const payload = readPayload(request, limits);
  if ('status' in payload) return payload;
  const { token, sentAt, events: sent, bytes } = payload;
  const { id, receivedAt: now, address: clientAddress } = request;
  return { sent, bytes, arrival: { token, request: id, sentAt, now, clientAddress } };
}

/**
 * Returns what becomes of the events of a request, one by one, or why it is refused as a whole. The same request gives the
 * same at any time, but for the addresses of senders, which only those events have that are not `isAnonymized`.
 */
export function eventsIn(
  request: ArrivedRequest,
  isAnonymized: boolean,
): ReturnType<typeof eachEvent> | RefusedPayload {
  const found = sentIn(request, DECODE_LIMITS);
  return 'status' in found ? found : eachEvent(found.sent, { ...found.arrival, isAnonymized });
}

/**
 * Returns what the request comes to, or why it is refused as a whole. An event is read as far as that needs: the rest is
 * done when it lands. Never throws for what was sent.
 */
export function contentOf(
  request: ArrivedRequest,
  limits: DecodeLimits = DECODE_LIMITS,
): RequestContent | RefusedPayload {
  const found = sentIn(request, limits);
  if ('status' in found) return found;
  let taken = 0;
  const refused: Partial<Record<EventRefusal, Refusals>> = {};
  const results = new Map<string, EventRefusal | null>();
  const most = isV1(request.path) ? MOST_RESULTS : 0;
  for (const sent of found.sent) {
    const refusal = refusalOf(sent, found.arrival);
    const uuid = most > 0 ? uuidToTell(sent) : null;
    const isTold = uuid !== null && results.get(uuid) !== null && (results.size < most || results.has(uuid));
    if (isTold) results.set(uuid, refusal?.reason ?? null);
    if (refusal === null) {
      taken += 1;
      continue;
    }
    const { reason, event, distinctId } = refusal;
    refused[reason] = { events: (refused[reason]?.events ?? 0) + 1, sample: { event, distinctId } };
  }
  return { token: found.arrival.token, taken, bytes: found.bytes, refused, results: [...results] };
}
