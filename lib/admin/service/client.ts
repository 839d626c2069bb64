/** The public API, as the command line speaks it. */
import * as z from 'zod';
import { messageOf } from '../../basics/text.ts';
import { SECOND_MS } from '../../basics/units.ts';
import { FAILURES } from '../../ports/errors.ts';

/** Where a service is, and who asks. */
export interface ServiceAddress {
  /** Such as `http://127.0.0.1:8010`. */
  readonly url: string;
  readonly key: string;
}

/** Why a request came to nothing, in a sentence. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** When to ask again, as nobody answered, or not for good; undefined: the answer would be the same. */
  readonly retryMs: number | undefined;
  constructor(message: string, retryMs?: number) {
    super(message);
    this.retryMs = retryMs;
  }
}

/** What a request named is not there, and the answer does not say what. */
export class NotFound extends ServiceError {}

type Query = Readonly<Record<string, string | number | undefined>>;

/** A service that listens. Every method throws `ServiceError`, and the reason of `signal` when that is aborted. */
export interface Client {
  /** Where a path of the API is, as a person asks for it. */
  address(path: string): string;
  get<Found>(path: string, query?: Query): Promise<Found>;
  send<Found>(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<Found>;
  /** Sends bytes as they are. */
  put<Found>(path: string, query: Query, bytes: Uint8Array<ArrayBuffer>): Promise<Found>;
  /** Sends what must still be said when `signal` is aborted. */
  last<Found>(method: 'POST', path: string): Promise<Found>;
  /** Returns the first `limit` objects of a list, over as many pages as it takes. */
  list<Found>(path: string, limit: number, query?: Query): Promise<Found[]>;
}

interface Page<Found> {
  readonly next: string | null;
  readonly results: readonly Found[];
}

const Problem = z.object({ detail: z.string(), attr: z.string().nullable() });

/** What is said at last is waited for so long. */
const LAST_MS = 5 * SECOND_MS;

/** When to ask again, where nobody says. */
const RETRY_MS = 5 * SECOND_MS;

/** What a page has at most. */
const PAGE = 100;

/** Returns a client of the service at an address; `signal` ends its requests. */
export function openClient({ url, key }: ServiceAddress, signal: AbortSignal): Client {
  async function request<Found>(
    method: string,
    address: string,
    body?: unknown,
    until: AbortSignal = signal,
  ): Promise<Found> {
    const isBytes = body instanceof Uint8Array;
    const type = isBytes ? 'application/octet-stream' : 'application/json';
    const answer = await fetch(address, {
      method,
      signal: until,
      headers: { Authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'Content-Type': type }) },
      ...(body === undefined ? {} : { body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
    }).catch((error: unknown) => {
      until.throwIfAborted();
      throw new ServiceError(
        `No service answers at ${url} (${reasonOf(error)}). Start it with npm start, or say where it is: --url.`,
        RETRY_MS,
      );
    });
    const text = await answer.text().catch((error: unknown) => {
      until.throwIfAborted();
      throw new ServiceError(`The answer of ${url} broke off (${reasonOf(error)}).`, RETRY_MS);
    });
    if (answer.ok) return (text === '' ? null : JSON.parse(text)) as Found;
    const problem = problemIn(text);
    if (answer.status === 404 && problem === FAILURES.not_found.detail) throw new NotFound(problem);
    throw new ServiceError(problem ?? `${method} ${address} is answered with ${answer.status}.`, retryMsOf(answer));
  }

  const addressOf = (path: string, query: Query = {}): string => {
    const address = new URL(`${url.replace(/\/+$/, '')}${path}`);
    const dots = /(?<=\/)\.\.?(?=\/|$)/.exec(path)?.[0];
    // In an address it would stand for another object, or for what holds it.
    if (dots !== undefined) throw new ServiceError(`'${dots}' names nothing.`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) address.searchParams.set(name, String(value));
    return address.href;
  };

  return {
    address: addressOf,
    get: (path, query) => request('GET', addressOf(path, query)),
    send: (method, path, body) => request(method, addressOf(path), body),
    put: (path, query, bytes) => request('PUT', addressOf(path, query), bytes),
    last: (method, path) => request(method, addressOf(path), undefined, AbortSignal.timeout(LAST_MS)),
    list: async <Found>(path: string, limit: number, query?: Query) => {
      const found: Found[] = [];
      let address: string | null = addressOf(path, { ...query, limit: Math.min(limit, PAGE) });
      while (address !== null && found.length < limit) {
        const page: Page<Found> = await request('GET', address);
        found.push(...page.results);
        // The service may stand behind another address than the one that it names.
        address = page.next === null ? null : addressOf(path) + new URL(page.next).search;
      }
      return found.slice(0, limit);
    },
  };
}

function retryMsOf({ status, headers }: Response): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * SECOND_MS : RETRY_MS;
}

function problemIn(text: string): string | undefined {
  try {
    const { detail, attr } = Problem.parse(JSON.parse(text));
    return attr === null ? detail : `${attr}: ${detail}`;
  } catch {
    return undefined;
  }
}

const reasonOf = (error: unknown): string => (error as { cause?: { code?: string } }).cause?.code ?? messageOf(error);
