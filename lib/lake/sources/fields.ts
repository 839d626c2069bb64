/**
 * An event or a person from an object, with the fields that PostHog's API takes and its exports, and those
 * of this service, have.
 *
 *   event         text, not blank
 *   distinct_id   text or a whole number, not blank, of at most 400 characters; here or in properties
 *   timestamp     ISO 8601 (without a zone: UTC), a day as text of eight digits, or a number: seconds, milliseconds or microseconds since 1970
 *   properties    an object, or JSON text of one; may be missing. `$set`, `$set_once` and `$unset` beside it are put into it
 *   uuid          may be missing, then the event gets one made of its record
 *   created_at, person_id, person_properties, elements_chain     may be missing, or null
 *
 * An object without `event` that has `person_version` is a row of the model `persons`: distinct_id, person_id,
 * properties, person_version and, if they are known, person_distinct_id_version, created_at, _inserted_at, is_deleted.
 *
 * Other fields are ignored. Numbers in properties keep all their digits. They have a thousand levels at most.
 */

import { isObject } from '../../basics/json.ts';
import { numberText } from '../../basics/raw-number.ts';
import { personChangeOf, personStateChange } from '../persons/change.ts';
import {
  canonicalUuid,
  dayMicroseconds,
  isoMicroseconds,
  type SourceEvent,
  storable,
  storableText,
  YEARS,
} from './event.ts';
import { parseExact } from './exact-json.ts';

/** Ends the reading of a record with a reason. */
class NoEvent extends Error {}

const refuse = (reason: string): never => {
  throw new NoEvent(reason);
};

/** What a value is whose numbers keep their digits. A text is the reason why it is nothing. Never throws. */
export const contentOf = (value: unknown): SourceEvent | string => attempt(() => contentIn(value));

/** The same for JSON text. */
export const contentOfJson = (text: string): SourceEvent | string => attempt(() => contentIn(parsed(text)));

function attempt(read: () => SourceEvent): SourceEvent | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof NoEvent) return error.message;
    // Of JSON.stringify, when it runs out of stack.
    if (error instanceof RangeError) return 'nested too deeply';
    throw error;
  }
}

function contentIn(value: unknown): SourceEvent {
  if (!isObject(value)) return refuse('not a JSON object');
  return isMissing(value['event']) && !isMissing(value['person_version']) ? personOf(value) : eventOf(value);
}

function eventOf(value: Readonly<Record<string, unknown>>): SourceEvent {
  const properties = objectOf(value['properties'], 'properties') ?? {};
  for (const name of ['$set', '$set_once', '$unset'])
    if (typeof value[name] === 'object' && value[name] !== null && !Object.hasOwn(properties, name))
      properties[name] = shallow(value[name]);
  const personProperties = objectOf(value['person_properties'], 'person_properties');
  const event = requiredText(value['event'], 'event');
  const personId = optionalUuid(value['person_id'], 'person_id');
  return {
    uuid: optionalUuid(value['uuid'], 'uuid'),
    event,
    distinctId: distinctIdOf(value['distinct_id'] ?? properties['distinct_id']),
    properties: storable(JSON.stringify(properties)),
    timestamp: requiredInstant(value, ['timestamp']),
    created: isMissing(value['created_at']) ? null : instantOf(value['created_at'], 'created_at'),
    personId,
    personChange: personChangeOf(event, properties, personId, (other) => distinctIdIn(other, 'the other distinct_id')),
    personProperties: personProperties === undefined ? null : storable(JSON.stringify(personProperties)),
    elementsChain: typeof value['elements_chain'] === 'string' ? storableText(value['elements_chain']) : null,
  };
}

function personOf(value: Readonly<Record<string, unknown>>): SourceEvent {
  const person = optionalUuid(value['person_id'], 'person_id') ?? refuse('no person_id');
  const state = {
    version: versionOf(value['person_version'], 'person_version'),
    tie: isMissing(value['person_distinct_id_version'])
      ? 0
      : versionOf(value['person_distinct_id_version'], 'person_distinct_id_version'),
    properties: objectOf(value['properties'], 'properties') ?? {},
    created: isMissing(value['created_at']) ? null : instantOf(value['created_at'], 'created_at'),
    ...(['true', '1'].includes(String(value['is_deleted']).toLowerCase()) ? { deleted: true as const } : {}),
  };
  return {
    uuid: null,
    event: null,
    distinctId: distinctIdOf(value['distinct_id']),
    properties: '{}',
    timestamp: requiredInstant(value, ['_inserted_at', 'created_at']),
    created: null,
    personId: null,
    personProperties: null,
    elementsChain: null,
    personChange: personStateChange(person, state),
  };
}

/** The first of these fields that is there. */
function requiredInstant(value: Readonly<Record<string, unknown>>, names: readonly string[]): number {
  const name = names.find((one) => !isMissing(value[one])) ?? refuse(`no ${names.join(' or ')}`);
  return instantOf(value[name], name);
}

function versionOf(value: unknown, name: string): number {
  const number = Number(numberText(value) ?? Number.NaN);
  return Number.isSafeInteger(number) && number >= 0 ? number : refuse(`${name} is not a whole number`);
}

const isMissing = (value: unknown): boolean => value === undefined || value === null || value === '';

function requiredText(value: unknown, name: string): string {
  if (isMissing(value)) return refuse(`no ${name}`);
  if (typeof value !== 'string') return refuse(`${name} is not text`);
  return value.trim() === '' ? refuse(`${name} is blank`) : storableText(value);
}

/** As many characters as PostHog keeps, so that the key of any database holds them. A character may be two units. */
const LONGEST_DISTINCT_ID = 400;
const TOO_LONG = new RegExp(`^.{${LONGEST_DISTINCT_ID + 1}}`, 'su');

const distinctIdIn = (text: string, name: string): string =>
  text.length > LONGEST_DISTINCT_ID && TOO_LONG.test(text)
    ? refuse(`${name} has more than ${LONGEST_DISTINCT_ID} characters`)
    : storableText(text);

const distinctIdOf = (value: unknown): string =>
  distinctIdIn(requiredText(numberText(value) ?? value, 'distinct_id'), 'distinct_id');

function optionalUuid(value: unknown, name: string): string | null {
  return isMissing(value) ? null : (canonicalUuid(value) ?? refuse(`${name} is not a UUID`));
}

function objectOf(value: unknown, name: string): Record<string, unknown> | undefined {
  if (isMissing(value)) return undefined;
  const object = typeof value === 'string' ? parsed(value, name) : value;
  return isObject(object) ? shallow(object) : refuse(`${name} is not an object`);
}

/**
 * What is nested over so many levels is refused. A few times as many could be read here, and not by whoever reads it
 * again with less of the stack left.
 */
const MAX_DEPTH = 1_000;

const shallow = <T extends object>(value: T): T => (isDeeper(value, MAX_DEPTH) ? refuse('nested too deeply') : value);

const isDeeper = (value: object, levels: number): boolean =>
  levels === 0 ||
  Object.values(value).some((inner) => typeof inner === 'object' && inner !== null && isDeeper(inner, levels - 1));

/** Below these a number is taken for seconds, then for milliseconds: the year 5138 in seconds is 1973 in milliseconds. */
const SECONDS_BELOW = 1e11;
const MILLISECONDS_BELOW = 1e14;

function instantOf(value: unknown, name: string): number {
  const number = numberText(value);
  const found =
    number === undefined
      ? typeof value === 'string'
        ? (isoMicroseconds(value.trim()) ?? dayMicroseconds(value.trim()))
        : undefined
      : numeric(Number(number));
  return found ?? refuse(`${name} is not an instant between ${YEARS.first} and ${YEARS.last}`);
}

function numeric(value: number): number | undefined {
  const size = Math.abs(value);
  const micros = Math.round(value * (size < SECONDS_BELOW ? 1e6 : size < MILLISECONDS_BELOW ? 1e3 : 1));
  return micros >= Date.UTC(YEARS.first, 0) * 1000 && micros < Date.UTC(YEARS.last + 1, 0) * 1000 ? micros : undefined;
}

function parsed(text: string, name?: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    if (error instanceof RangeError) return refuse('nested too deeply');
    return refuse(`${name === undefined ? '' : `${name}: `}not JSON: ${(error as Error).message}`);
  }
}
