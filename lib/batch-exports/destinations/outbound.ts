import { lookup as resolveName } from 'node:dns';
import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { isIP, type LookupFunction, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import ipaddr from 'ipaddr.js';
import { invalid, Permanent } from '../../errors.ts';
import type { Settings } from '../../settings.ts';

/** The one door to customers' addresses. What DNS answers is checked when a connection is made. */
export interface Outbound {
  /** Agents for an HTTP client, through which only allowed addresses can be reached. */
  readonly httpAgent: HttpAgent;
  readonly httpsAgent: HttpsAgent;
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

/** Is this IP address one that anybody on the internet may reach? */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast' || HOST_AGENTS.has(address.toString())) return false;
  return address.kind() === 'ipv4' || address.match(GLOBAL_IPV6);
}

const hint = 'Use an address that is reachable from the internet.';

/** Why a host, as a URL parser spells it, may not be connected to; undefined when only DNS can tell. */
function refusalOf(host: string): string | undefined {
  const name = host.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(name) !== 0) return isPublicAddress(name) ? undefined : `Address '${name}' is not public. ${hint}`;
  if (!name.includes('.') || RESERVED_NAMES.test(name)) return `Host '${name}' is not a public name. ${hint}`;
  return undefined;
}

/**
 * Refuses with 400, before anything is stored, what is not a URL (`http` or `https`, without credentials, query and
 * fragment), and a host that is not public. The URL parser turns every spelling of a host (decimal, octal, hex,
 * full-width ...) into one. A name that resolves to a place that is not public is refused when a connection is made.
 */
export function checkUrl(text: string, { privateAddresses }: Allowance): void {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    invalid('destination', `'${shortened(text)}' is not a valid address: it must be a URL such as https://host:9000.`);
  }
  if (url.username !== '' || url.password !== '') {
    invalid('destination', 'An address may not hold a user name or a password: use the fields for credentials.');
  }
  const refusal = privateAddresses ? undefined : refusalOf(url.hostname);
  if (refusal !== undefined) invalid('destination', refusal);
}

const shortened = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

/** Opens the door. Its agents keep connections open for reuse; one door serves a whole process. */
export function openOutbound({ privateAddresses }: Allowance, resolve: typeof resolveName = resolveName): Outbound {
  const options = { keepAlive: true };
  if (privateAddresses) return { httpAgent: new HttpAgent(options), httpsAgent: new HttpsAgent(options) };
  const guarded = { ...options, lookup: publicLookup(resolve) };
  return { httpAgent: new PublicHttpAgent(guarded), httpsAgent: new PublicHttpsAgent(guarded) };
}

/** DNS without answers that are not public. The connection goes to the very address that was checked. */
export function publicLookup(resolve: typeof resolveName): LookupFunction {
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

/** A literal address never reaches `lookup`, so it is checked here. True: the connection was refused. */
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
