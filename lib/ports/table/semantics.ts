/**
 * The rules that every adapter of the table shares, as pure functions over items: which ops are well formed, when a
 * condition holds, what a change makes of an item, how large an item is, and what bounds a range has.
 */
import { MIB } from '../../basics/units.ts';
import type { Condition, Item, Key, Op, Range, Value } from './table.ts';
import { MAX_TRANSACTION, TooLarge } from './table.ts';

/** The largest item, in bytes: DynamoDB's 400 KB. */
export const MAX_ITEM = 400 * 1024;
/** The largest transaction, in bytes: DynamoDB's 4 MB. */
const MAX_TRANSACTION_BYTES = 4 * MIB;
const MAX_PARTITION = 2048;
const MAX_SORT = 1024;

const PARTITIONS: ReadonlySet<string> = new Set(['pk', 'first_pk', 'second_pk']);
const SORTS: ReadonlySet<string> = new Set(['sk', 'first_sk', 'second_sk']);

const bytes = (text: string): number => Buffer.byteLength(text);

/** Returns the key of the item that an op is about. */
export function keyOf(op: Op): Key {
  if ('put' in op) return op.put;
  if ('change' in op) return op.change;
  return 'remove' in op ? op.remove : op.check;
}

/** Returns whether an item may have this key at all; one that may not is never there. */
export function isPossibleKey({ pk, sk }: Key): boolean {
  return pk !== '' && sk !== '' && bytes(pk) <= MAX_PARTITION && bytes(sk) <= MAX_SORT;
}

/** Returns the value of a field, null when the item or the field is absent. */
function valueOf(item: Item | undefined, field: string): Value {
  return item !== undefined && Object.hasOwn(item, field) ? (item[field] ?? null) : null;
}

/** Returns the item, unless it is absent or has expired. `now` is in milliseconds. */
export function live<T extends Item>(item: T | undefined, now: number): T | undefined {
  return item === undefined || (item.ttl !== undefined && item.ttl <= seconds(now)) ? undefined : item;
}

/** Returns milliseconds as whole seconds: an item with this `ttl` or a lower one has expired. */
export function seconds(now: number): number {
  return Math.floor(now / 1000);
}

/** Compares texts in the order of their UTF-8 bytes, which is that of code points. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Returns whether the condition holds for the stored item, undefined when there is none. */
export function holds(condition: Condition | undefined, found: Item | undefined): boolean {
  if (condition === undefined) return true;
  if (condition === 'absent') return found === undefined;
  if (condition === 'present') return found !== undefined;
  const is = Object.entries(condition.is ?? {}).every(([field, wanted]) =>
    allowed(wanted).includes(valueOf(found, field)),
  );
  return (
    is &&
    Object.entries(condition.notAbove ?? {}).every(([field, most]) => {
      const value = valueOf(found, field);
      if (value === null) return true;
      if (typeof value === 'string' && typeof most === 'string') return compareText(value, most) <= 0;
      return typeof value === 'number' && typeof most === 'number' && value <= most;
    })
  );
}

/** Returns the values that `is` allows for one field. */
export const allowed = (wanted: Value | readonly Value[]): readonly Value[] => [wanted].flat();

/** Returns the item that a field-wise change makes of the stored one, or of none. */
export function changed(found: Item | undefined, op: Extract<Op, { change: Key }>): Item {
  const fields = new Map<string, Value | undefined>(Object.entries(found ?? {}));
  for (const [field, value] of Object.entries(op.set ?? {})) fields.set(field, value);
  for (const field of op.unset ?? []) fields.delete(field);
  for (const [field, amount] of Object.entries(op.add ?? {})) {
    const before = fields.get(field) ?? 0;
    if (typeof before !== 'number' || fields.get(field) === null) {
      throw new TypeError(`field ${field} is not a number: nothing can be added to it`);
    }
    fields.set(field, before + amount);
  }
  return { ...Object.fromEntries(fields), pk: op.change.pk, sk: op.change.sk };
}

/**
 * Returns an item's size in bytes as DynamoDB counts it: names and texts in UTF-8, 1 for booleans and null, and for a
 * number half its digits (rounded up) and 2.
 */
export function sizeOf(item: Readonly<Record<string, Value | undefined>>): number {
  let size = 0;
  for (const [field, value] of Object.entries(item)) {
    if (value === undefined) continue;
    size += bytes(field);
    if (typeof value === 'string') size += bytes(value);
    else if (typeof value === 'number') size += Math.ceil(String(value).replace(/\D/g, '').length / 2) + 2;
    else size += 1;
  }
  return size;
}

/** Throws `TooLarge` when the item cannot be stored. */
export function refuseLargeItem(item: Item): void {
  if (sizeOf(item) > MAX_ITEM) throw tooLarge(item);
}

const tooLarge = ({ pk }: Key): TooLarge => new TooLarge(`an item of more than ${MAX_ITEM} bytes at ${pk}`);

/**
 * Returns the ops as both adapters write them (well-formed Unicode, no negative zero, no undefined fields). Throws
 * `TypeError` for ops that no table takes (these are mistakes of ours, not of a caller) and `TooLarge` for keys, items
 * and transactions that pass a limit.
 */
export function prepared(ops: readonly Op[], apart: boolean): readonly Op[] {
  if (ops.length > MAX_TRANSACTION && !apart) {
    throw new TypeError(`a transaction of ${ops.length} ops; ${MAX_TRANSACTION} is the most`);
  }
  const clean = ops.map(cleanOp);
  const seen = new Set<string>();
  for (const op of clean) {
    const { pk, sk } = keyOf(op);
    const name = JSON.stringify([pk, sk]);
    if (seen.has(name)) throw new TypeError(`two ops on one item: ${name}`);
    seen.add(name);
    if (apart && op.if !== undefined) throw new TypeError('ops that are written apart have no conditions');
  }
  let total = 0;
  for (const op of clean) {
    const size = opSize(op);
    if (size > MAX_ITEM) throw tooLarge(keyOf(op));
    total += size;
  }
  if (!apart && total > MAX_TRANSACTION_BYTES) {
    throw new TooLarge(`a transaction of more than ${MAX_TRANSACTION_BYTES} bytes`);
  }
  return clean;
}

function opSize(op: Op): number {
  if ('put' in op) return sizeOf(op.put);
  return 'change' in op ? sizeOf({ ...op.set, ...op.add }) : 0;
}

function cleanOp(op: Op): Op {
  const key = keyOf(op);
  if (key.pk === '' || key.sk === '') throw new TypeError('an empty key');
  if (!isPossibleKey(key)) throw new TooLarge(`a key of more than ${MAX_PARTITION} and ${MAX_SORT} bytes`);
  refuseNumbers(op.if);
  const condition: Pick<Op, 'if' | 'else'> = saysSomething(op.if)
    ? { if: op.if, ...(op.else !== undefined && { else: op.else }) }
    : {};
  if ('put' in op) {
    const put = cleanFields(op.put) as Item;
    refuseName(Object.keys(put));
    refuseUnfilterable(put);
    return { put, ...condition };
  }
  const at: Key = { pk: key.pk.toWellFormed(), sk: key.sk.toWellFormed() };
  if ('change' in op) {
    const set = cleanFields(op.set ?? {});
    const add = cleanFields(op.add ?? {}) as Record<string, number>;
    const unset = op.unset ?? [];
    const named = [...Object.keys(set), ...Object.keys(add), ...unset];
    refuseName(named);
    if (new Set(named).size < named.length) throw new TypeError('a change names a field twice');
    if (named.length === 0) throw new TypeError('a change that changes nothing');
    if (named.includes('pk') || named.includes('sk')) throw new TypeError('a change cannot move an item');
    for (const [field, amount] of Object.entries(add)) {
      if (!Number.isSafeInteger(amount)) throw new TypeError(`${field}: only whole numbers can be added`);
    }
    refuseUnfilterable(set);
    return { change: at, set, unset, add, ...condition };
  }
  if ('remove' in op) return { remove: at, ...condition };
  if (condition.if === undefined) throw new TypeError('a check without a condition');
  return { check: at, ...condition };
}

function saysSomething(condition: Condition | undefined): condition is Condition {
  if (condition === undefined || typeof condition === 'string') return condition !== undefined;
  return Object.keys(condition.is ?? {}).length + Object.keys(condition.notAbove ?? {}).length > 0;
}

/** Throws `TypeError` for a name that DynamoDB's document client loses. */
function refuseName(fields: readonly string[]): void {
  if (fields.includes('__proto__')) throw new TypeError('a field cannot have the name __proto__');
}

function cleanFields(fields: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  const clean: [string, Value][] = [];
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) clean.push([field, cleanValue(field, value)]);
  }
  return Object.fromEntries(clean);
}

function cleanValue(field: string, value: Value): Value {
  const most = PARTITIONS.has(field) ? MAX_PARTITION : SORTS.has(field) ? MAX_SORT : undefined;
  if (most !== undefined) {
    if (typeof value !== 'string' || value === '') throw new TypeError(`${field} must be text that is not empty`);
    if (bytes(value) > most) throw new TooLarge(`${field} of more than ${most} bytes`);
  }
  if (typeof value === 'string') return value.toWellFormed();
  if (field === 'ttl' && !Number.isSafeInteger(value)) throw new TypeError('ttl must be whole seconds');
  if (typeof value !== 'number') return value;
  if (!isStorable(value)) throw new TypeError(`${field}: ${value} cannot be stored as a number`);
  return value === 0 ? 0 : value;
}

/** Returns whether a number is at most 2^53, so that none loses digits, and not below 1E-130, where DynamoDB's end. */
function isStorable(value: number): boolean {
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER && (value === 0 || Math.abs(value) >= 1e-130);
}

/** Throws `TypeError` for a number that cannot be stored: it cannot be asked for either. */
function refuseNumbers(condition: Condition | undefined): void {
  if (condition === undefined || typeof condition === 'string') return;
  const values = [...Object.values(condition.is ?? {}).flatMap(allowed), ...Object.values(condition.notAbove ?? {})];
  const odd = values.find((value) => typeof value === 'number' && !isStorable(value));
  if (odd !== undefined) throw new TypeError(`no stored number equals ${odd}`);
}

/** Throws `TypeError` for an item that expires in the second index, which holds no `ttl` and could not hide it. */
function refuseUnfilterable(fields: Readonly<Record<string, Value | undefined>>): void {
  if (Object.hasOwn(fields, 'ttl') && Object.hasOwn(fields, 'second_pk')) {
    throw new TypeError('an item that expires cannot stand in the second index');
  }
}

/** Returns the lowest and the highest sort part of a range (undefined: open), undefined when it holds nothing. */
export function boundsOf(range: Range<Key>): { low: string | undefined; high: string | undefined } | undefined {
  const prefix = range.prefix === '' ? undefined : range.prefix;
  const from = range.from === '' ? undefined : range.from;
  const low = prefix !== undefined && (from === undefined || compareText(from, prefix) < 0) ? prefix : from;
  const last = prefix === undefined ? undefined : lastWith(prefix);
  const high = last !== undefined && (range.to === undefined || compareText(range.to, last) > 0) ? last : range.to;
  const nothing =
    range.partition === '' ||
    bytes(range.partition) > MAX_PARTITION ||
    high === '' ||
    (low !== undefined && bytes(low) > MAX_SORT) ||
    (low !== undefined && high !== undefined && compareText(low, high) > 0);
  return nothing ? undefined : { low, high };
}

/** Returns the greatest sort part with this prefix: filled up with the greatest characters of 4, 3, 2 and 1 bytes. */
function lastWith(prefix: string): string {
  const room = Math.max(0, MAX_SORT - bytes(prefix));
  const rest = ['', '\u{7f}', '\u{7ff}', '\u{ffff}'][room % 4] ?? '';
  return prefix + '\u{10ffff}'.repeat(Math.floor(room / 4)) + rest;
}
