/** What an event changes of a person, as PostHog's ingestion takes it. */

import { isObject } from '../../basics/json.ts';
import { numberText } from '../../basics/raw-number.ts';
import { storable, storableText } from '../sources/event.ts';
import { parseExact } from '../sources/exact-json.ts';
import { senderIn } from './sender.ts';

/** Absent members change nothing. */
export interface PersonChange {
  /** Values that replace what is there. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Values for properties that are not there yet. */
  readonly setOnce?: Readonly<Record<string, unknown>>;
  /** What the event tells of its sender, by itself: below all that is said here, and nothing where that has no room then. */
  readonly sender?: ToldSender;
  /** Properties that go. */
  readonly unset?: readonly string[];
  /** The distinct_id whose person becomes one with that of the event, which is identified by that. */
  readonly merge?: string;
  /** Also when that person was identified before. */
  readonly force?: true;
  readonly delete?: true;
  /** Deletes the person of the distinct_id if it is the one that was found so; then nothing else is given. */
  readonly remove?: FoundPerson;
  /** The person that the event names; a person that it makes gets this id. */
  readonly person?: string;
  /** A state of that person and of its tie to the distinct_id, as another place knows it; then nothing else is given. */
  readonly state?: PersonState;
}

/** Values of a sender. A person keeps the first of each, too, by its name of a first value. */
interface ToldSender {
  /** Values that replace what is there. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Values that do so where the change changes some property by something else, too. */
  readonly along?: Readonly<Record<string, unknown>>;
}

/** A person as somebody has found them, who may have become a part of another since, or have gone and come again. */
export interface FoundPerson {
  readonly id: string;
  /** Their newest version then, in microseconds: what made them, and gave them a distinct_id, was no later. */
  readonly version: number;
}

/** Versions are that place's own: whole numbers that rise with each change. What is not newer than known changes nothing. */
export interface PersonState {
  readonly version: number;
  readonly tie: number;
  readonly properties: Readonly<Record<string, unknown>>;
  /** Microseconds since 1970; null: when the state was told. */
  readonly created: number | null;
  readonly deleted?: true;
}

/** Events that say that two distinct_ids are one person, and the property that names the other one. */
const MERGES: ReadonlyMap<string, string> = new Map([
  ['$identify', '$anon_distinct_id'],
  ['$create_alias', 'alias'],
  ['$merge_dangerously', 'alias'],
]);

/** The distinct_id that posthog-js gives to all visitors of whom it keeps no cookie: nothing tells one from another. */
export const COOKIELESS = '$posthog_cookieless';

/** Whether an event is there to change its person, and so tells of them whatever it tells of its sender. */
const isAboutPerson = (event: string): boolean => MERGES.has(event) || event === '$set';

/** Events from which PostHog takes no change, as it reads them apart from all others, in no order with them. */
const UNHEARD: ReadonlySet<string> = new Set(['$exception', '$$heatmap']);

/** The event of an import that deletes the person of its distinct_id; PostHog does that through its API only. */
export const DELETE = '$delete_person';

/**
 * JSON text of a `PersonChange`, or null for an event that changes none: any without `$set`, `$set_once` and `$unset`
 * that neither identifies, merges nor deletes; any with `$process_person_profile: false`; exceptions and heatmaps. An
 * `$identify` makes sure that there is a person, also where it sets nothing and names nobody else. With a change goes what
 * the event tells of its sender. Properties are as `parseExact` gave them, `personId` is
 * the person that the event carries, and `nameOf` gives a distinct_id as those of the events are stored.
 */
export function personChangeOf(
  event: string,
  properties: Readonly<Record<string, unknown>>,
  personId: string | null,
  nameOf: (distinctId: string) => string = storableText,
): string | null {
  const { $set, $set_once, $unset } = properties;
  const merging = MERGES.get(event);
  if (merging === undefined && event !== DELETE && !$set && !$set_once && !$unset) return null;
  if (properties['$process_person_profile'] === false || UNHEARD.has(event)) return null;
  const other = merging === undefined ? undefined : properties[merging];
  const merge = typeof other === 'string' ? other : numberText(other);
  const unset = namesIn($unset);
  const said: PersonChange = {
    ...(isObject($set) && !isEmpty($set)
      ? { set: $set }
      : event === '$identify' && merge === undefined
        ? { set: {} }
        : {}),
    ...(isObject($set_once) && !isEmpty($set_once) ? { setOnce: $set_once } : {}),
    ...(unset.length > 0 ? { unset } : {}),
    ...(merge === undefined ? {} : { merge: nameOf(merge) }),
    ...(event === '$merge_dangerously' ? { force: true } : {}),
    ...(event === DELETE ? { delete: true } : {}),
  };
  if (isEmpty(said)) return null;
  const change = said.delete === true ? said : withSender(said, properties, isAboutPerson(event));
  return storable(JSON.stringify(personId === null ? change : { ...change, person: personId }));
}

/** The change with what the event tells of its sender: what passes goes along, or counts as what is set if it `isSet`. */
function withSender(said: PersonChange, properties: Readonly<Record<string, unknown>>, isSet: boolean): PersonChange {
  const { lasting, passing } = senderIn(properties);
  const set = isSet ? { ...passing, ...lasting } : lasting;
  const sender = { ...(isEmpty(set) ? {} : { set }), ...(isSet || isEmpty(passing) ? {} : { along: passing }) };
  return isEmpty(sender) ? said : { ...said, sender };
}

/** JSON text of the change that is a state of a person. */
export const personStateChange = (person: string, state: PersonState): string =>
  storable(JSON.stringify({ person, state } satisfies PersonChange));

/** The change that a text of `personChangeOf` holds. */
export const readPersonChange = (text: string): PersonChange => parseExact(text) as PersonChange;

/** Returns whether a text of `personChangeOf` or `personStateChange` says that a person is deleted. */
export function deletesPerson(text: string | null): boolean {
  // Hardly any does, and to read each takes time.
  if (text === null || !text.includes('"delete')) return false;
  const change = readPersonChange(text);
  return change.delete === true || change.state?.deleted === true;
}

const isEmpty = (object: object): boolean => Object.keys(object).length === 0;

/** Names in a list, or those of an object. */
const namesIn = (value: unknown): string[] =>
  (Array.isArray(value) ? value : isObject(value) ? Object.keys(value) : []).filter((name) => typeof name === 'string');
