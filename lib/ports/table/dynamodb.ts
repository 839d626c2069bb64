/**
 * The table in DynamoDB.
 *
 * Tries again, within 3 s and with full jitter, what a conflict, throttling or a broken connection stopped. The
 * client must not do so by itself (`maxAttempts: 1`), for only the adapter knows what may be sent twice when an answer
 * was lost and the write may have been applied:
 *
 *   reads                          always.
 *   transactions                   always: the request token makes the second one a repetition of the first.
 *   put, remove, change            yes. A repetition that is refused although the item is as this write leaves it counts
 *                                  as success: the first one was applied. (Another writer who wrote exactly the same
 *                                  cannot be told from us.) One that is refused for anything else is `Busy`: the
 *                                  first one may have been applied, and somebody have written since.
 *   change with `add`              no: `Busy` at once.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  type QueryCommandInput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { isThrottlingError, isTransientError } from '@smithy/core/retry';
import { getOrMake } from '../../basics/maps.ts';
import { fromCursor, type Position, positionOf, toCursor } from './cursor.ts';
import { allowed, boundsOf, changed, holds, isPossibleKey, keyOf, live, prepared, seconds } from './semantics.ts';
import {
  Busy,
  type Condition,
  type Item,
  type ItemsAt,
  type Key,
  type Listed,
  type Op,
  type Ops,
  type Page,
  type Range,
  Refused,
  type Table,
  TooLarge,
  type Value,
  type Written,
} from './table.ts';

/** Conflicts, throttling and broken connections are retried for this long. */
const RETRY_LIMIT_MS = 3_000;
/** The delay before a retry doubles from the first to the longest; the jitter shortens it. */
const FIRST_DELAY_MS = 25;
const LONGEST_DELAY_MS = 500;
/** DynamoDB's limits of one request. */
const MAX_BATCH_GET = 100;
const MAX_BATCH_WRITE = 25;
/** `Limit` is an integer of 32 bits. */
const LARGEST_LIMIT = 2 ** 31 - 1;

type SdkError = Parameters<typeof isTransientError>[0];

/** Something stopped a request, which can be sent again. `lost`: it may have been applied all the same. */
class Again extends Error {
  readonly lost: boolean;
  constructor(cause: unknown, lost = false) {
    super('the table is busy', { cause });
    this.lost = lost;
  }
}

interface DynamodbOptions {
  /** Made with `maxAttempts: 1`. */
  readonly client: DynamoDBClient;
  readonly tableName: string;
  /** Now, in milliseconds; decides what has expired. */
  readonly clock: () => number;
  readonly sleep?: (milliseconds: number) => Promise<void>;
  /** Returns the jitter, in [0, 1). */
  readonly random?: () => number;
}

/** Returns the table of this name, which was made after `TABLE_DEFINITION`. */
export const dynamodbTable = (options: DynamodbOptions): Table => new DynamodbTable(options);

class DynamodbTable implements Table {
  readonly #client: DynamoDBDocumentClient;
  readonly #tableName: string;
  readonly #clock: () => number;
  readonly #sleep: (milliseconds: number) => Promise<void>;
  readonly #random: () => number;

  constructor({ client, tableName, clock, sleep = setTimeout, random = Math.random }: DynamodbOptions) {
    this.#client = DynamoDBDocumentClient.from(client);
    this.#tableName = tableName;
    this.#clock = clock;
    this.#sleep = sleep;
    this.#random = random;
  }

  async get<T extends Item>(key: Key<T>): Promise<T | undefined> {
    if (!isPossibleKey(key)) return undefined;
    return this.#persist(async () => {
      const command = new GetCommand({ TableName: this.#tableName, Key: bare(key), ConsistentRead: true });
      const { Item: found } = await sent(this.#client.send(command));
      return live(found as T | undefined, this.#clock());
    });
  }

  async many<const K extends readonly Key[]>(keys: K): Promise<ItemsAt<K>> {
    const wanted = new Map(keys.filter(isPossibleKey).map((key) => [textOf(key), bare(key)]));
    const found = new Map<string, Item>();
    /** Returns the keys that are left: one answer has 16 MB. */
    const readSome = async (asked: Record<string, unknown>[]): Promise<Record<string, unknown>[]> => {
      const RequestItems = { [this.#tableName]: { Keys: asked, ConsistentRead: true } };
      const { Responses, UnprocessedKeys } = await sent(this.#client.send(new BatchGetCommand({ RequestItems })));
      for (const item of (Responses?.[this.#tableName] ?? []) as Item[]) found.set(textOf(item), item);
      const left = UnprocessedKeys?.[this.#tableName]?.Keys ?? [];
      if (left.length === asked.length) throw new Again('keys were left out');
      return left;
    };
    const read = async (names: readonly string[]): Promise<void> => {
      let left: Record<string, unknown>[] = names.map((name) => ({ ...wanted.get(name) }));
      while (left.length > 0) left = await this.#persist(() => readSome(left));
    };
    await Promise.all(groups([...wanted.keys()], MAX_BATCH_GET).map(read));
    return keys.map((key) => live(found.get(textOf(key)), this.#clock())) as ItemsAt<K>;
  }

  async list<T extends Key>(range: Range<T>, { limit, after, skip = 0, count = false }: Page): Promise<Listed<T>> {
    const start = after === undefined ? undefined : fromCursor(range, after);
    const query = queryOf(range, seconds(this.#clock()));
    if (query === undefined) return { items: [], ...(count ? { count: 0 } : {}) };
    const asked: Asked = { range, query: { TableName: this.#tableName, ...query } };
    const [listed, counted] = await Promise.all([
      this.#collect(asked, start, skip, limit),
      count ? this.#walk(asked, undefined, Number.POSITIVE_INFINITY) : undefined,
    ]);
    return { ...(listed as Listed & Listed<T>), ...(counted === undefined ? {} : { count: counted.passed }) };
  }

  async write<T extends Item>(ops: Ops<T>, { apart = false } = {}): Promise<Written<T>> {
    const clean = prepared(ops, apart);
    const [only] = clean;
    if (only === undefined) return [];
    if (apart) return (await this.#writeApart(clean)) as Written<T>;
    const isAlone = clean.length === 1 && !('check' in only);
    return (isAlone ? [await this.#writeOne(only)] : await this.#writeTogether(clean)) as Written<T>;
  }

  /** Does the work again as long as it throws `Again`. Throws `Busy` when the time for that is over. */
  async #persist<T>(work: () => Promise<T>): Promise<T> {
    const attempts = await this.#client.config.maxAttempts();
    if (attempts !== 1) throw new TypeError('the client must be made with maxAttempts: 1');
    let spent = 0;
    for (let attempt = 0; ; attempt += 1) {
      const began = performance.now();
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Again)) throw error;
        spent += performance.now() - began;
        const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt) * this.#random();
        if (spent + delay > RETRY_LIMIT_MS) throw new Busy('the table is busy', { cause: error.cause });
        spent += delay;
        await this.#sleep(delay);
      }
    }
  }

  /** Sends one request of a list. `next` is undefined at the end of the range. */
  async #page({ range, query }: Asked, from: Position | undefined, more: Partial<QueryCommandInput>) {
    const ExclusiveStartKey = from && startKey(range, from);
    const command = new QueryCommand({ ...query, ...more, ExclusiveStartKey });
    const answer = await this.#persist(() => sent(this.#client.send(command)));
    const last = answer.LastEvaluatedKey;
    const items = (answer.Items ?? []) as Item[];
    return { items, count: answer.Count ?? 0, next: last && positionOf(range, last as Item) };
  }

  /** Counts up to `most` items; `position` is where counting stopped, undefined at the end of the range. */
  async #walk(asked: Asked, from: Position | undefined, most: number) {
    let position = from;
    let passed = 0;
    do {
      const left = most - passed;
      const limit = Number.isFinite(left) ? { Limit: Math.min(left, LARGEST_LIMIT) } : {};
      const { count, next } = await this.#page(asked, position, { Select: 'COUNT', ...limit });
      passed += count;
      position = next;
    } while (position !== undefined && passed < most);
    return { passed, position };
  }

  /** Returns `limit` items after `from` and `skip` more, with the cursor behind them when the range goes on. */
  async #collect(asked: Asked, from: Position | undefined, skip: number, limit: number): Promise<Listed> {
    const begin = skip > 0 ? (await this.#walk(asked, from, skip)).position : from;
    if (skip > 0 && begin === undefined) return { items: [] };
    const items: Item[] = [];
    let position = begin;
    // One item more than asked for tells whether the range goes on.
    do {
      const { items: more, next } = await this.#page(asked, position, { Limit: limit + 1 - items.length });
      items.push(...more);
      position = next;
    } while (position !== undefined && items.length <= limit);
    const kept = items.slice(0, limit);
    const last = kept.at(-1);
    const end = last === undefined ? begin : positionOf(asked.range, last);
    const hasMore = items.length > limit && end !== undefined;
    return { items: kept, ...(hasMore ? { cursor: toCursor(asked.range, end) } : {}) };
  }

  #writeOne(op: Exclude<Op, { check: Key }>): Promise<Item | undefined> {
    let maybeApplied = false;
    let fromNothing = false;
    return this.#persist(async () => {
      const now = this.#clock();
      try {
        return await this.#send(fromNothing ? anew(op) : op, now);
      } catch (error) {
        if (error instanceof Again && error.lost) {
          if ('add' in op && Object.keys(op.add ?? {}).length > 0) {
            throw new Busy('the answer was lost; the write may have been applied', { cause: error.cause });
          }
          maybeApplied = true;
        }
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
        const found = live(storedOf(error), now);
        if (maybeApplied) {
          if (isDone(op, found)) return found;
          throw new Busy('the answer was lost; the write may have been applied', { cause: error });
        }
        if (!holds(op.if, found)) throw new Refused(0, found, op.else);
        // Refused only because a change must not build upon an item that has expired, or because the item came or
        // went in between.
        fromNothing = found === undefined;
        throw new Again(error);
      }
    });
  }

  async #send(op: Op, now: number): Promise<Item | undefined> {
    const write = compiled(op, this.#tableName, now);
    if (write.Put !== undefined) {
      await sent(this.#client.send(new PutCommand(write.Put)));
      return (op as { put: Item }).put;
    }
    if (write.Delete !== undefined) {
      await sent(this.#client.send(new DeleteCommand(write.Delete)));
      return undefined;
    }
    const command = new UpdateCommand({ ...(write.Update as Updating), ReturnValues: 'ALL_NEW' });
    const { Attributes: stored } = await sent(this.#client.send(command));
    return stored as Item | undefined;
  }

  async #writeTogether(ops: readonly Op[]): Promise<(Item | undefined)[]> {
    // The token stands for one request, to the letter: the clock is read once, and other ops get another token.
    const now = this.#clock();
    let sending = ops;
    let token = randomUUID();
    await this.#persist(async () => {
      const TransactItems = sending.map((op) => compiled(op, this.#tableName, now));
      const command = new TransactWriteCommand({ TransactItems, ClientRequestToken: token });
      try {
        await sent(this.#client.send(command));
      } catch (error) {
        if (!(error instanceof TransactionCanceledException)) throw error;
        const reasons = error.CancellationReasons ?? [];
        const found = reasons.map((reason) => live(storedOf(reason), now));
        const failed = [...reasons.keys()].filter((at) => reasons[at]?.Code === 'ConditionalCheckFailed');
        const refused = failed.find((at) => !holds(ops[at]?.if, found[at]));
        if (refused !== undefined) throw new Refused(refused, found[refused], ops[refused]?.else);
        const large = reasons.find(({ Code, Message = '' }) => Code === 'ValidationError' && speaksOfSize(Message));
        if (large !== undefined) throw new TooLarge(large.Message, { cause: error });
        if (reasons.some(({ Code }) => Code === 'ValidationError')) throw error;
        if (failed.length > 0) {
          sending = ops.map((op, at) => (failed.includes(at) && found[at] === undefined ? anew(op) : op));
          token = randomUUID();
        }
        throw new Again(error);
      }
    });
    return ops.map((op) => ('put' in op ? op.put : undefined));
  }

  async #writeApart(ops: readonly Op[]): Promise<(Item | undefined)[]> {
    const batched = ops.filter((op) => 'put' in op || 'remove' in op);
    for (const group of groups(batched, MAX_BATCH_WRITE)) {
      let left: WriteRequests = group.map((op) =>
        'put' in op ? { PutRequest: { Item: op.put } } : { DeleteRequest: { Key: keyOf(op) } },
      );
      await this.#persist(async () => {
        const command = new BatchWriteCommand({ RequestItems: { [this.#tableName]: left } });
        const { UnprocessedItems } = await sent(this.#client.send(command));
        left = UnprocessedItems?.[this.#tableName] ?? [];
        if (left.length > 0) throw new Again('items were left out');
      });
    }
    const items: (Item | undefined)[] = [];
    for (const op of ops) items.push('put' in op ? op.put : 'change' in op ? await this.#writeOne(op) : undefined);
    return items;
  }
}

/** A range and its query. */
type Asked = { readonly range: Range<Key>; readonly query: QueryCommandInput };

type WriteOfOne = NonNullable<TransactWriteCommandInput['TransactItems']>[number];
type WriteRequests = NonNullable<BatchWriteCommandInput['RequestItems']>[string];
type Updating = NonNullable<WriteOfOne['Update']>;

/** Returns the answer of a request. Throws the errors that all requests share as the port's own, or as `Again`. */
async function sent<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    // Before anything else: beside a clock that is minutes off, the client calls every failure one of the clock.
    if (error instanceof ConditionalCheckFailedException || error instanceof TransactionCanceledException) throw error;
    const raised = error as SdkError;
    if (isThrottlingError(raised) || raised.name === 'TransactionConflictException') throw new Again(error);
    if (isTransientError(raised)) throw new Again(error, true);
    if (raised.name === 'ValidationException' && speaksOfSize(raised.message)) {
      throw new TooLarge(raised.message, { cause: error });
    }
    throw error;
  }
}

const textOf = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);
const bare = ({ pk, sk }: Key): Key => ({ pk, sk });

/** Returns the stored item that a refusal names; the document client leaves errors as DynamoDB sent them. */
function storedOf({ Item: stored }: { Item?: Record<string, AttributeValue> | undefined }): Item | undefined {
  return stored && (unmarshall(stored) as Item);
}

function groups<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
}

const speaksOfSize = (message: string): boolean => /size.*exceeded|exceeds? .*(size|MB|KB)/i.test(message);

/** Returns a change as a put, for an item that is not there or has expired. */
function anew(op: Op): Op {
  if (!('change' in op)) return op;
  return { put: changed(undefined, op), if: 'absent' };
}

/** Returns whether the stored item is as this op leaves it. */
function isDone(op: Op, found: Item | undefined): boolean {
  if ('remove' in op) return found === undefined;
  if (found === undefined) return false;
  const same = (fields: object): boolean =>
    Object.entries(fields).every(([field, value]) => Object.hasOwn(found, field) && found[field] === value);
  if ('put' in op) return same(op.put) && Object.keys(op.put).length === Object.keys(found).length;
  return 'change' in op && same(op.set ?? {}) && (op.unset ?? []).every((field) => !Object.hasOwn(found, field));
}

/** Names and values of one request's expressions. */
class Placeholders {
  readonly #names = new Map<string, string>();
  readonly #values: Record<string, Value> = {};

  name(field: string): string {
    return getOrMake(this.#names, field, () => `#n${this.#names.size}`);
  }

  value(value: Value): string {
    const name = `:v${Object.keys(this.#values).length}`;
    this.#values[name] = value;
    return name;
  }

  /** DynamoDB takes neither empty maps nor names that no expression uses. */
  get expressions(): Pick<Updating, 'ExpressionAttributeNames' | 'ExpressionAttributeValues'> {
    return {
      ...(this.#names.size > 0 && {
        ExpressionAttributeNames: Object.fromEntries([...this.#names].map(([field, name]) => [name, field])),
      }),
      ...(Object.keys(this.#values).length > 0 && { ExpressionAttributeValues: this.#values }),
    };
  }
}

/** Returns one op as DynamoDB's write of one item. `now` decides what has expired. */
function compiled(op: Op, TableName: string, now: number): WriteOfOne {
  const use = new Placeholders();
  const condition = conditionOf(op, now, use);
  const common = {
    TableName,
    ...(condition !== undefined && {
      ConditionExpression: condition,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    }),
  };
  if ('put' in op) return { Put: { ...common, Item: op.put, ...use.expressions } };
  const Key = bare(keyOf(op));
  if ('remove' in op) return { Delete: { ...common, Key, ...use.expressions } };
  if ('check' in op) return { ConditionCheck: { ...common, ConditionExpression: condition, Key, ...use.expressions } };
  const sets = Object.entries(op.set ?? {}).map(([field, value]) => `${use.name(field)} = ${use.value(value)}`);
  const removals = (op.unset ?? []).map((field) => use.name(field));
  const additions = Object.entries(op.add ?? {}).map(([field, amount]) => `${use.name(field)} ${use.value(amount)}`);
  const UpdateExpression = `${parts('SET', sets)}${parts('REMOVE', removals)}${parts('ADD', additions)}`;
  return { Update: { ...common, Key, UpdateExpression, ...use.expressions } };
}

const parts = (word: string, list: readonly string[]): string => (list.length > 0 ? ` ${word} ${list.join(', ')}` : '');

/** Returns the condition as an expression for which an expired item is absent; undefined when there is none. */
function conditionOf(op: Op, now: number, use: Placeholders): string | undefined {
  const words = wordsOf(op.if, use);
  if (words.length === 0 && !('change' in op)) return undefined;
  const ttl = use.name('ttl');
  const time = use.value(seconds(now));
  // A change of an item that has expired must not build upon it: it is refused here, and written anew.
  const clauses =
    'change' in op || !holds(op.if, undefined)
      ? [...words, [`attribute_not_exists(${ttl})`, `${ttl} > ${time}`]]
      : words.map((word) => [...word, `${ttl} <= ${time}`]);
  const [only] = clauses;
  if (clauses.length === 1 && only !== undefined) return only.join(' OR ');
  // DynamoDB refuses parentheses that are not needed.
  return clauses.map((word) => (word.length > 1 ? `(${word.join(' OR ')})` : word.join(''))).join(' AND ');
}

/** Returns the words of a condition, each as alternatives of which one must hold. */
function wordsOf(condition: Condition | undefined, use: Placeholders): string[][] {
  if (condition === undefined) return [];
  if (condition === 'absent') return [[`attribute_not_exists(${use.name('pk')})`]];
  if (condition === 'present') return [[`attribute_exists(${use.name('pk')})`]];
  const missing = (field: string): string[] => [
    `attribute_not_exists(${use.name(field)})`,
    `${use.name(field)} = ${use.value(null)}`,
  ];
  const is = Object.entries(condition.is ?? {}).map(([field, wanted]) => {
    const values = allowed(wanted).filter((value) => value !== null);
    // Of no value at all: never, for no key is null.
    if (allowed(wanted).length === 0) return [`${use.name('pk')} = ${use.value(null)}`];
    return [
      ...(allowed(wanted).includes(null) ? missing(field) : []),
      ...(values.length > 0 ? [`${use.name(field)} IN (${values.map((value) => use.value(value)).join(', ')})`] : []),
    ];
  });
  const notAbove = Object.entries(condition.notAbove ?? {}).map(([field, most]) => [
    ...missing(field),
    `${use.name(field)} <= ${use.value(most)}`,
  ]);
  return [...is, ...notAbove];
}

/** Returns undefined when the range holds nothing. */
function queryOf(range: Range<Key>, now: number): Omit<QueryCommandInput, 'TableName'> | undefined {
  const bounds = boundsOf(range);
  if (bounds === undefined) return undefined;
  const { low, high } = bounds;
  const use = new Placeholders();
  const [pk, sk] = range.index === undefined ? ['pk', 'sk'] : [`${range.index}_pk`, `${range.index}_sk`];
  const conditions = [`${use.name(pk)} = ${use.value(range.partition)}`];
  if (low !== undefined && high !== undefined) {
    conditions.push(`${use.name(sk)} BETWEEN ${use.value(low)} AND ${use.value(high)}`);
  } else if (low !== undefined) conditions.push(`${use.name(sk)} >= ${use.value(low)}`);
  else if (high !== undefined) conditions.push(`${use.name(sk)} <= ${use.value(high)}`);
  // The second index holds no `ttl`.
  const ttl = range.index === 'second' ? undefined : use.name('ttl');
  return {
    KeyConditionExpression: conditions.join(' AND '),
    ...(ttl !== undefined && { FilterExpression: `attribute_not_exists(${ttl}) OR ${ttl} > ${use.value(now)}` }),
    ...(range.index === undefined ? { ConsistentRead: true } : { IndexName: range.index }),
    ScanIndexForward: range.newestFirst !== true,
    ...use.expressions,
  };
}

function startKey({ index, partition }: Range<Key>, { sort, pk, sk }: Position): Record<string, string> {
  return { pk, sk, ...(index !== undefined && { [`${index}_pk`]: partition, [`${index}_sk`]: sort }) };
}
