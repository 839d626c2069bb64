import { type LookupAddress, type LookupAllOptions, promises, lookup as resolveName } from 'node:dns';
import { once } from 'node:events';
import { type ClientRequestArgs, Agent as HttpAgent, type IncomingMessage, request as overHttp } from 'node:http';
import { Agent as HttpsAgent, request as overHttps, type RequestOptions } from 'node:https';
import { connect, isIP, type LookupFunction, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import ipaddr from 'ipaddr.js';
import { messageOf, shortened } from '../../basics/text.ts';
import { SECOND_MS } from '../../basics/units.ts';
import { invalid, Permanent, Transient } from '../errors.ts';
import type { Settings } from '../settings.ts';

/** The one way to customers' addresses. The answer of DNS is checked when a connection is made. */
export interface Outbound {
  /** Agents for an HTTP client, through which only allowed addresses can be reached. */
  readonly httpAgent: HttpAgent;
  readonly httpsAgent: HttpsAgent;
  /**
   * Returns a connected socket, for protocols other than HTTP. Throws `Permanent` or `Transient` when there is no
   * connection within 10 seconds, and the signal's reason when it is aborted.
   */
  connect(host: string, port: number, signal: AbortSignal): Promise<Socket>;
}

type Allowance = Pick<Settings, 'privateAddresses'>;

/**
 * Names that never lead to a public host: reserved by RFC 2606, 6761, 6762, 7686, 8375 and 9476 or by ICANN
 * (`internal`, `corp`, `home`), and those that local networks use.
 */
const RESERVED_NAMES =
  /(^|\.)(localhost|local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa|test|example|invalid|onion|alt)$/;

/** Global unicast of IPv6 (RFC 4291); outside it lie, among others, addresses that wrap an IPv4 address. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** A cloud's host agent at a public-looking address (Azure's WireServer). */
const HOST_AGENTS: ReadonlySet<string> = new Set(['168.63.129.16']);

/** Returns whether this is an IP address that anybody on the internet may reach. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast' || HOST_AGENTS.has(address.toString())) return false;
  return !('parts' in address) || (address.match(GLOBAL_IPV6) && !isTunnel(address));
}

/** Returns whether this is ISATAP (RFC 5214): an IPv4 address behind `0:5efe` or `200:5efe` in the second half. */
const isTunnel = ({ parts }: ipaddr.IPv6): boolean => [0, 0x200].includes(parts[4] ?? 0) && parts[5] === 0x5efe;

const hint = 'Use an address that is reachable from the internet.';

/** Returns why no connection to this host, in whatever spelling, is allowed; undefined when only DNS can tell. */
function refusalOf(host: string): string | undefined {
  const name = (URL.parse(`http://${host}`)?.hostname ?? host).replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(name) !== 0) return isPublicAddress(name) ? undefined : `Address '${name}' is not public. ${hint}`;
  if (!name.includes('.') || RESERVED_NAMES.test(name)) return `Host '${name}' is not a public name. ${hint}`;
  return undefined;
}

/** Characters of a name in DNS, and of each of its labels, as it is asked for (RFC 1035). */
const MAX_NAME = 253;
const MAX_LABEL = 63;

/** Returns whether a server can have this host, which the URL parser has read. */
function isPossibleHost(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  const labels = hostname.startsWith('[') ? [] : name.split('.');
  return name.length <= MAX_NAME && labels.every((label) => label !== '' && label.length <= MAX_LABEL);
}

/**
 * Refuses with 400 about `attr`, before anything is stored, what is not a URL (`http` or `https`, without credentials
 * and fragment, and without a query unless it may have one), and a host that is not public. The URL parser turns every
 * spelling of a host (decimal, octal, hex, full-width ...) into one. A name that resolves to an address that is not
 * public is refused when a connection is made.
 */
export function checkUrl(
  text: string,
  { privateAddresses }: Allowance,
  { attr = 'destination', query = false }: { readonly attr?: string; readonly query?: boolean } = {},
): void {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !isPossibleHost(url.hostname)) {
    invalid(attr, `'${shortened(text, 100)}' is not a valid address: it must be a URL such as https://host:9000.`);
  }
  // Either may hold a secret, which the answer does not repeat.
  const surplus = url.search !== '' && !query ? 'query (? and what follows)' : 'fragment (# and what follows)';
  if (url.hash !== '' || (url.search !== '' && !query)) {
    invalid(attr, `A URL with a ${surplus} is not a valid address here: leave that out.`);
  }
  if (url.username !== '' || url.password !== '') {
    invalid(attr, 'An address may not hold a user name or a password: use the fields for credentials.');
  }
  const refusal = privateAddresses ? undefined : refusalOf(url.hostname);
  if (refusal !== undefined) invalid(attr, refusal);
}

/** Refuses with 400 about `destination` what is not the name or the address of a server, and a host that is not public. */
export function checkHost(text: string, { privateAddresses }: Allowance): void {
  const isAddress = isIP(text.replace(/^\[|\]$/g, '')) === 6;
  const url =
    isAddress || !/[/?#@:\\\s]/.test(text) ? URL.parse(`http://${isIP(text) === 6 ? `[${text}]` : text}`) : null;
  if (url === null || !isPossibleHost(url.hostname)) {
    invalid(
      'destination',
      `'${shortened(text, 100)}' is not a valid host: it must be a name such as db.example.com, or an address.`,
    );
  }
  const refusal = privateAddresses ? undefined : refusalOf(url.hostname);
  if (refusal !== undefined) invalid('destination', refusal);
}

/** Tells the addresses of a name, as Node's `lookup` does when it is asked for all. */
type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Returns the way out, one for a whole process: its agents keep connections open for reuse. */
export function openOutbound({ privateAddresses }: Allowance, resolve?: typeof resolveName): Outbound {
  const options = { keepAlive: true };
  if (privateAddresses) {
    const connect = socketTo.bind(undefined, { lookup: resolve ?? resolveName });
    return { httpAgent: new HttpAgent(options), httpsAgent: new HttpsAgent(options), connect };
  }
  const lookup = publicLookup(resolve ?? publicNames());
  return {
    httpAgent: new PublicHttpAgent({ ...options, lookup }),
    httpsAgent: new PublicHttpsAgent({ ...options, lookup }),
    async connect(host, port, signal) {
      const refusal = refusalOf(host);
      if (refusal !== undefined) throw new Permanent(refusal);
      return socketTo({ lookup }, host, port, signal);
    },
  };
}

/** How long a server may take to accept a connection. */
const CONNECT_TIMEOUT_MS = 10 * SECOND_MS;

async function socketTo(
  options: { readonly lookup: LookupFunction },
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const place = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const socket = connect({ ...options, host: host.replace(/^\[|\]$/g, ''), port });
  const late = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, late]) });
    return socket;
  } catch (error) {
    socket.on('error', () => {}).destroy();
    signal.throwIfAborted();
    if (late.aborted) throw new Transient(`${place} did not answer in time.`, { cause: error });
    throw connectionFailure(error, place);
  }
}

/** How long DNS may take: 3 s, and 6 s the second time, which is less than a connection may take. */
const DNS_PATIENCE = { timeout: 3 * SECOND_MS, tries: 2 };

/** What DNS says of a name that it does not know, or that has no address of the kind. */
const NO_ADDRESS: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Returns what asks DNS itself, for any number of names at a time: Node's own `lookup` has two threads, and whoever owns a
 * few names whose servers are silent would keep all others waiting. `servers`: those that are asked; absent: the machine's.
 */
export function publicNames(servers?: readonly string[]): Resolve {
  return (hostname, _options, done) => {
    // It knows the machine's servers as they are when it is made.
    const resolver = new promises.Resolver(DNS_PATIENCE);
    if (servers !== undefined) resolver.setServers(servers);
    const asked = [resolver.resolve4(hostname), resolver.resolve6(hostname)];
    void Promise.allSettled(asked).then((answers) => {
      const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      const reasons = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Error] : []));
      const failure = reasons.find((reason) => !NO_ADDRESS.has((reason as NodeJS.ErrnoException).code));
      if (found.length > 0) {
        done(
          null,
          found.map((address) => ({ address, family: isIP(address) })),
        );
      } else done(failure ?? Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' }), []);
    });
  };
}

/** Returns DNS without answers that are not public. The connection goes to the very address that was checked. */
export function publicLookup(resolve: Resolve): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, answers) => {
      const allowed = error === null ? answers.filter(({ address }) => isPublicAddress(address)) : [];
      const [first] = allowed;
      if (error !== null) done(error, []);
      else if (first === undefined) done(new Permanent(notPublic(hostname, answers)), []);
      else if (options.all === true) done(null, allowed);
      else done(null, first.address, first.family);
    });
  };
}

const notPublic = (hostname: string, answers: readonly { address: string }[]): string =>
  `Host '${hostname}' resolves to ${answers.map(({ address }) => address).join(', ')}, which is not public. ${hint}`;

type Opened = (error: Error | null, stream: Duplex) => void;

/** Returns whether the connection was refused: a literal address never reaches `lookup`, so it is checked here. */
function isRefused(host: string | null | undefined, done: Opened | undefined): boolean {
  const refusal = refusalOf(host ?? 'localhost');
  if (refusal === undefined) return false;
  const error = new Permanent(refusal);
  process.nextTick(() => done?.(error, new Socket().destroy()));
  return true;
}

class PublicHttpAgent extends HttpAgent {
  override createConnection(options: ClientRequestArgs, done?: Opened) {
    return isRefused(options.host, done) ? undefined : super.createConnection(options, done);
  }
}

class PublicHttpsAgent extends HttpsAgent {
  override createConnection(options: RequestOptions, done?: Opened) {
    return isRefused(options.host, done) ? undefined : super.createConnection(options, done);
  }
}

/** A request. */
export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly signal: AbortSignal;
  /** How long to wait while no byte moves. */
  readonly idleTimeoutMs: number;
}

/** A server's answer. */
export interface PostResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** The first ANSWER_BYTES of the body. */
  readonly text: string;
}

/** Bytes of an answer that are read; a server that sends more is cut off. */
const ANSWER_BYTES = 16 * 1024;

/** After it a connection speaks HTTP no more; Node calls it an upgrade only where the answer names a protocol. */
const SWITCHING_PROTOCOLS = 101;

/** A request that takes longer than so many idle timeouts is given up, though bytes still move. */
const MAX_IDLE_TIMEOUTS = 5;

/**
 * Posts to an address. A redirect is an answer like any other: nothing follows it; and so is a switch of protocols (101),
 * after which nothing is said. Throws `Permanent` or `Transient` when there is no answer, and the signal's reason when it is aborted.
 */
export async function post({ httpAgent, httpsAgent }: Outbound, url: string, given: Post): Promise<PostResponse> {
  const { headers, body, signal, idleTimeoutMs } = given;
  const { protocol, host } = new URL(url);
  const isSecure = protocol === 'https:';
  const late = AbortSignal.timeout(idleTimeoutMs * MAX_IDLE_TIMEOUTS);
  try {
    return await new Promise((answered, failed) => {
      let isAnswered = false;
      const endSwitched = (answer: IncomingMessage, socket: Duplex): void => {
        isAnswered = true;
        answered(answerOf(answer, ''));
        socket.destroy();
      };
      const request = (isSecure ? overHttps : overHttp)(
        url,
        {
          method: 'POST',
          agent: isSecure ? httpsAgent : httpAgent,
          headers: { ...headers, 'content-length': body.length },
          signal: AbortSignal.any([signal, late]),
          timeout: idleTimeoutMs,
        },
        (answer) => {
          isAnswered = true;
          if (answer.statusCode === SWITCHING_PROTOCOLS) endSwitched(answer, answer.socket);
          else void read(answer).then(answered, failed);
        },
      );
      // Without a listener Node drops such a connection and tells nobody: neither an answer nor an error would come.
      request.on('upgrade', endSwitched);
      request.on('close', () => {
        if (!isAnswered) failed(new Transient(`${host} closed the connection without an answer.`));
      });
      request.on('timeout', () => request.destroy(new Transient(`${host} did not answer in time.`)));
      request.on('error', failed);
      request.end(body);
    });
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted) throw new Transient(`${host} did not answer in time.`, { cause: error });
    throw connectionFailure(error, host);
  }
}

async function read(answer: IncomingMessage): Promise<PostResponse> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= ANSWER_BYTES) break;
  }
  return answerOf(answer, Buffer.concat(pieces).subarray(0, ANSWER_BYTES).toString());
}

const answerOf = ({ statusCode, headers }: IncomingMessage, text: string): PostResponse => ({
  status: statusCode ?? 0,
  headers,
  text,
});

/** Errors of certificates, by Node's code. */
export const BAD_CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/;

/** Returns the error that says where a connection failed and why: `Permanent` where only a person can mend it. */
export function connectionFailure(error: unknown, place: string): Permanent | Transient {
  if (error instanceof Permanent || error instanceof Transient) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  const cause = { cause: error };
  if (code === 'ENOTFOUND') return new Permanent(`There is no host '${place}'. Correct the address.`, cause);
  if (code === 'EPROTO') return new Permanent(`The server at ${place} does not speak TLS. Correct the address.`, cause);
  if (BAD_CERTIFICATE.test(code)) {
    const why = `The certificate of ${place} is not accepted (${messageOf(error)}).`;
    return new Permanent(`${why} It must be valid, for this name, and signed by a public authority.`, cause);
  }
  return new Transient(`Could not reach ${place}: ${messageOf(error) || code}.`, cause);
}
