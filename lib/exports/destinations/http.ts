import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import * as z from 'zod';
import { prefetch } from '../../basics/prefetch.ts';
import { beginningOf, counted } from '../../basics/text.ts';
import { MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import { withoutSecret } from '../../basics/without-secret.ts';
import { traceOf } from '../../http/trace.ts';
import { invalid, Permanent, Transient } from '../../ports/errors.ts';
import { checkUrl, type Outbound, type PostResponse, post } from '../../ports/outbound/outbound.ts';
import type { Column } from '../../warehouse/columns.ts';
import type { Delivery, Destination } from './destination.ts';
import { checkFilled } from './refusal.ts';

const HttpConfig = z.object({ url: z.string(), token: z.string() });

type HttpConfig = z.infer<typeof HttpConfig>;

/** The batches, events and bytes (packed) that the receiver has accepted so far; kept after each batch. */
interface Accepted {
  readonly batches: number;
  readonly events: number;
  readonly bytes: number;
}

const NOTHING: Accepted = { batches: 0, events: 0, bytes: 0 };

/** An event as PostHog's capture takes it. */
const COLUMNS: readonly Column[] = [
  { name: 'uuid', type: 'text', field: 'uuid' },
  { name: 'distinct_id', type: 'text', field: 'distinct_id' },
  { name: 'timestamp', type: 'instant', field: 'timestamp' },
  { name: 'event', type: 'text', field: 'event' },
  { name: 'properties', type: 'json', field: 'capture_properties' },
];

/** PostHog's limits of a request: events, and bytes before compression. */
const MAX_BATCH_EVENTS = 5_000;
const MAX_BATCH_BYTES = 50_000_000;

/** As for files: the lowest level is the fastest. Of a batch of 2 MB some 350 kB are left: one chunk. */
const GZIP = { level: 1, chunkSize: 512 * 1024 };

/** How long a receiver may be silent. */
const IDLE_TIMEOUT_MS = MINUTE_MS;

/**
 * How long a batch is tried where the receiver does not say when to come again, waits between tries and the time of those
 * that fail taken together: a restart of the receiver is over by then. What takes longer gives the delivery's place to
 * another one, and the back-off of the export goes on.
 */
const PATIENCE_MS = MINUTE_MS;
/** How long a receiver may ask to be left alone at a time: limits are by the minute. */
const MAX_ASKED_MS = MINUTE_MS;
/** How long one delivery waits in all, of a step's 15 minutes: five such waits, and the tries between them. */
const MAX_WAIT_MS = 5 * MINUTE_MS + 15 * SECOND_MS;
/** The first wait when the receiver names none: 1, 2, 4 … s. It is also the shortest of all. */
const FIRST_WAIT_MS = SECOND_MS;

/**
 * Whatever takes PostHog's batches of events: `{api_key, historical_migration, batch}`, packed by gzip.
 *
 * Nothing can be sent unseen, so `deliver` sends, batch after batch in the order of the rows, and keeps how many were
 * accepted: another attempt of the run cuts the same batches and goes on behind them, so that at most the one in flight
 * comes again, with the same uuids and the same `Idempotency-Key`. A cancel stops it, and what was accepted stays.
 */
export const http: Destination<HttpConfig> = {
  type: 'HTTP',
  config: HttpConfig,
  secrets: ['token'],
  addresses: ['url'],
  hasFixedColumns: true,

  check(config, model, reach) {
    if (model !== 'events') invalid(null, 'HTTP batch exports only support the events model');
    checkFilled(config, ['url', 'token']);
    checkUrl(config.url, reach);
  },

  steps: [
    {
      name: 'Check that the address takes batches',
      description: 'Posts a batch without events to the address, with the token.',
      async run(config, outbound, _reach, signal) {
        const answer = await send(config, outbound, { ...(await packer(config)([])), headers: {}, signal });
        const failure = failureOf(answer, config);
        // A receiver may refuse a batch for being empty; then it has read it.
        if (failure !== undefined && answer.status !== 400 && answer.status !== 422) throw failure;
      },
    },
  ],

  async deliver(delivery) {
    let { batches, events, bytes } = ((await delivery.kept()) as Accepted | undefined) ?? NOTHING;
    let waiting = MAX_WAIT_MS;
    let accepted = events;
    const before = accepted;
    const accept = (more: number): void => void (accepted += more);
    try {
      for await (const batch of prefetch(unsent(delivery, batches))) {
        waiting = await sendBatch(delivery, batch, `${delivery.runId}-${batches}`, waiting, accept);
        batches += 1;
        events += batch.events;
        bytes += batch.body.length;
        await delivery.keep({ batches, events, bytes } satisfies Accepted);
      }
    } catch (error) {
      if (error instanceof Transient && !error.isOwn && accepted > before)
        throw new Transient(error.message, { cause: error, isPartial: true });
      if (!(error instanceof Permanent) || accepted === 0) throw error;
      throw new Permanent(`${error.message} ${counted(accepted, 'event')} had been accepted before.`, { cause: error });
    }
    return { receipt: { bytes } };
  },

  commit: async () => {},
  discard: async () => {},
};

interface Packed {
  readonly body: Buffer;
  /** Where the lines begin, unpacked, and where each of them ended. */
  readonly from: number;
  readonly ends: readonly number[];
}

interface Batch extends Packed {
  readonly events: number;
}

/** Yields the interval's batches, packed, without those that were accepted. One is packed while the next one is read. */
async function* unsent(delivery: Delivery<HttpConfig>, accepted: number): AsyncGenerator<Batch> {
  const pack = packer(delivery.config);
  let n = 0;
  for await (const { events, lines } of prefetch(cut(delivery.rows({ format: 'JSONLines', columns: COLUMNS })))) {
    if (n >= accepted) yield { events, ...(await pack(lines)) };
    n += 1;
  }
}

/** Cuts whole lines into batches: always the same for the same lines. */
async function* cut(
  rows: AsyncIterable<Buffer> | Iterable<Buffer>,
  maxEvents = MAX_BATCH_EVENTS,
): AsyncGenerator<{ events: number; lines: Buffer[] }> {
  let [events, bytes, lines]: [number, number, Buffer[]] = [0, 0, []];
  for await (const piece of rows) {
    let from = 0;
    for (let at = 0; at < piece.length; ) {
      const end = piece.indexOf(LINE_END, at) + 1 || piece.length;
      if (events === maxEvents || (events > 0 && bytes + end - at > MAX_BATCH_BYTES)) {
        if (at > from) lines.push(piece.subarray(from, at));
        yield { events, lines };
        [events, bytes, lines, from] = [0, 0, [], at];
      }
      events += 1;
      bytes += end - at;
      at = end;
    }
    lines.push(piece.subarray(from));
  }
  if (events > 0) yield { events, lines };
}

const [LINE_END, COMMA, BLANK] = [0x0a, 0x2c, 0x20];

const gzipped = promisify<Buffer, typeof GZIP, Buffer>(gzip);
const unpacked = promisify<Buffer, Buffer>(gunzip);

/**
 * Returns what packs lines, one batch after another, into requests' bodies: the lines become the items of a list. JSON
 * has no line ends inside its texts. All are joined in one place of memory; one of its own for each would keep the
 * garbage collector at work for a third of the time.
 */
function packer({ token }: HttpConfig): (lines: readonly Buffer[]) => Promise<Packed> {
  const head = Buffer.from(`{"api_key":${JSON.stringify(token)},"historical_migration":true,"batch":[`);
  const tail = Buffer.from(']}');
  let joined = Buffer.alloc(0);
  return async (lines) => {
    const parts = [head, ...lines, tail];
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    if (joined.length < bytes) joined = Buffer.allocUnsafeSlow(bytes + bytes / 4);
    let end = 0;
    for (const part of parts) end += part.copy(joined, end);
    const body = joined.subarray(0, end);
    const ends: number[] = [];
    for (let at = body.indexOf(LINE_END); at !== -1; at = body.indexOf(LINE_END, at + 1)) {
      body[at] = COMMA;
      ends.push(at);
    }
    const last = ends.at(-1);
    if (last !== undefined) body[last] = BLANK;
    return { body: await gzipped(body, GZIP), from: head.length, ends };
  };
}

/**
 * Sends a batch, or its halves where the receiver takes no request of that size: the same ones each time. Tells of
 * what is accepted; returns what is left of the waiting.
 */
async function sendBatch(
  delivery: Delivery<HttpConfig>,
  { events, body, from, ends }: Batch,
  key: string,
  waiting: number,
  accept: (events: number) => void,
): Promise<number> {
  const headers = { 'idempotency-key': key, traceparent: traceOf(delivery.runId).parent };
  try {
    const left = await sendPatiently(delivery, { body, headers }, waiting);
    accept(events);
    return left;
  } catch (error) {
    if (!(error instanceof TooLarge) || events === 1) throw error;
  }
  const text = await unpacked(body);
  for (const end of ends) text[end] = LINE_END;
  const lines = text.subarray(from, (ends.at(-1) ?? from) + 1);
  let [left, n] = [waiting, 0];
  for await (const half of cut([lines], Math.ceil(events / 2))) {
    const packed = await packer(delivery.config)(half.lines);
    left = await sendBatch(delivery, { events: half.events, ...packed }, `${key}.${n}`, left, accept);
    n += 1;
  }
  return left;
}

/** The receiver takes no request of this size. */
class TooLarge extends Permanent {}

interface Sent {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

const send = ({ url }: HttpConfig, outbound: Outbound, { body, headers, signal }: Sent & { signal: AbortSignal }) =>
  post(outbound, url, {
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', ...headers },
    body,
    signal,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
  });

/**
 * Sends until it is accepted, as long as there is patience, for as many ms of `waiting` as are left, which it returns. One
 * that says how long to wait is alive: its waits and tries need no patience. A receiver that asks for more than it may is
 * not asked sooner: that is for a later attempt.
 */
async function sendPatiently(delivery: Delivery<HttpConfig>, sent: Sent, waiting: number): Promise<number> {
  const { config, outbound, signal, clock } = delivery;
  let [left, patience, backoff] = [waiting, PATIENCE_MS, FIRST_WAIT_MS];
  for (;;) {
    const begun = clock();
    let asked: number | undefined;
    let failure: Error | undefined;
    try {
      const answer = await send(config, outbound, { ...sent, signal });
      failure = failureOf(answer, config);
      asked = retryAfter(answer);
    } catch (error) {
      if (!(error instanceof Transient)) throw error;
      failure = error;
    }
    if (failure === undefined) return left;
    const taken = clock() - begun;
    left -= taken;
    if (asked === undefined) patience -= taken;
    const most = Math.min(left, asked === undefined ? patience : MAX_ASKED_MS);
    const wait = Math.max(asked ?? Math.min(backoff, most), FIRST_WAIT_MS);
    if (failure instanceof Permanent || wait > most) throw failure;
    delivery.say('WARNING', `${failure.message} Trying again in ${Math.ceil(wait / 1000)} s.`);
    await delivery.pause(wait, failure.message);
    left -= wait;
    if (asked === undefined) patience -= wait;
    backoff *= 2;
  }
}

/** Statuses below 500 that pass: the request took too long, came too early, or there were too many. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

/** By which PostHog's capture tells that it has dropped the events of a request, which it answers with 200. */
const OVER_QUOTA = /"quota_limited"\s*:\s*\[[^\]]*"events"/;

/** Returns what an answer says is wrong; undefined when the receiver has accepted the batch. */
function failureOf({ status, headers, text }: PostResponse, config: HttpConfig): Permanent | Transient | undefined {
  const answered = `${config.url} answered ${status}`;
  if (status >= 200 && status < 300) {
    if (!OVER_QUOTA.test(text)) return undefined;
    return new Transient(`${answered} and dropped the events: its quota is used up (quota_limited).`);
  }
  if (status < 400 && headers.location !== undefined) {
    const target = saying(headers.location, config);
    return new Permanent(
      `${answered}, a redirect to ${target}. Redirects are not followed: set url to the right address.`,
    );
  }
  const words = saying(text, config);
  const said = words === '' ? answered : `${answered}: ${words}`;
  const sentence = /[.!?]$/.test(said) ? said : `${said}.`;
  if (status >= 500 || PASSING.has(status)) return new Transient(sentence);
  if (status === 413) {
    return new TooLarge(`${sentence} It takes no request of this size, though it holds one event: raise its limit.`);
  }
  return new Permanent(`${sentence} Check url and token.`);
}

/** Returns what a receiver says, on one line, short, and without the token. */
const saying = (text: string, { token }: HttpConfig): string =>
  beginningOf(
    withoutSecret(text, token)
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim(),
    200,
  );

/** Returns what `Retry-After` asks for, in milliseconds: seconds, or a time by the receiver's own clock. */
function retryAfter({ headers }: PostResponse): number | undefined {
  const { 'retry-after': asked = '', date = '' } = headers;
  const wait = /^\d+$/.test(asked) ? Number(asked) * 1000 : Date.parse(asked) - Date.parse(date);
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
