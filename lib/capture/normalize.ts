/**
 * One event as an SDK sent it becomes what the lake takes in, as it takes it of an import; what it means for persons is
 * decided there. Numbers are written as JavaScript writes them (`1.0` is 1), as PostHog's own pipeline does; but a whole
 * number keeps its digits, which there become others beyond 2^53.
 */

import { isObject } from '../basics/json.ts';
import { isRawNumber } from '../basics/raw-number.ts';
import { SECOND_MS } from '../basics/units.ts';
import { COOKIELESS, DELETE, personChangeOf } from '../lake/persons/change.ts';
import { canonicalUuid, contentUuid, type SourceEvent, storable, storableText } from '../lake/sources/event.ts';
import { type TimeWarning, timesOf } from './timestamp.ts';

/** With what a request came. The same for each attempt to land it, so that its events are the same. */
export interface Arrival {
  readonly token: string;
  /** Which request it is. */
  readonly request: string;
  /** When the request came, milliseconds since 1970. */
  readonly now: number;
  /** `sentAt` of its payload. */
  readonly sentAt: number | null;
  /** Whose it is, as text; null: it is not kept. */
  readonly clientAddress: string | null;
  /** True: no event keeps the address that it says itself, either. Default: each keeps it. */
  readonly isAnonymized?: boolean;
}

/** An event that arrived live. `created`, `personId` and `personProperties` are null: the lake says these. */
export interface CapturedEvent extends SourceEvent {
  /** Its own, or made of its content. With `event` and `distinctId` it says which event this is, however often it is sent. */
  readonly uuid: string;
  readonly event: string;
  /** The timestamp as its sender wrote it, microseconds since 1970; null: none. `timestamp` is corrected, anew with each attempt. */
  readonly sentTimestamp: number | null;
}

/** Why an event is not taken; the sentence is for the project's people. */
export const EVENT_REFUSALS = {
  not_an_object: 'The event is not a JSON object.',
  missing_event_name: 'The event has no name: `event` is missing, blank or not text.',
  missing_distinct_id: 'The event has no `distinct_id`, or a blank one.',
  invalid_uuid: 'The `uuid` of the event is not a UUID.',
  invalid_properties: 'The `properties` of the event are not an object.',
  nested_too_deeply: 'The event is nested over 128 levels.',
  event_too_big: 'The event has more than 1,000,000 bytes.',
} as const;
export type EventRefusal = keyof typeof EVENT_REFUSALS;

/** What of an event that is taken is not as its sender meant it, as PostHog calls it; the sentence is for the project's people. */
export const EVENT_WARNINGS = {
  cookieless_team_disabled:
    'The visitor has no cookies, and nothing tells them from another such one: all of them count as one, and are no person.',
  ignored_invalid_timestamp:
    'The `timestamp` cannot be read, or its year is not kept: the event was given the time at which it came, or 1970.',
  event_timestamp_in_future:
    'The `timestamp` is more than 23 hours ahead of when the event came: it was given the time at which it came.',
} as const satisfies Readonly<Record<TimeWarning, string> & Record<string, string>>;
export type EventWarning = keyof typeof EVENT_WARNINGS;

/** An event that is taken, and what of it is not as its sender meant it. */
interface TakenEvent {
  readonly captured: CapturedEvent;
  readonly warnings: readonly EventWarning[];
}

export interface RefusedEvent {
  readonly reason: EventRefusal;
  /** Where in its request it stood, from 0. */
  readonly index: number;
  /** What could be read of it. */
  readonly event: string | null;
  readonly distinctId: string | null;
}

/**
 * Yields what becomes of the events of one request, in their order. Of events that bring no uuid, equal ones of one
 * request are different events. Never throws for what was sent.
 */
export function* eachEvent(
  events: readonly unknown[],
  arrival: Arrival,
): Generator<TakenEvent | { readonly refused: RefusedEvent }, void> {
  const times = new Map<string, number>();
  const madeUuid = (sent: unknown, sentTimestamp: number | null): string => {
    const uuid = uuidOf(sent, sentTimestamp, arrival);
    const nth = (times.get(uuid) ?? 0) + 1;
    times.set(uuid, nth);
    return nth === 1 ? uuid : contentUuid(`${uuid} ${nth}`);
  };
  for (const [index, sent] of events.entries()) {
    const taken = normalized(sent, arrival);
    if ('reason' in taken) {
      yield { refused: { ...taken, index } };
      continue;
    }
    const { event, warnings } = taken;
    yield { captured: { ...event, uuid: event.uuid ?? madeUuid(sent, event.sentTimestamp) }, warnings };
  }
}

/** As PostHog cuts them, in characters. */
const LONGEST_NAME = 200;
/** As deep as PostHog's own endpoint reads. */
const MAX_DEPTH = 128;
/**
 * What PostHog keeps of one event at most. What it sets of a person is stored twice, and a row of the lake's staging has
 * two million characters (`LONGEST_ROW`): nothing that is taken here is too long there.
 */
const MAX_BYTES = 1_000_000;

/** What is stored of an event that is not in it as it was sent: an address at most. */
const ADDED_BYTES = 1_000;

type Normalized = Omit<CapturedEvent, 'uuid'> & Pick<SourceEvent, 'uuid'>;
type Refusal = Omit<RefusedEvent, 'index'>;

/** An event that can be taken, unless it is too big. */
interface ReadEvent extends Pick<Normalized, 'uuid' | 'event' | 'distinctId'> {
  readonly sent: Readonly<Record<string, unknown>>;
  readonly given: Readonly<Record<string, unknown>>;
  /** Whether its size must be known to say so. */
  readonly isWeighed: boolean;
}

/** What is stored of the properties of an event. */
interface StoredProperties {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly json: string;
  /** '' when there is none. */
  readonly elementsChain: string;
}

/** Returns why an event that was sent is not taken; null: it is. Never throws for what was sent. */
export function refusalOf(sent: unknown, arrival: Arrival): Refusal | null {
  const read = readEvent(sent);
  if ('reason' in read) return read;
  if (!read.isWeighed) return null;
  const stored = storedProperties(read, arrival);
  return 'reason' in stored ? stored : null;
}

function readEvent(sent: unknown): ReadEvent | Refusal {
  if (!isObject(sent)) return { reason: 'not_an_object', event: null, distinctId: null };
  const event = typeof sent['event'] === 'string' ? nameOfCaptured(sent['event']) : null;
  const bytes = mostBytes(sent, MAX_DEPTH);
  if (bytes === Number.POSITIVE_INFINITY) return { reason: 'nested_too_deeply', event, distinctId: null };
  const given = sent['properties'] ?? {};
  const distinctId = distinctIdOf(sent, given);
  const refusal = (reason: EventRefusal): Refusal => ({ reason, event, distinctId });

  if (event === null || event.trim() === '') return refusal('missing_event_name');
  if (!isObject(given)) return refusal('invalid_properties');
  if (distinctId === null) return refusal('missing_distinct_id');
  const uuid = sentUuid(sent['uuid']);
  if (uuid === undefined) return refusal('invalid_uuid');
  // As a chain, elements grow.
  const isWeighed = bytes + ADDED_BYTES > MAX_BYTES || Array.isArray(given['$elements']);
  return { sent, given, uuid, event, distinctId, isWeighed };
}

function storedProperties(
  { sent, given, event, distinctId }: ReadEvent,
  { clientAddress, isAnonymized = false }: Pick<Arrival, 'clientAddress' | 'isAnonymized'>,
): StoredProperties | Refusal {
  const properties = { ...given };
  const elementsChain = takeChain(properties);
  addMembers(properties, sent);
  if (isAnonymized) delete properties['$ip'];
  else if (clientAddress !== null && !Object.hasOwn(properties, '$ip'))
    properties['$ip'] = Object.hasOwn(properties, 'capture_internal') ? '127.0.0.1' : clientAddress;
  const json = storable(JSON.stringify(properties));
  if (Buffer.byteLength(json) + Buffer.byteLength(JSON.stringify(elementsChain)) > MAX_BYTES)
    return { reason: 'event_too_big', event, distinctId };
  return { properties, json, elementsChain };
}

/** Returns what the lake takes in of an event, or why it is not taken. */
function normalized(
  whole: unknown,
  arrival: Arrival,
): Refusal | (Pick<TakenEvent, 'warnings'> & { readonly event: Normalized }) {
  const read = readEvent(whole);
  if ('reason' in read) return read;
  const { sent, uuid, event, distinctId } = read;
  const stored = storedProperties(read, arrival);
  if ('reason' in stored) return stored;
  const { properties, json, elementsChain } = stored;
  const times = timesOf({
    timestamp: sent['timestamp'],
    offset: sent['offset'],
    ignoreSentAt: properties['$ignore_sent_at'],
    sentAt: arrival.sentAt,
    now: arrival.now,
  });
  const normal: Normalized = {
    uuid,
    event,
    distinctId,
    properties: json,
    timestamp: times.happened,
    sentTimestamp: times.sent,
    created: null,
    personId: null,
    personProperties: null,
    elementsChain: elementsChain === '' ? null : storableText(elementsChain),
    // The token is public: whoever reads it in a page must not be able to delete people.
    personChange: event === DELETE ? null : personChangeOf(event, properties, null, nameOfCaptured),
  };
  const warnings: EventWarning[] = distinctId === COOKIELESS ? ['cookieless_team_disabled'] : [];
  if (times.warning !== null) warnings.push(times.warning);
  return { event: normal, warnings };
}

/** Some SDKs put beside the properties what belongs in them. */
function addMembers(properties: Record<string, unknown>, { $set, $set_once, $unset, groups }: Record<string, unknown>) {
  const put = (name: string, beside: unknown): void => {
    if (isObject(beside)) properties[name] = isObject(properties[name]) ? { ...properties[name], ...beside } : beside;
  };
  put('$set', $set);
  put('$set_once', $set_once);
  if ((isObject($unset) || Array.isArray($unset)) && !Object.hasOwn(properties, '$unset'))
    properties['$unset'] = $unset;
  if (isObject(groups) && !Object.hasOwn(properties, '$groups')) properties['$groups'] = groups;
}

/** Null: there is none, or it is blank. */
function distinctIdOf(sent: Readonly<Record<string, unknown>>, properties: unknown): string | null {
  const value =
    sent['distinct_id'] ?? sent['$distinct_id'] ?? (isObject(properties) ? properties['distinct_id'] : undefined);
  if (value === undefined || value === null) return null;
  const text = nameOfCaptured(typeof value === 'string' ? value : JSON.stringify(value));
  return text.trim() === '' ? null : text;
}

/** Null: it brings none; undefined: it is no UUID. With or without hyphens, in braces or as a URN, as languages print it. */
function sentUuid(value: unknown): string | null | undefined {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'string') return undefined;
  const bare = value.trim().replace(/^(?:\{(.*)\}|urn:uuid:(.*))$/i, '$1$2');
  return (
    canonicalUuid(value) ?? canonicalUuid(bare.replace(/^(\w{8})(\w{4})(\w{4})(\w{4})(\w{12})$/, '$1-$2-$3-$4-$5'))
  );
}

/** Longer ones tell nobody which event it is. */
const LONGEST_UUID = 100;

/** Returns how a sender finds their event again: its uuid as it is written here, or as they wrote it. Null: it has none. */
export function uuidToTell(sent: unknown): string | null {
  const uuid = isObject(sent) ? sent['uuid'] : undefined;
  return typeof uuid !== 'string' || uuid.length > LONGEST_UUID
    ? null
    : (sentUuid(uuid) ?? (uuid === '' ? null : uuid));
}

/**
 * Made of the event as it was sent, but for what tells when that was, so that another attempt gives the same. What does
 * not say which event it is could be another one each time, and losing one is worse than having one twice: then the time
 * at which its payload was sent is part of it, or, as many may come in one instant, the request in which it came.
 */
function uuidOf(sent: unknown, sentTimestamp: number | null, { token, request, now, sentAt }: Arrival): string {
  const content = { ...(sent as Record<string, unknown>) };
  const apart = tellsApart(sentTimestamp) || hasOwnId(content) ? '' : tellsApart(sentAt) ? sentAt : `${now} ${request}`;
  delete content['offset'];
  delete content['sent_at'];
  return contentUuid(`${token} ${apart} ${JSON.stringify(content)}`);
}

/** Whether an event without a uuid is told apart from others by an id of its SDK. */
const hasOwnId = ({ messageId, properties }: Record<string, unknown>): boolean =>
  isId(messageId) || (isObject(properties) && isId(properties['$insert_id']));

const isId = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** Whether an instant, microseconds since 1970, is finer than a second: in one second equal events happen. */
const tellsApart = (micros: number | null): micros is number => micros !== null && micros % (SECOND_MS * 1000) !== 0;

/** A character may be two units of a text. */
const LONGEST = new RegExp(`^.{${LONGEST_NAME}}`, 'su');

/** Returns a name as captured events have it: its first characters, as it can be stored. */
export const nameOfCaptured = (text: string): string =>
  storableText(text.length > LONGEST_NAME ? (LONGEST.exec(text)?.[0] ?? text) : text);

/** Of a unit of a text, as an escape; of a number, `-1.2345678901234567e-300`; of what stands around a value. */
const BYTES = { unit: 6, number: 24, around: 4 };

/** Returns how many bytes a value has at most as JSON text; infinitely many when it is nested over so many levels. */
function mostBytes(value: unknown, levels: number): number {
  if (typeof value === 'string') return BYTES.unit * value.length + BYTES.around;
  if (typeof value !== 'object' || value === null) return BYTES.number + BYTES.around;
  if (isRawNumber(value)) return value.rawJSON.length + BYTES.around;
  if (levels === 0) return Number.POSITIVE_INFINITY;
  let bytes = BYTES.around;
  if (Array.isArray(value)) for (const inner of value) bytes += mostBytes(inner, levels - 1);
  else
    for (const name in value)
      bytes += BYTES.unit * name.length + BYTES.around + mostBytes(value[name as keyof typeof value], levels - 1);
  return bytes;
}

const LONGEST_TEXT = 400;
const LONGEST_HREF = 2048;

/** Removes the chain of elements from the properties and returns it, '' when there is none. */
function takeChain(properties: Record<string, unknown>): string {
  const { $elements, $elements_chain } = properties;
  if ($elements === undefined && $elements_chain === undefined) return '';
  delete properties['$elements'];
  delete properties['$elements_chain'];
  if (typeof $elements_chain === 'string') return $elements_chain;
  return Array.isArray($elements) ? $elements.filter(isObject).map(linkOf).join(';') : '';
}

/** An element that an old version of posthog-js sends, as PostHog writes it in a chain. */
function linkOf(element: Readonly<Record<string, unknown>>): string {
  const { tag_name, $el_text, attr__href, attr__class, attr__id, nth_child, nth_of_type } = element;
  const classes = Array.isArray(attr__class)
    ? attr__class
    : typeof attr__class === 'string'
      ? attr__class.split(' ')
      : [];
  const attributes = {
    ...($el_text ? { text: textOf($el_text).slice(0, LONGEST_TEXT) } : {}),
    'nth-child': nth_child ?? 0,
    'nth-of-type': nth_of_type ?? 0,
    ...(attr__href ? { href: textOf(attr__href).slice(0, LONGEST_HREF) } : {}),
    ...(attr__id ? { attr_id: attr__id } : {}),
    ...Object.fromEntries(Object.entries(element).filter(([name]) => name.startsWith('attr__'))),
  };
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${escapedQuotes(name)}="${escapedQuotes(textOf(value))}"`);
  const names = classes
    .map(textOf)
    .filter((name) => name !== '')
    .toSorted()
    .map((name) => `.${name.replaceAll('"', '')}`);
  return `${tag_name ? textOf(tag_name) : ''}${names.join('')}:${written.join('')}`;
}

const escapedQuotes = (text: string): string => text.replaceAll('"', String.raw`\"`);

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : Array.isArray(value) ? value.map(textOf).join(',') : JSON.stringify(value);
