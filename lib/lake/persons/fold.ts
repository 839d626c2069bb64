/**
 * What becomes of persons when changes come to them, one connected group of them at a time: persons and distinct_ids
 * that a merge or a person_id joins. Pure; the rows that it gives are whole states, in the lake's form.
 */
import { v5 } from 'uuid';
import { isObject } from '../../basics/json.ts';
import { LENGTH } from '../intervals.ts';
import { storable } from '../sources/event.ts';
import { parseExact } from '../sources/exact-json.ts';
import { COOKIELESS, type FoundPerson, type PersonChange, type PersonState } from './change.ts';
import type { PersonRefusal } from './refusals.ts';
import { firstsOf } from './sender.ts';

/** The whole state of one distinct_id. Instants and versions are microseconds since 1970. */
export interface PersonRow {
  readonly distinct_id: string;
  readonly person_id: string;
  /** Compact JSON text of an object; `{}` of a deleted person. */
  readonly properties: string;
  /** Arrival of the change that gave the distinct_id this person. */
  readonly person_distinct_id_version: number;
  /** Arrival of the person's last change. */
  readonly person_version: number;
  readonly created_us: number;
  /** Arrival of the row, the later of both versions. */
  readonly inserted_us: number;
  readonly is_deleted: boolean;
  /** Was it identified? Then only `$merge_dangerously` makes it a part of another. */
  readonly is_identified: boolean;
  /** How many distinct_ids the person has. */
  readonly distinct_ids: number;
  /** The newest version of a `PersonState` that was taken for the person; -1: none was. */
  readonly stated_version: number;
  /** The same for the tie of the distinct_id. */
  readonly stated_tie: number;
}

/** A state as it is stored. */
type KnownRow = Omit<PersonRow, 'inserted_us' | 'distinct_ids' | 'properties'> & {
  /** Null: another state of the same person has them, or the person was deleted. */
  readonly properties: string | null;
};

/** Whose change it is, when it happened, and when it arrived if nothing newer had: microseconds. */
interface ChangeOf {
  readonly distinctId: string;
  readonly timestamp: number;
  readonly arrival: number;
}

/** As PostHog makes the id of a person: the same distinct_id in the same project gives the same person. */
const NAMESPACE = '932979b4-65c3-4424-8467-0b66ec27bc22';

/** PostHog's limit of a person's properties, in bytes of JSON. */
const LARGEST_PROPERTIES = 512 * 1024;

/**
 * As many distinct_ids has a person by merges; PostHog names no number, and bounds how many one merge moves. More, as a
 * source may tell of them, stay, and are not added to.
 */
const MOST_DISTINCT_IDS = 1_000;

/**
 * A change of a person is a row for each of their distinct_ids, with all properties: one that comes to more bytes is
 * refused. With 128 distinct_ids properties may be as large as they can be, with 1,000 they have 65 kB.
 */
const LARGEST_ROWS = 128 * LARGEST_PROPERTIES;

/** No edge of an interval lies within such a stretch, so only the last state in it can ever be seen, in microseconds. */
const STRETCH = LENGTH['every 5 minutes'] * 1000;

/**
 * What programs send that do not know who it is, and nothing; with or without quotes. As PostHog lists them, and what posthog-js
 * sends for all visitors without cookies.
 */
const NOBODY = new Set(
  `anonymous,guest,distinctid,distinct_id,id,not_authenticated,email,undefined,true,false,[object object],nan,none,null,0,${COOKIELESS},`.split(
    ',',
  ),
);

const canMerge = (distinctId: string): boolean =>
  !NOBODY.has(
    distinctId
      .trim()
      .toLowerCase()
      .replace(/^(["'])(.*)\1$/s, '$2'),
  );

interface Person {
  id: string;
  properties: string;
  version: number;
  /** The earliest arrival that its next change may have. */
  earliest: number;
  created: number;
  isIdentified: boolean;
  isDeleted: boolean;
  /** It changed, and its rows wait for what else happens in the same stretch. */
  isWaiting: boolean;
  stated: number;
  /** Its distinct_ids. */
  readonly ties: Map<string, Tie>;
}

interface Tie {
  readonly version: number;
  readonly stated: number;
}

/** The fold of one group of persons and distinct_ids. */
export class PersonFold {
  readonly #owners = new Map<string, Person>();
  readonly #persons = new Map<string, Person>();
  readonly #projectId: number;
  readonly #at: number;
  readonly #give: (row: PersonRow) => void;
  readonly #refuse: (reason: PersonRefusal, distinctId: string) => void;

  /**
   * `at` is the arrival of what comes late, microseconds: later than any stored version. `give` takes a row; of a
   * distinct_id they come in the order of their arrival, at most one in five minutes. `refuse` is told of a change, or a
   * part of one, that is not made, by the distinct_id that it came with.
   */
  constructor(
    projectId: number,
    at: number,
    give: (row: PersonRow) => void,
    refuse: (reason: PersonRefusal, distinctId: string) => void,
  ) {
    this.#projectId = projectId;
    this.#at = at;
    this.#give = give;
    this.#refuse = refuse;
  }

  /** Takes a stored state in; all of them come before the first change. One of each person tells the properties. */
  know(row: KnownRow): void {
    const version = Math.max(row.person_version, row.person_distinct_id_version);
    const known = row.is_deleted ? undefined : this.#persons.get(row.person_id);
    const person: Person = known ?? {
      id: row.person_id,
      properties: '{}',
      version,
      earliest: version + 1,
      created: row.created_us,
      isIdentified: row.is_identified,
      isDeleted: row.is_deleted,
      isWaiting: false,
      stated: row.stated_version,
      ties: new Map(),
    };
    person.properties = row.properties ?? person.properties;
    person.earliest = Math.max(person.earliest, version + 1);
    person.ties.set(row.distinct_id, { version: row.person_distinct_id_version, stated: row.stated_tie });
    this.#owners.set(row.distinct_id, person);
    if (!row.is_deleted) this.#persons.set(row.person_id, person);
  }

  /** Applies a change; changes come in the order of their arrival. */
  apply(change: PersonChange, of: ChangeOf): void {
    const { distinctId } = of;
    const named = change.person === undefined ? undefined : this.#persons.get(change.person);
    const involved = [this.#owners.get(distinctId), this.#owners.get(change.merge ?? distinctId), named];
    const earliest = Math.max(...involved.map((person) => person?.earliest ?? 0));
    const arrival = of.arrival >= earliest ? of.arrival : this.#at;

    if (change.state !== undefined) {
      if (change.person !== undefined) this.#takeState(change.person, change.state, of, arrival);
      return;
    }
    const owner = this.#alive(distinctId);
    if (change.delete === true) {
      if (owner !== undefined) this.#remove(owner, arrival);
      return;
    }
    if (change.remove !== undefined) {
      if (owner !== undefined && isAsFound(owner, change.remove)) this.#remove(owner, arrival);
      return;
    }
    // Else all visitors without cookies were one person, who has what was said of each.
    if (distinctId === COOKIELESS) return;
    if (owner === undefined && named !== undefined) this.#tie(distinctId, named, arrival);
    if (change.merge !== undefined) this.#merge(change, change.merge, of, arrival);
    const person = this.#alive(distinctId) ?? this.#make(distinctId, change.person, of.timestamp, arrival);

    const properties = this.#changed(person, change);
    // One that is too large already, as a source may tell it, stays as it is.
    if (properties === undefined) return this.#refuse('person_properties_size_violation', distinctId);
    if (properties === person.properties) return;
    this.#open(person, arrival);
    person.properties = properties;
  }

  /**
   * The properties after a change, with what it tells of its sender, or without where only that has no room; undefined: what
   * it says has none.
   */
  #changed(person: Person, { sender, ...said }: PersonChange): string | undefined {
    const hasRoom = (text: string | undefined): boolean =>
      text !== undefined && (text === person.properties || isWithinRows(person.ties.size, text));
    const whole = sender === undefined ? undefined : changed(person, { ...said, sender });
    const found = hasRoom(whole) ? whole : changed(person, said);
    return hasRoom(found) ? found : undefined;
  }

  /** Gives the rows that wait. */
  end(): void {
    for (const person of new Set(this.#owners.values())) if (person.isWaiting) this.#giveRows(person);
  }

  #giveRows(person: Person): void {
    for (const [distinctId, tied] of person.ties)
      this.#give({
        distinct_id: distinctId,
        person_id: person.id,
        properties: person.properties,
        person_distinct_id_version: tied.version,
        person_version: person.version,
        created_us: person.created,
        inserted_us: person.version,
        is_deleted: person.isDeleted,
        is_identified: person.isIdentified,
        distinct_ids: person.ties.size,
        stated_version: person.stated,
        stated_tie: tied.stated,
      });
    person.isWaiting = false;
  }

  /** Before a person is changed, or loses a distinct_id: what waits of an earlier stretch is given as it was. */
  #settle(person: Person, arrival: number): void {
    if (person.isWaiting && Math.floor(person.version / STRETCH) !== Math.floor(arrival / STRETCH))
      this.#giveRows(person);
  }

  #open(person: Person, arrival: number): void {
    this.#settle(person, arrival);
    person.isWaiting = true;
    person.version = arrival;
    person.earliest = arrival;
  }

  #alive(distinctId: string): Person | undefined {
    const owner = this.#owners.get(distinctId);
    return owner?.isDeleted ? undefined : owner;
  }

  #statedTie(distinctId: string): number {
    return this.#owners.get(distinctId)?.ties.get(distinctId)?.stated ?? -1;
  }

  #tie(distinctId: string, person: Person, arrival: number, stated = this.#statedTie(distinctId)): void {
    this.#open(person, arrival);
    const before = this.#owners.get(distinctId);
    if (before !== undefined) this.#settle(before, arrival);
    before?.ties.delete(distinctId);
    person.ties.set(distinctId, { version: arrival, stated });
    this.#owners.set(distinctId, person);
  }

  #make(distinctId: string, named: string | undefined, created: number, arrival: number): Person {
    const id = named ?? v5(`${this.#projectId}:${distinctId}`, NAMESPACE);
    const before = this.#owners.get(distinctId);
    const person: Person = {
      id,
      properties: '{}',
      version: arrival,
      earliest: arrival,
      created,
      isIdentified: false,
      isDeleted: false,
      isWaiting: true,
      stated: before?.id === id ? before.stated : -1,
      ties: new Map(),
    };
    this.#persons.set(person.id, person);
    this.#tie(distinctId, person, arrival);
    return person;
  }

  /** Makes `other` a part of `into`, which wins where both have a property. Returns whether that may be. */
  #absorb(into: Person, other: Person, { distinctId: of }: ChangeOf, arrival: number): boolean {
    const both = within({ ...propertiesOf(other), ...propertiesOf(into) });
    if (!mayGrow(into, other.ties.size, both)) {
      this.#refuse('cannot_merge_too_many_distinct_ids', of);
      return false;
    }
    for (const distinctId of other.ties.keys()) this.#tie(distinctId, into, arrival);
    this.#persons.delete(other.id);
    into.created = Math.min(into.created, other.created);
    into.properties = both ?? this.#tooLarge(into, of);
    return true;
  }

  /** Its properties as they are, instead of what would be too large. */
  #tooLarge(person: Person, distinctId: string): string {
    this.#refuse('person_properties_size_violation', distinctId);
    return person.properties;
  }

  /** The person of the event's distinct_id is identified then, also where the other one was so before and stays apart. */
  #merge(change: PersonChange, other: string, of: ChangeOf, arrival: number): void {
    if (other === of.distinctId) return;
    if (!canMerge(other) || !canMerge(of.distinctId))
      return this.#refuse('cannot_merge_with_illegal_distinct_id', of.distinctId);
    const into = this.#alive(of.distinctId);
    const from = this.#alive(other);
    if (into === undefined || from === undefined) {
      const person = into ?? from ?? this.#make(of.distinctId, change.person, of.timestamp, arrival);
      if (!mayGrow(person, 1)) return this.#refuse('cannot_merge_too_many_distinct_ids', of.distinctId);
      this.#tie(from === undefined ? other : of.distinctId, person, arrival);
    } else if (into !== from) {
      if (change.force !== true && from.isIdentified) this.#refuse('cannot_merge_already_identified', of.distinctId);
      else if (!this.#absorb(into, from, of, arrival)) return;
    }
    this.#identify(of.distinctId, arrival);
  }

  /** From now on only a merge that is forced makes the person a part of another. */
  #identify(distinctId: string, arrival: number): void {
    const person = this.#alive(distinctId);
    if (person === undefined || person.isIdentified) return;
    if (!isWithinRows(person.ties.size, person.properties))
      return this.#refuse('person_properties_size_violation', distinctId);
    this.#open(person, arrival);
    person.isIdentified = true;
  }

  #remove(person: Person, arrival: number): void {
    this.#open(person, arrival);
    this.#persons.delete(person.id);
    person.properties = '{}';
    person.isDeleted = true;
    person.isIdentified = false;
    for (const [distinctId, { stated }] of person.ties) person.ties.set(distinctId, { version: arrival, stated });
  }

  /** Takes over what is newer in a state than in those before it. */
  #takeState(id: string, state: PersonState, of: ChangeOf, arrival: number): void {
    const owner = this.#owners.get(of.distinctId);
    const known = this.#persons.get(id) ?? (owner?.id === id ? owner : undefined);
    const isNewer = state.version > (known?.stated ?? -1);
    const isTold = state.tie > this.#statedTie(of.distinctId) || (isNewer && owner?.isDeleted === true);
    // A person that nobody knows and no tie leads to would have no row.
    if (!isTold && (!isNewer || known === undefined)) return;
    const person = known ?? this.#make(of.distinctId, id, of.timestamp, arrival);
    if (isTold) this.#tie(of.distinctId, person, arrival, state.tie);
    if (!isNewer) return;
    this.#open(person, arrival);
    person.stated = state.version;
    person.created = state.created ?? person.created;
    if (state.deleted) return this.#remove(person, arrival);
    person.properties = within(state.properties) ?? this.#tooLarge(person, of.distinctId);
    person.isDeleted = false;
    this.#persons.set(id, person);
  }
}

/** Whether a person is the one that was found: one made anew has the id again, but has had all distinct_ids since. */
const isAsFound = ({ id, ties }: Person, found: FoundPerson): boolean =>
  id === found.id && [...ties.values()].some(({ version }) => version <= found.version);

/** Whether a merge may give a person so many more distinct_ids, with these properties then. */
const mayGrow = ({ properties, ties }: Person, by: number, then = properties): boolean =>
  ties.size + by <= MOST_DISTINCT_IDS && isWithinRows(ties.size + by, then);

/** Whether the rows of a person with so many distinct_ids and these properties are not too large together. */
const isWithinRows = (distinctIds: number, properties: string): boolean =>
  distinctIds * LARGEST_PROPERTIES <= LARGEST_ROWS || distinctIds * Buffer.byteLength(properties) <= LARGEST_ROWS;

/** Without a prototype, so that `__proto__` is a name like any other. */
const propertiesOf = ({ properties }: Person): Record<string, unknown> => {
  const found = parseExact(properties);
  return Object.assign(Object.create(null), isObject(found) ? found : {});
};

/** The properties after a change, as they are stored; undefined: they would be too large. */
function changed(person: Person, change: PersonChange): string | undefined {
  const { set, setOnce, unset, sender } = change;
  if (set === undefined && setOnce === undefined && unset === undefined && sender === undefined)
    return person.properties;
  const firsts = firstsOf({ ...sender?.along, ...sender?.set });
  const after = (told: PersonChange['set']): string | undefined => {
    const properties = propertiesOf(person);
    for (const [name, value] of [...Object.entries(setOnce ?? {}), ...Object.entries(firsts)])
      if (!Object.hasOwn(properties, name)) properties[name] = value;
    Object.assign(properties, told, set);
    for (const name of unset ?? []) delete properties[name];
    return within(properties);
  };
  const text = after(sender?.set);
  if (sender?.along === undefined || text === person.properties) return text;
  return after({ ...sender.along, ...sender.set });
}

function within(properties: object): string | undefined {
  const text = storable(JSON.stringify(properties));
  return Buffer.byteLength(text) > LARGEST_PROPERTIES ? undefined : text;
}
