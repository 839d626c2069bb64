/**
 * Events from web server logs in the combined format, as Apache and nginx write it, also without its last two fields
 * (the common format) and with the virtual host in front. A request is a `$pageview`, and an `$http_log` when it is for
 * an asset, or by a bot, or not one of HTTP:
 *
 *   distinct_id        a hash of address and agent: the nearest thing to a person that a log has
 *   $current_url       with the host when the line knows it, else the path as it is
 *   $pathname  utm_…   of the address
 *   $referrer  $referring_domain     `$direct` where the line says that there is none
 *   $browser  $browser_version  $os  $device_type  $browser_type (`bot` or `browser`)     of the agent
 *   is_asset           true of a style, a script, a picture and the like, else absent
 *   $ip  $user_agent  $host  method  protocol  status  bytes  user  remote_host (a name instead of an address)
 *   request            the request as it is, when it is not one of HTTP (port scanners send anything)
 *   extra              what the server's own format has behind the agent
 *
 * A dash is a missing value. A line whose tail is cut off is an event with the fields that are there, as long as the
 * time is.
 */
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import { isoMicroseconds, type LineReader, microsecondsOf, storable, YEARS } from './event.ts';
import type { PageViews } from './formats.ts';
import { agentProperties, isAsset, referringDomain, targetProperties } from './web-request.ts';

const TIME = /^(\d{1,2})\/([a-z]{3})\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ([+-])(\d\d)(\d\d)$/i;
/** The time is looked for behind this many opening brackets: a user's name may hold some. */
const BRACKETS = 8;
const LONGEST_TIME = 40;
const VIRTUAL_HOST = /^([^\s:]+):(\d{1,5})$/;
const METHOD = /^[A-Za-z][A-Za-z_-]{0,31}$/;
const PROTOCOL = /^HTTP\/\d(?:\.\d)?$/;
/** Values that come again and again are worked out once: this many are remembered, none longer than this (10 MB). */
const REMEMBERED = 20_000;
const LONGEST_REMEMBERED = 500;

/** What posthog-js says where a visitor came from nowhere. */
const DIRECT = '$direct';

/** A reader of its own memory, for one import. */
export function accessLogReader(pageViews: PageViews = 'pages'): LineReader {
  const time = rememberingLast(timeOf);
  const visitor = remembering((key: string) => hash('sha256', key).slice(0, 32));
  const told = remembering(agentProperties);
  const domain = remembering(referringDomain);

  return (line) => {
    const found = findTime(line, time);
    if (typeof found === 'string') return found;
    const front = line.slice(0, found.begin).split(' ');
    const [, server, port] = (front.length > 3 && VIRTUAL_HOST.exec(front[0] ?? '')) || [];
    const names = server === undefined ? front : front.slice(1);
    if (names.length < 3 || names[0] === '') return 'no address, identity and user before the time';
    const [client = ''] = names;
    const user = names.slice(2).join(' ');

    const request = quotedAt(line, found.end);
    const [status, afterStatus] = wordAt(line, request.end);
    const [bytes, afterBytes] = wordAt(line, afterStatus);
    const referrer = quotedAt(line, afterBytes);
    const agent = quotedAt(line, referrer.end);
    const extra = line.slice(agent.end).trim();

    const http = httpRequest(request.text);
    const isAddress = isIP(client) !== 0;
    const target = http && unescaped(http.target);
    const about = target === undefined ? undefined : targetProperties(target);
    const from = given(referrer.text) ?? (http !== undefined && referrer.text === '-' ? DIRECT : undefined);
    const userAgent = given(agent.text);
    const browsing = userAgent === undefined ? undefined : told(userAgent);
    const isForAsset = about !== undefined && isAsset(about.$pathname);
    const isPage = pageViews === 'all' || (about !== undefined && !isForAsset && browsing?.$browser_type !== 'bot');
    // Each by its name: an object into which others are spread has a shape of its own, which takes twice the time.
    const properties = {
      $current_url: target === undefined ? undefined : urlOf(target, server, port),
      $host: server,
      $pathname: about?.$pathname,
      utm_source: about?.utm_source,
      utm_medium: about?.utm_medium,
      utm_campaign: about?.utm_campaign,
      utm_content: about?.utm_content,
      utm_term: about?.utm_term,
      $referrer: from,
      $referring_domain: from === undefined || from === DIRECT ? from : domain(from),
      $browser_type: browsing?.$browser_type,
      $browser: browsing?.$browser,
      $browser_version: browsing?.$browser_version,
      $os: browsing?.$os,
      $device_type: browsing?.$device_type,
      is_asset: isForAsset ? true : undefined,
      $ip: isAddress ? client : undefined,
      $user_agent: userAgent,
      method: http?.method,
      protocol: http?.protocol,
      status: numberOf(status),
      bytes: numberOf(bytes),
      user: given(user),
      remote_host: isAddress ? undefined : given(client),
      request: http === undefined && isGiven(request.text) ? request.text : undefined,
      extra: extra === '' ? undefined : extra,
    };
    return {
      uuid: null,
      event: isPage ? '$pageview' : '$http_log',
      distinctId: visitor(`${client}\n${agent.text}`),
      properties: storable(JSON.stringify(properties)),
      timestamp: found.time,
      created: null,
      personId: null,
      personProperties: null,
      elementsChain: null,
      personChange: null,
    };
  };
}

const isGiven = (raw: string): boolean => raw !== '' && raw !== '-';
const given = (raw: string): string | undefined => (isGiven(raw) ? unescaped(raw) : undefined);
const numberOf = (word: string): number | undefined => (/^\d{1,15}$/.test(word) ? Number(word) : undefined);

/** Where the time in brackets begins and ends, and what it is; or why there is none. */
function findTime(
  line: string,
  time: (text: string) => number | undefined,
): { begin: number; end: number; time: number } | string {
  let seen = false;
  for (let begin = line.indexOf(' ['), tries = 0; begin !== -1 && tries < BRACKETS; tries += 1) {
    const end = line.indexOf(']', begin);
    if (end === -1) break;
    if (end - begin <= LONGEST_TIME) {
      seen = true;
      const found = time(line.slice(begin + 2, end));
      if (found !== undefined) return { begin, end: end + 1, time: found };
    }
    begin = line.indexOf(' [', begin + 1);
  }
  return seen ? `the time is not a date between ${YEARS.first} and ${YEARS.last}` : 'no time in brackets';
}

function timeOf(text: string): number | undefined {
  const match = TIME.exec(text);
  if (match === null) return isoMicroseconds(text);
  const [, day, month, year, hour, minute, second, fraction, sign, hours, minutes] = match;
  return microsecondsOf({ year, month, day, hour, minute, second, fraction, sign, hours, minutes });
}

/** A field in quotes, with its escapes; empty when there is none here. Without a closing quote it is the rest. */
function quotedAt(line: string, at: number): { text: string; end: number } {
  const begin = line.charCodeAt(at) === 32 ? at + 1 : at;
  if (line.charCodeAt(begin) !== 34) return { text: '', end: at };
  for (let end = line.indexOf('"', begin + 1); end !== -1; end = line.indexOf('"', end + 1)) {
    let slashes = 0;
    while (line.charCodeAt(end - 1 - slashes) === 92) slashes += 1;
    if (slashes % 2 === 0) return { text: line.slice(begin + 1, end), end: end + 1 };
  }
  return { text: line.slice(begin + 1), end: line.length };
}

function wordAt(line: string, at: number): [word: string, end: number] {
  const begin = line.charCodeAt(at) === 32 ? at + 1 : at;
  if (line.charCodeAt(begin) === 34) return ['', at];
  const end = line.indexOf(' ', begin);
  return end === -1 ? [line.slice(begin), line.length] : [line.slice(begin, end), end];
}

function httpRequest(text: string): { method: string; target: string; protocol?: string } | undefined {
  const space = text.indexOf(' ');
  const method = text.slice(0, space);
  if (space === -1 || !METHOD.test(method)) return undefined;
  const last = text.lastIndexOf(' ');
  const protocol = text.slice(last + 1);
  if (last > space && PROTOCOL.test(protocol)) return { method, target: text.slice(space + 1, last), protocol };
  return { method, target: text.slice(space + 1) };
}

function urlOf(target: string, server: string | undefined, port: string | undefined): string {
  if (server === undefined || !target.startsWith('/')) return target;
  const scheme = port === '443' ? 'https' : 'http';
  return `${scheme}://${server}${port === '443' || port === '80' ? '' : `:${port}`}${target}`;
}

/** Servers write what is not printable as `\xhh`, and quotes and backslashes behind a backslash. */
const ESCAPE = /((?:\\x[0-9a-f]{2})+)|\\(.)/gi;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', v: '\v', f: '\f' };

function unescaped(raw: string): string {
  if (!raw.includes('\\')) return raw;
  return raw.replace(ESCAPE, (_all, bytes: string | undefined, letter: string) => {
    if (bytes === undefined) return ESCAPED[letter] ?? letter;
    const buffer = Buffer.from(bytes.replaceAll(/\\x/gi, ''), 'hex');
    return buffer.toString(isUtf8(buffer) ? 'utf8' : 'latin1');
  });
}

/** Lines of one second come together. */
function rememberingLast<T>(work: (key: string) => T): (key: string) => T {
  let last: { key: string; made: T } | undefined;
  return (key) => {
    if (last?.key !== key) last = { key, made: work(key) };
    return last.made;
  };
}

function remembering<T>(work: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = work(key);
    if (key.length > LONGEST_REMEMBERED) return made;
    if (known.size >= REMEMBERED) known.clear();
    known.set(key, made);
    return made;
  };
}
