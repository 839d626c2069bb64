/**
 * What SDKs ask, and are answered. Nothing here is behind a key: a project's token is public, and lets write, not read.
 * Answers are those that no SDK logs an error for; every one carries what a browser asks before it shows an answer.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { bytesText } from '../basics/text.ts';
import { toldAtMost } from '../basics/told-at-most.ts';
import { MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import type { Context } from '../ports/context.ts';
import { inWords } from '../ports/disk-failures.ts';
import { Damaged, Permanent, Transient } from '../ports/errors.ts';
import { type Inbox, InboxClosed } from '../ports/inbox/inbox.ts';
import type { ArrivedRequest, RequestContent } from './content.ts';
import type { CaptureCounts } from './counts.ts';
import { EVENT_REFUSALS, type EventRefusal } from './normalize.ts';
import { patternOf } from './path-pattern.ts';
import type { RefusedPayload } from './payload.ts';
import type { ProjectTokens } from './tokens.ts';
import { payloadHeaders, V1_TEMPLATES } from './v1.ts';

export interface SdkRequest {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** By their names in small letters. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Of the sender; null: nobody knows. */
  readonly address: string | null;
}

export interface SdkAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Reads a request as `contentOf` does. Throws `ReaderBusy`. */
export type ReadRequest = (request: ArrivedRequest) => Promise<RequestContent | RefusedPayload>;

/** Too many requests are being read: the sender should come again. */
export class ReaderBusy extends Error {
  override readonly name = 'ReaderBusy';
}

export interface CaptureContext extends Pick<Context, 'clock' | 'metrics'> {
  readonly inbox: Pick<Inbox, 'append'>;
  readonly tokens: ProjectTokens;
  readonly read: ReadRequest;
  readonly counts: Pick<CaptureCounts, 'add' | 'refuse' | 'acceptedToday'>;
  /** Returns 0 when what weighs as much as so many events may be taken of a project now, else in how many ms it may be. */
  readonly mayTake: (projectId: number, events: number) => number;
  /** Events of a project in a day, about. Null: any number. */
  readonly eventsPerDay: number | null;
  /** Told of each request that cannot be kept now; see `toldNotKept`. */
  readonly notKept: (why: NotKept) => void;
}

interface NotKept {
  readonly requestId: string;
  readonly error: unknown;
}

/** Returns a `notKept` that writes to the log once a minute: a disk that is full keeps nothing of anybody. */
export function toldNotKept({ log, clock }: Pick<Context, 'log' | 'clock'>): CaptureContext['notKept'] {
  return toldAtMost({ eachMs: MINUTE_MS, clock }, (requests, { requestId, error }) =>
    log.error('requests could not be kept', { requests, request_id: requestId, error }),
  );
}

type Answer = (context: CaptureContext, request: SdkRequest, token: string) => Promise<SdkAnswer> | SdkAnswer;

/** An SDK that meets a busy service, or a full disk, comes again after so long. */
const RETRY_MS = 5 * SECOND_MS;
/** A request weighs as many events as it has, or as it could have of this size: to land it takes as long. */
const USUAL_BYTES = 1_000;
/** A page view asks for the configuration once; a change of it may take as long to be known. */
const CONFIG_CACHE = 'public, max-age=300';

const json = (body: unknown, headers: Readonly<Record<string, string>> = {}): SdkAnswer => ({
  status: 200,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

const text = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): SdkAnswer => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers },
  body,
});

const TAKEN = json({ status: 1 });

/**
 * What posthog-js asks for at its start: products that are not here are off, so that it loads and sends nothing for them.
 * Of surveys nothing is said: told that there are none, it loads their script all the same.
 */
const CONFIGURATION = {
  supportedCompression: ['gzip', 'gzip-js'],
  hasFeatureFlags: false,
  capturePerformance: false,
  autocapture_opt_out: false,
  autocaptureExceptions: false,
  analytics: { endpoint: '/i/v0/e/' },
  elementsChainAsString: true,
  sessionRecording: false,
  heatmaps: false,
  defaultIdentifiedOnly: true,
  siteApps: [],
} as const;

/** How a sender is told what became of their events. */
interface Telling {
  /** Something of it was kept. */
  readonly kept: (content: RequestContent, query: SdkRequest['query']) => SdkAnswer;
  /** Nothing of it can be taken, for this reason among others. */
  readonly refused: (content: RequestContent, reason: EventRefusal) => SdkAnswer;
  readonly overQuota: SdkAnswer;
}

const OF_ALL: Telling = {
  kept: (_content, query) => (query['beacon'] === '1' ? { status: 204, headers: {}, body: '' } : TAKEN),
  refused: (_content, reason) => text(400, `No event can be taken. ${EVENT_REFUSALS[reason]}`),
  // posthog-js stops for a minute then, other SDKs do not mind.
  overQuota: json({ status: 1, quota_limited: ['events'] }),
};

/** Capture v1 tells of each event that it is taken, or dropped, and why. Where it shall come again, so shall all of them. */
const resultsOf = ({ results }: RequestContent): SdkAnswer =>
  json({
    results: Object.fromEntries(
      results.map(([uuid, refusal]) => [
        uuid,
        refusal === null ? { result: 'ok' } : { result: 'drop', details: refusal },
      ]),
    ),
  });

const OF_EACH: Telling = {
  kept: resultsOf,
  refused: resultsOf,
  overQuota: text(402, 'The project has sent as many events as it may in a day: these are dropped.'),
};

/** Keeps the events of a request, as far as they can be taken. */
async function keepEvents(
  told: Telling,
  context: CaptureContext,
  { id, path, query, headers, body, address }: SdkRequest,
): Promise<SdkAnswer> {
  const { clock, inbox, tokens, read, counts, metrics } = context;
  const receivedAt = clock();
  const said = payloadHeaders(path, headers);
  const content = await read({ id, path, query, ...said, body, receivedAt, address });
  if ('status' in content) return text(content.status, content.detail);
  const { token, taken, bytes, refused } = content;
  const projectId = await tokens.projectOf(token);
  if (projectId === null) return text(401, 'There is no project with this token. Copy it from the project: phc_...');
  const waitMs = context.mayTake(projectId, Math.max(taken, bytes / USUAL_BYTES));
  if (waitMs > 0) return laterAnswer('The project sends too many events.', waitMs);
  const reasons = Object.keys(refused) as EventRefusal[];
  const bad = reasons.reduce((events, reason) => events + (refused[reason]?.events ?? 0), 0);
  const [reason] = reasons;
  if (taken === 0 && reason !== undefined) {
    counts.refuse(projectId, refused);
    metrics.record({ EventsRefused: bad });
    return told.refused(content, reason);
  }
  if (context.eventsPerDay !== null && (await counts.acceptedToday(projectId)) >= context.eventsPerDay) {
    counts.refuse(projectId, { ...refused, over_quota: { events: taken, sample: { event: null, distinctId: null } } });
    metrics.record({ EventsRefused: bad + taken });
    return told.overQuota;
  }
  await inbox.append({ id, projectId, receivedAt, path, query, ...said, address, body });
  counts.add(projectId, { accepted: taken });
  if (bad > 0) counts.refuse(projectId, refused);
  metrics.record({ EventsAccepted: taken, EventsRefused: bad });
  return told.kept(content, query);
}

const EVENTS: Answer = (context, request) => keepEvents(OF_ALL, context, request);

/** Versions of posthog-js and of SDKs for apps that ask for the configuration here ask for it nowhere else. */
const FLAGS: Answer = (_context, { query }) =>
  json({
    ...(query['config'] === 'true' ? CONFIGURATION : {}),
    flags: {},
    errorsWhileComputingFlags: false,
    requestId: randomUUID(),
  });

const CONFIG_SCRIPT: Answer = (_context, _request, token) => ({
  status: 200,
  headers: { 'Content-Type': 'application/javascript; charset=utf-8', 'Cache-Control': CONFIG_CACHE },
  body:
    '(function(){window._POSTHOG_REMOTE_CONFIG=window._POSTHOG_REMOTE_CONFIG||{};' +
    `window._POSTHOG_REMOTE_CONFIG[${JSON.stringify(token)}]=` +
    `${JSON.stringify({ config: CONFIGURATION, siteApps: [] })}})();`,
});

interface Answered {
  /** Paths as a gateway names them, which takes those with a slash at the end for the same. */
  readonly templates: readonly string[];
  readonly answer: Answer;
  /** SDKs of today send their events there. */
  readonly isBusy?: true;
}

const ANSWERED: readonly Answered[] = [
  { templates: ['/i/v0/e', '/e', '/batch'], answer: EVENTS, isBusy: true },
  { templates: ['/i/v0/ai/batch', '/capture', '/track', '/engage'], answer: EVENTS },
  { templates: V1_TEMPLATES, answer: (context, request) => keepEvents(OF_EACH, context, request), isBusy: true },
  // Session recordings, which are not kept.
  { templates: ['/s'], answer: () => TAKEN },
  { templates: ['/flags'], answer: FLAGS },
  // What servers ask that would evaluate flags themselves.
  {
    templates: ['/flags/definitions', '/api/feature_flag/local_evaluation'],
    answer: () => json({ flags: [], group_type_mapping: {}, cohorts: {} }),
  },
  { templates: ['/api/early_access_features'], answer: () => json({ earlyAccessFeatures: [] }) },
  { templates: ['/api/surveys'], answer: () => json({ surveys: [] }) },
  {
    templates: ['/decide'],
    answer: () =>
      json({ ...CONFIGURATION, featureFlags: {}, featureFlagPayloads: {}, errorsWhileComputingFlags: false }),
  },
  { templates: ['/array/{token}/config'], answer: () => json(CONFIGURATION, { 'Cache-Control': CONFIG_CACHE }) },
  { templates: ['/array/{token}/config.js'], answer: CONFIG_SCRIPT },
];
const ANSWERS = ANSWERED.map(({ templates, answer }) => [patternOf(templates), answer] as const);

/** The paths of SDKs as a gateway names them. */
export const SDK_TEMPLATES: readonly string[] = ANSWERED.flatMap(({ templates }) => templates);

/** Those of them to which most of all comes, by POST: a gateway that counts the requests of each lets more through there. */
export const BUSY_SDK_TEMPLATES: readonly string[] = ANSWERED.flatMap(({ templates, isBusy }) =>
  isBusy ? templates : [],
);

/** All of them in one, for every request of the API is looked at as well. */
const SDK_PATH = patternOf(SDK_TEMPLATES);

/** Returns whether an SDK asks there, and not a caller of the API. */
export const isSdkPath = (path: string): boolean => SDK_PATH.test(path);

/** Answers a request of an SDK. Never throws: what cannot be kept now is answered so that the SDK sends it again. */
export async function answerSdk(context: CaptureContext, request: SdkRequest): Promise<SdkAnswer> {
  try {
    return withCors(request, await answerTo(context, request));
  } catch (error) {
    if (error instanceof InboxClosed || error instanceof ReaderBusy)
      return withCors(request, laterAnswer(error.message, RETRY_MS));
    context.notKept({ requestId: request.id, error });
    return withCors(request, laterAnswer(reasonOf(inWords(error)), RETRY_MS));
  }
}

/** What was not expected may name paths of the service: a stranger is told none. */
const reasonOf = (error: unknown): string =>
  (error instanceof Transient || error instanceof Permanent) && !(error instanceof Damaged)
    ? error.message
    : 'The service cannot keep this now.';

async function answerTo(context: CaptureContext, request: SdkRequest): Promise<SdkAnswer> {
  if (request.method === 'OPTIONS') return { status: 200, headers: { 'Access-Control-Max-Age': '86400' }, body: '' };
  if (request.method !== 'GET' && request.method !== 'POST')
    return text(405, 'Use GET or POST.', { Allow: 'GET, POST' });
  for (const [pattern, answer] of ANSWERS) {
    const match = pattern.exec(request.path);
    if (match !== null) return answer(context, request, match[1] ?? '');
  }
  return text(404, 'Nothing is here.');
}

/**
 * The answer to a request that is to come again after so many milliseconds, without what makes browsers show it. A 503
 * whatever the reason: posthog-js and capture v1 drop what is answered with 429.
 */
function laterAnswer(why: string, waitMs: number): SdkAnswer {
  const seconds = Math.max(1, Math.ceil(waitMs / SECOND_MS));
  return text(503, `${why} Try again in ${seconds} s.`, { 'Retry-After': String(seconds) });
}

/** The answer to a request whose body is too large to be read, in bytes. */
export const tooLargeAnswer = (request: Pick<SdkRequest, 'headers'>, limit: number): SdkAnswer =>
  withCors(request, text(413, `The request is larger than ${bytesText(limit)}. Send fewer events at a time.`));

/** The answer to a request for which there is no room in memory at this moment. */
export const noRoomAnswer = (request: Pick<SdkRequest, 'headers'>): SdkAnswer =>
  withCors(request, laterAnswer('Too many large requests are coming in.', RETRY_MS));

/** The answer to an address that sends too many requests. */
export const tooManyAnswer = (request: Pick<SdkRequest, 'headers'>, waitMs: number): SdkAnswer =>
  withCors(request, laterAnswer('Too many requests come from this address.', waitMs));

/** What lets any page read an answer that is the same for all. */
export const CORS_OF_ALL = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Retry-After',
} as const;

const withCors = (request: Pick<SdkRequest, 'headers'>, { headers, ...answer }: SdkAnswer): SdkAnswer => ({
  ...answer,
  headers: { ...headers, ...corsOf(request) },
});

/** A browser shows an answer only to a page that it is meant for. Beacons carry cookies, for which `*` is not enough. */
function corsOf({ headers }: Pick<SdkRequest, 'headers'>): Record<string, string> {
  const origin = headers['origin'];
  const asked = headers['access-control-request-headers'];
  return {
    ...CORS_OF_ALL,
    ...(origin === undefined
      ? {}
      : { 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true', Vary: 'Origin' }),
    'Access-Control-Allow-Methods': 'GET, POST, OPTIONS',
    ...(asked === undefined ? {} : { 'Access-Control-Allow-Headers': asked }),
  };
}
