/**
 * PostHog's capture v1, in which its SDKs of 2026 and later send: what a request is about, its headers say, and what was
 * a property that the service reads has a member of its own. Here it becomes what all other requests are.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '../basics/json.ts';
import { numberText } from '../basics/raw-number.ts';
import { patternOf } from './path-pattern.ts';

/** Headers that say what a payload is, and are kept with it. */
const HEADERS = ['authorization', 'content-encoding', 'posthog-request-timestamp', 'posthog-sdk-info'] as const;

/** Those of them that a request has. */
export type PayloadHeaders = Readonly<Partial<Record<(typeof HEADERS)[number], string>>>;

/** Its paths, as a gateway names them. */
export const V1_TEMPLATES = ['/i/v1/analytics/events', '/i/v1/ai/events'] as const;
const V1 = patternOf(V1_TEMPLATES);

/** Returns whether what is sent to a path is of this form. */
export const isV1 = (path: string): boolean => V1.test(path);

/** Returns what of its headers belongs to a request at a path: nothing, where none of them is read. */
export function payloadHeaders(path: string, headers: IncomingHttpHeaders): { readonly headers?: PayloadHeaders } {
  if (!isV1(path)) return {};
  const said = HEADERS.map((name) => [name, headers[name]]).filter(([, value]) => typeof value === 'string');
  return { headers: Object.fromEntries(said) };
}

/** Returns the token of a request, undefined when it has none. */
export const bearerOf = ({ authorization }: PayloadHeaders): string | undefined =>
  /^bearer\s+(\S.*)$/i.exec(authorization ?? '')?.[1];

/** Of the header that names the SDK, in characters; real ones have twenty. */
const LONGEST_SDK = 200;

/** Returns the properties that name the SDK which has sent a request. */
export function sdkOf({ 'posthog-sdk-info': info = '' }: PayloadHeaders): Readonly<Record<string, string>> {
  const [, name = '', version = ''] = /^(.*)\/([^/]*)$/.exec(info) ?? [];
  const [$lib, $lib_version] = [name.trim(), version.trim()];
  return $lib === '' || $lib_version === '' || info.length > LONGEST_SDK ? {} : { $lib, $lib_version };
}

/** What an SDK says is true or false, as it writes it; what is neither, as it is: PostHog drops such an event. */
function booleanOf(value: unknown): unknown {
  const number = numberText(value);
  if (number !== undefined) return Number(number) !== 0;
  const text = typeof value === 'string' ? value.trim().toLowerCase() : '';
  return ['true', '1'].includes(text) ? true : ['false', '0'].includes(text) ? false : value;
}

/** Members of an event, and of its options, that are properties to all who read it. */
const OF_EVENT = { session_id: '$session_id', window_id: '$window_id' };
const OF_OPTIONS = { product_tour_id: '$product_tour_id' };
const OF_OPTIONS_YES_OR_NO = {
  cookieless_mode: '$cookieless_mode',
  disable_skew_correction: '$ignore_sent_at',
  process_person_profile: '$process_person_profile',
};

type Members = Readonly<Record<string, unknown>>;

/** Returns those of the members that are there, as properties. */
const renamed = (
  members: Members,
  names: Readonly<Record<string, string>>,
  valueOf = (value: unknown) => value,
): Members =>
  Object.fromEntries(
    Object.entries(names).flatMap(([member, property]) => {
      const value = members[member] ?? null;
      return value === null ? [] : [[property, valueOf(value)]];
    }),
  );

/** Returns an event as all others are sent; what is none, as it is. `sdk` is what `sdkOf` returns. */
export function eventOfV1(sent: unknown, sdk: Members): unknown {
  if (!isObject(sent) || !isObject(sent['properties'] ?? {})) return sent;
  const { session_id, window_id, options, ...event } = sent;
  const { properties, distinct_id } = event;
  const chosen = isObject(options) ? options : {};
  return {
    ...event,
    ...(typeof distinct_id === 'string' ? { distinct_id: distinct_id.trim() } : {}),
    properties: {
      ...(isObject(properties) ? properties : {}),
      ...renamed({ session_id, window_id }, OF_EVENT),
      ...renamed(chosen, OF_OPTIONS),
      ...renamed(chosen, OF_OPTIONS_YES_OR_NO, booleanOf),
      ...sdk,
    },
  };
}
