/**
 * What SDKs ask, and are answered. Nothing here is behind a key: a project's token is public, and lets write, not read.
 * Answers are those that no SDK logs an error for; every one carries what a browser asks before it shows an answer.
 */
import { randomUUID } from 'node:crypto';
import type { Context } from '../ports/context.ts';
import { inWords } from '../ports/disk-failures.ts';
import { messageOf } from '../ports/errors.ts';
import { type Inbox, InboxClosed } from '../ports/inbox/inbox.ts';
import { normalizeEvents } from './normalize.ts';
import { readPayload } from './payload.ts';
import type { ProjectTokens } from './tokens.ts';

export interface SdkRequest {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  /** Of the sender; null: nobody knows. */
  readonly address: string | null;
}

export interface SdkAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface CaptureContext extends Pick<Context, 'clock' | 'log'> {
  readonly inbox: Pick<Inbox, 'append'>;
  readonly tokens: ProjectTokens;
}

type Answer = (context: CaptureContext, request: SdkRequest, token: string) => Promise<SdkAnswer> | SdkAnswer;

/** An SDK that meets a busy disk comes again after so many seconds. */
const RETRY_SECONDS = '5';
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

/** What posthog-js asks for at its start: products that are not here are off, so that it loads and sends nothing for them. */
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
  surveys: false,
  defaultIdentifiedOnly: true,
  siteApps: [],
} as const;

const EVENTS: Answer = async ({ clock, log, inbox, tokens }, { id, path, query, body, address }) => {
  const payload = readPayload({ path, query, body });
  if ('status' in payload) return text(payload.status, payload.detail);
  const projectId = await tokens.projectOf(payload.token);
  if (projectId === null) return text(401, 'There is no project with this token. Copy it from the project: phc_...');
  const receivedAt = clock();
  const arrival = { token: payload.token, now: receivedAt, sentAt: payload.sentAt, clientAddress: address };
  const { captured, refused } = normalizeEvents(payload.events, arrival);
  const [first] = refused;
  if (captured.length === 0 && first !== undefined) return text(400, `No event can be taken: ${first.reason}.`);
  try {
    await inbox.append({ id, projectId, receivedAt, path, query, address, body });
  } catch (error) {
    if (error instanceof InboxClosed) return text(503, error.message, { 'Retry-After': RETRY_SECONDS });
    log.error('a request could not be kept', { request_id: id, error });
    return text(503, messageOf(inWords(error)), { 'Retry-After': RETRY_SECONDS });
  }
  return query['beacon'] === '1' ? { status: 204, headers: {}, body: '' } : TAKEN;
};

/** Session recordings, which are not kept. */
const RECORDINGS: Answer = () => TAKEN;

const FLAGS: Answer = () => json({ flags: {}, errorsWhileComputingFlags: false, requestId: randomUUID() });

const DECIDE: Answer = () =>
  json({ ...CONFIGURATION, featureFlags: {}, featureFlagPayloads: {}, errorsWhileComputingFlags: false });

const CONFIG: Answer = () => json(CONFIGURATION, { 'Cache-Control': CONFIG_CACHE });

const CONFIG_SCRIPT: Answer = (_context, _request, token) => ({
  status: 200,
  headers: { 'Content-Type': 'application/javascript; charset=utf-8', 'Cache-Control': CONFIG_CACHE },
  body:
    '(function(){window._POSTHOG_REMOTE_CONFIG=window._POSTHOG_REMOTE_CONFIG||{};' +
    `window._POSTHOG_REMOTE_CONFIG[${JSON.stringify(token)}]=` +
    `${JSON.stringify({ config: CONFIGURATION, siteApps: [] })}})();`,
});

/** The paths of SDKs, each with and without a slash at its end. */
const ANSWERS: readonly (readonly [path: RegExp, answer: Answer])[] = [
  [/^\/(?:i\/v0\/e|e|batch|capture|track|engage)\/?$/, EVENTS],
  [/^\/s\/?$/, RECORDINGS],
  [/^\/flags\/?$/, FLAGS],
  [/^\/decide\/?$/, DECIDE],
  [/^\/array\/([!-.0-~]{1,64})\/config\/?$/, CONFIG],
  [/^\/array\/([!-.0-~]{1,64})\/config\.js\/?$/, CONFIG_SCRIPT],
];

/** Returns whether an SDK asks there, and not a caller of the API. */
export const isSdkPath = (path: string): boolean => ANSWERS.some(([pattern]) => pattern.test(path));

/** Answers a request of an SDK. Never throws for what was sent. */
export async function answerSdk(context: CaptureContext, request: SdkRequest): Promise<SdkAnswer> {
  const { headers, status, body } = await answerTo(context, request);
  return { status, body, headers: { ...headers, ...corsOf(request) } };
}

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

/** The answer to a request whose body is too large to be read, in bytes. */
export const tooLargeAnswer = (request: Pick<SdkRequest, 'headers'>, limit: number): SdkAnswer => {
  const { headers, ...answer } = text(413, `The request is larger than ${limit} bytes. Send fewer events at a time.`);
  return { ...answer, headers: { ...headers, ...corsOf(request) } };
};

/** A browser shows an answer only to a page that it is meant for. Beacons carry cookies, for which `*` is not enough. */
function corsOf({ headers }: Pick<SdkRequest, 'headers'>): Record<string, string> {
  const origin = headers['origin'];
  const asked = headers['access-control-request-headers'];
  return {
    'Access-Control-Allow-Origin': origin ?? '*',
    ...(origin === undefined ? {} : { 'Access-Control-Allow-Credentials': 'true', Vary: 'Origin' }),
    'Access-Control-Allow-Methods': 'GET, POST, OPTIONS',
    'Access-Control-Expose-Headers': 'Retry-After',
    ...(asked === undefined ? {} : { 'Access-Control-Allow-Headers': asked }),
  };
}
