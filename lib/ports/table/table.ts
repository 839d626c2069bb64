/**
 * The port to the one table: four verbs, and conditions that are words. Two adapters (DynamoDB, SQLite) pass one
 * conformance suite. Items are flat; free-form objects and lists travel as JSON text (DynamoDB nests 32 levels, the
 * API allows 64). Order is that of UTF-8 bytes in both.
 */
export type Value = string | number | boolean | null;

/** The property that carries the type of an item beside its key or range: known to the compiler alone, never there. */
declare const type: unique symbol;

/** The key of an item of the type `T`: a partition and a sort part. Only `keys.ts` makes one. */
export interface Key<T = Item> {
  readonly pk: string;
  readonly sk: string;
  readonly [type]?: T;
}

/**
 * A stored item: its key, its places in the two indexes, its expiry and its fields. `first` is the index that holds
 * whole items, `second` the index of keys. `ttl` is in seconds since 1970: from then on the item does not exist for
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

/** The entry of an item of the type `T` in the index of keys: the item's key, and its place there. */
export interface Entry<T = Item> extends Key<T> {
  readonly second_pk: string;
  readonly second_sk: string;
}

/** A condition in words, which must all hold. A field that is absent equals null. */
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
  /** The list has at most this many items; the adapter reads on until it has them or the range ends. */
  readonly limit: number;
  /** A cursor that an earlier list of the same range gave; `BadCursor` is thrown when it is none. */
  readonly after?: string | undefined;
  /** This many items are skipped first (after the cursor, when there is one). */
  readonly skip?: number;
  /** The whole range is counted, too. */
  readonly count?: boolean;
}

export interface Listed<T = Item> {
  /** Whole items; of the second index entries (pk, sk, second_pk, second_sk). */
  readonly items: T[];
  /** Present when the range holds more. It holds only the sort part and the base key, never the partition. */
  readonly cursor?: string;
  /** Present when asked for. */
  readonly count?: number;
}

/** The types of the items at these keys, in their order. */
export type ItemsAt<K extends readonly Key[]> = {
  -readonly [At in keyof K]: (K[At] extends Key<infer T extends Item> ? T : Item) | undefined;
};

/** Ops of which the first is about an item of the type `T`. */
export type Ops<T> = readonly [Op<T>, ...Op[]] | readonly Op[];

/** The items that ops made; that of the first has the type `T`. */
export type Written<T> = [(T | undefined)?, ...(Item | undefined)[]];

export interface Table {
  /** Returns the item. Strongly consistent. */
  get<T extends Item = Item>(key: Key<T>): Promise<T | undefined>;
  /** Returns the items of any number of keys, in their order. Strongly consistent. */
  many<const K extends readonly Key[]>(keys: K): Promise<ItemsAt<K>>;
  /** Returns one page of a range. Strongly consistent in the table, eventually in an index. */
  list<T extends Key = Item>(range: Range<T>, page: Page): Promise<Listed<T>>;
  /**
   * Writes one op by itself; 2 to 100 ops in one transaction, all or none, no two on one item; with `apart` any number
   * of ops without conditions, each by itself (purge). Returns the new item of each op (undefined for remove and check;
   * in a transaction undefined for `change` as well, since DynamoDB does not return it).
   * Throws `Refused` when a condition does not hold, `Busy` when conflicts or throttling outlast 3 s, `TooLarge` when
   * an item passes 400 KB.
   */
  write<T extends Item = Item>(ops: Ops<T>, options?: { apart?: boolean }): Promise<Written<T>>;
}

/** A condition did not hold. `op` is the index of the op, `reason` its `else`, `found` the item as stored. */
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

/** The table did not answer in time; the caller may try again (429). The write may have been applied. */
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
