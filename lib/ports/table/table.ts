/**
 * The port to the one table: four verbs, and conditions that are words. Two adapters (DynamoDB, SQLite) pass one
 * conformance suite. Items are flat; free-form objects and lists travel as JSON text (DynamoDB nests 32 levels, the
 * API allows 64). Order is that of UTF-8 bytes in both.
 */
export type Value = string | number | boolean | null;

/** The property that carries the type of an item beside its key or range: known to the compiler alone, never there. */
declare const type: unique symbol;

/** Where an item of the type `T` lives. Only `keys.ts` makes one. */
export interface Key<T = Item> {
  readonly pk: string;
  readonly sk: string;
  readonly [type]?: T;
}

/**
 * A stored item: its key, its places in the two indexes, its expiry and its fields. `first` is the index that holds
 * whole items, `second` holds keys only. `ttl` is in seconds since 1970: from then on the item does not exist for
 * reads and conditions, whenever it is really removed.
 */
export interface Item extends Key {
  readonly first_pk?: string;
  readonly first_sk?: string;
  readonly second_pk?: string;
  readonly second_sk?: string;
  readonly ttl?: number;
  readonly [field: string]: Value | undefined;
  readonly [type]?: this;
}

/** What the index of keys holds of an item of the type `T`: its key, and its place in that index. */
export interface Entry<T = Item> extends Key<T> {
  readonly second_pk: string;
  readonly second_sk: string;
}

/** All words must hold. A field that is absent equals null. */
export type Condition =
  | 'absent'
  | 'present'
  | {
      /** The field equals the value, or one of the values; null means missing (or stored null). */
      readonly is?: Readonly<Record<string, Value | readonly Value[]>>;
      /** The field is at most the value; a missing field is fine. */
      readonly notAbove?: Readonly<Record<string, number | string>>;
    };

/**
 * One change. `put` replaces the whole item. `change` is field-wise: concurrent changes of different fields both last;
 * it creates the item when it is absent, unless `if` forbids. `add` adds to a number (missing counts as 0).
 */
export type Op<T = Item> = (
  | { readonly put: T }
  | {
      readonly change: Key<T>;
      readonly set?: Readonly<Record<string, Value>>;
      readonly unset?: readonly string[];
      readonly add?: Readonly<Record<string, number>>;
    }
  | { readonly remove: Key<T> }
  | { readonly check: Key<T> }
) & {
  readonly if?: Condition;
  /** The reason that `Refused` gives when the condition does not hold: `organization_gone`. */
  readonly else?: string;
};

/**
 * One partition of the table, or of an index, in the order of the sort part. `from` and `to` are inclusive. A list of
 * it gives `T`s: whole items, or entries of the index of keys.
 */
export interface Range<T = Item> {
  readonly index?: 'first' | 'second';
  readonly partition: string;
  readonly from?: string;
  readonly to?: string;
  readonly prefix?: string;
  readonly newestFirst?: boolean;
  readonly [type]?: T;
}

export interface Page {
  /** At most this many items; the adapter reads on until it has them or the range ends. */
  readonly limit: number;
  /** A cursor that an earlier list of the same range gave. A cursor that is not one throws `BadCursor`. */
  readonly after?: string;
  /** Skip this many items first (after the cursor, when there is one). */
  readonly skip?: number;
  /** Also count the whole range. */
  readonly count?: boolean;
}

export interface Listed<T = Item> {
  /** Whole items; of the second index only the keys (pk, sk, second_pk, second_sk). */
  readonly items: T[];
  /** Present when the range holds more. It holds only the sort part and the base key, never the partition. */
  readonly cursor?: string;
  /** Present when asked for. */
  readonly count?: number;
}

/** The type of the item at each of these keys, in their order. */
export type ItemsAt<K extends readonly Key[]> = {
  -readonly [At in keyof K]: (K[At] extends Key<infer T extends Item> ? T : Item) | undefined;
};

/** Ops, the type of whose first item is known. */
export type Ops<T> = readonly [Op<T>, ...Op[]] | readonly Op[];

/** What ops made of their items. */
export type Written<T> = [(T | undefined)?, ...(Item | undefined)[]];

export interface Table {
  /** Strongly consistent. */
  get<T extends Item = Item>(key: Key<T>): Promise<T | undefined>;
  /** Strongly consistent; any number; answers in the order of the keys. */
  many<const K extends readonly Key[]>(keys: K): Promise<ItemsAt<K>>;
  /** Strongly consistent on the table, eventually on an index. */
  list<T extends Key = Item>(range: Range<T>, page: Page): Promise<Listed<T>>;
  /**
   * One op: a plain write. 2 to 100 ops: one transaction, all or nothing, no two on one item. `apart`: any number of
   * ops without conditions, each by itself (purge). Returns the new item of each op (undefined for remove and check;
   * in a transaction undefined for `change` as well, since DynamoDB does not return it).
   * Throws `Refused` when a condition does not hold, `Busy` when conflicts or throttling outlast 3 s, `TooLarge` when
   * an item passes 400 KB.
   */
  write<T extends Item = Item>(ops: Ops<T>, options?: { apart?: boolean }): Promise<Written<T>>;
}

/**
 * A condition did not hold. `op` is the index of the op, `reason` what its `else` says, `found` the item as stored, so
 * no second read is needed.
 */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly op: number;
  readonly found: Item | undefined;
  readonly reason: string | undefined;
  constructor(op: number, found: Item | undefined, reason?: string) {
    super(`condition of op ${op} does not hold`);
    this.op = op;
    this.found = found;
    this.reason = reason;
  }

  /** The item as stored, if it is the one at this key that refused. */
  foundAt<T extends Item>({ pk, sk }: Key<T>): T | undefined {
    return this.found?.pk === pk && this.found.sk === sk ? (this.found as T) : undefined;
  }
}

/**
 * The table did not answer in time; the caller may try again. Answered as 429. A write may have been applied all the
 * same, when only its answer was lost.
 */
export class Busy extends Error {
  override readonly name = 'Busy';
}

/** An item is larger than the table can hold. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/** A cursor was not made by this table. */
export class BadCursor extends Error {
  override readonly name = 'BadCursor';
}

/** The largest transaction of either adapter (DynamoDB's limit). */
export const MAX_TRANSACTION = 100;
