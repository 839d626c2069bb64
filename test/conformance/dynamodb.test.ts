import { isDeepStrictEqual } from 'node:util';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as fc from 'fast-check';
import { HOUR_MS } from '../../lib/basics/units.ts';
import { dynamodbTable } from '../../lib/ports/table/dynamodb.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import {
  Busy,
  type Condition,
  type Item,
  type Key,
  type Op,
  Refused,
  type Table,
} from '../../lib/ports/table/table.ts';
import { settableClock } from '../support/context.ts';
import { type Faults, type Injected, injectFaults } from '../support/dynamodb-faults.ts';
import { createTable, describeOnDynamodb, dynamodbClient } from '../support/dynamodb-local.ts';
import { propertyRuns } from '../support/property-runs.ts';
import { seeded } from '../support/random.ts';
import { concurrencyCases, expiryCases, readCases, writeCases } from './table-cases.ts';

const clients: DynamoDBClient[] = [];
afterAll(() => clients.splice(0).forEach((client) => client.destroy()));

interface Opened {
  readonly table: Table;
  readonly clock: ReturnType<typeof settableClock>;
  readonly injected: Injected;
  /** Every wait between two attempts, in milliseconds. */
  readonly waits: number[];
}

async function open(faults: Omit<Faults, 'random'>, seed = 1): Promise<Opened> {
  const clock = settableClock();
  const random = seeded(seed);
  const client = await dynamodbClient();
  clients.push(client);
  const tableName = await createTable(client);
  const injected = injectFaults(client, { ...faults, random });
  const waits: number[] = [];
  const sleep = async (milliseconds: number): Promise<void> => {
    waits.push(milliseconds);
  };
  return { table: dynamodbTable({ client, tableName, clock, sleep, random }), clock, injected, waits };
}

const key: Key = { pk: 'a', sk: 'b' };

/** A write of a few of the items. */
const ops: fc.Arbitrary<Op[]> = (() => {
  const fields = ['x', 'y', 'z'];
  const value = fc.constantFrom(null, 1, 2, 'v');
  const words: fc.Arbitrary<Condition> = fc.record(
    {
      is: fc.dictionary(fc.constantFrom(...fields, 'n'), fc.oneof(value, fc.array(value, { maxLength: 2 })), {
        maxKeys: 2,
      }),
      notAbove: fc.dictionary(fc.constantFrom('n', 'x'), fc.constantFrom(0, 2, 'v'), { maxKeys: 1 }),
    },
    { requiredKeys: [] },
  );
  const condition = fc.oneof(fc.constantFrom('absent' as const, 'present' as const, undefined), words);
  const one = (sk: string): fc.Arbitrary<Op> =>
    fc
      .record({
        kind: fc.constantFrom('put', 'change', 'remove', 'check'),
        fields: fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 2 }),
        unset: fc.constantFrom([], ['u'], ['n']),
        add: fc.constantFrom({}, {}, { m: 1 }, { m: -2, k: 1 }),
        ttl: fc.constantFrom(undefined, undefined, 1, 3),
        condition,
      })
      .map(({ kind, fields: set, unset, add, ttl, condition: when }) => {
        const at: Key = { pk: 'a', sk };
        const only = when === undefined ? {} : { if: when };
        const end = ttl === undefined ? {} : { ttl: Date.UTC(2026, 0, 1) / 1000 + ttl };
        if (kind === 'put') return { put: { ...set, ...at, n: 1, ...end }, ...only };
        if (kind === 'change') return { change: at, set: { ...set, ...end }, unset, add, ...only };
        return kind === 'remove'
          ? { remove: at, ...only }
          : { check: at, if: typeof when === 'string' ? when : { ...when, is: { x: null, ...when?.is } } };
      });
  return fc
    .uniqueArray(fc.constantFrom('1', '2', '3', '4'), { minLength: 1, maxLength: 3 })
    .chain((places) => fc.tuple(...places.map(one)));
})();

/** The op, writing what no other write of its history writes. */
function marked(op: Op, mark: number): Op {
  if ('put' in op) return { ...op, put: { ...op.put, mark } };
  return 'change' in op ? { ...op, set: { ...op.set, mark } } : op;
}

type Outcome = { items: (Item | undefined)[] } | { refused: number; found: Item | undefined } | 'unknown';

async function outcomeOf(write: Promise<(Item | undefined)[]>): Promise<Outcome> {
  try {
    return { items: await write };
  } catch (error) {
    if (error instanceof Busy) return 'unknown';
    if (error instanceof Refused) return { refused: error.op, found: error.found };
    throw error;
  }
}

const contents = async (table: Table): Promise<Item[]> => (await table.list({ partition: 'a' }, { limit: 10 })).items;

interface Compared {
  /** What DynamoDB answered and held after each write. */
  readonly seen: unknown[];
  /** The same of SQLite. */
  readonly expected: unknown[];
  readonly lost: number;
}

/** Runs the same writes on DynamoDB and on SQLite, a quarter of a second apart. */
async function compare(history: readonly Op[][], faults: Omit<Faults, 'random'>, seed: number): Promise<Compared> {
  const { table, clock, injected } = await open(faults, seed);
  const model = sqliteTable(':memory:', { clock });
  const seen: unknown[] = [];
  const expected: unknown[] = [];
  for (const write of history) {
    clock.advance(250);
    const before = await contents(model);
    const wanted = await outcomeOf(model.write(write));
    const outcome = await outcomeOf(table.write(write));
    const after = await contents(table);
    // A remove that is repeated cannot tell whether it was the one that removed.
    const removed = wanted !== 'unknown' && 'refused' in wanted && write.length === 1 && 'remove' in (write[0] as Op);
    const open = outcome === 'unknown' || (removed && injected.counts.lostRequest > 0);
    // Where the outcome is open the write was applied or it was not; nothing else.
    if (open && isDeepStrictEqual(byKey(after), byKey(before))) {
      await model.write(
        (await contents(model)).map((item) => ({ remove: item })),
        { apart: true },
      );
      await model.write(
        before.map((put) => ({ put })),
        { apart: true },
      );
    }
    seen.push({ write, outcome, after });
    expected.push({ write, outcome: open ? outcome : wanted, after: await contents(model) });
  }
  model.close();
  return { seen, expected, lost: injected.counts.lostAnswer };
}

const byKey = (items: readonly Item[]) => new Map(items.map((item) => [item.sk, item]));

describeOnDynamodb('DynamoDB and SQLite', () => {
  const histories = fc
    .array(ops, { minLength: 5, maxLength: 20 })
    .map((history) => history.map((write, at) => write.map((op) => marked(op, at))));

  test('give the same answers to the same writes', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const { seen, expected } = await compare(history, {}, 1);
        expect(seen).toEqual(expected);
      }),
      { numRuns: propertyRuns(20) },
    );
  });

  test('give the same answers when DynamoDB conflicts, throttles and breaks off', async () => {
    let losses = 0;
    await fc.assert(
      fc.asyncProperty(histories, fc.nat(), async (history, seed) => {
        const faults = { conflict: 0.1, throttle: 0.1, lostAnswer: 0.15, lostRequest: 0.1 };
        const { seen, expected, lost } = await compare(history, faults, seed);
        expect(seen).toEqual(expected);
        losses += lost;
      }),
      { numRuns: 20 },
    );
    expect(losses).toBeGreaterThan(10);
  });
});

describeOnDynamodb('DynamoDB that conflicts, throttles and does batches by halves', () => {
  let seed = 0;
  const faulty = () => open({ conflict: 0.15, throttle: 0.15, partial: 0.5 }, (seed += 1));
  writeCases(faulty);
  readCases(faulty);
  expiryCases(faulty);
  concurrencyCases(faulty);
});

describeOnDynamodb('DynamoDB that gives a part of what was asked, as of more than 16 MB', () => {
  test('is asked for the rest at once: what has come was no failure', async () => {
    const { table, injected, waits } = await open({});
    const all = Array.from({ length: 100 }, (_, at) => ({ put: { pk: 'a', sk: String(at).padStart(3, '0'), at } }));
    await table.write(all, { apart: true });
    injected.next.push('partial', 'partial', 'partial');
    expect((await table.many(all.map(({ put }) => put))).map((item) => item?.['at'])).toEqual(all.map((_, at) => at));
    expect(injected.counts.partial).toBe(3);
    expect(waits).toEqual([]);
  });
});

describeOnDynamodb('DynamoDB whose connections break', () => {
  test('answers reads all the same', async () => {
    const { table, injected } = await open({ lostAnswer: 0.3, lostRequest: 0.2 });
    const all = Array.from({ length: 150 }, (_, at) => ({ put: { pk: 'a', sk: String(at).padStart(3, '0'), at } }));
    await table.write(all, { apart: true });
    expect((await table.many(all.map(({ put }) => put))).map((item) => item?.['at'])).toEqual(all.map((_, at) => at));
    const { items, count } = await table.list({ partition: 'a' }, { limit: 100, skip: 20, count: true });
    expect(items.map(({ at }) => at)).toEqual(Array.from({ length: 100 }, (_, at) => at + 20));
    expect(count).toBe(150);
    expect(injected.counts.lostAnswer + injected.counts.lostRequest).toBeGreaterThan(2);
  });

  test('applies each transaction once', async () => {
    const { table, injected } = await open({ lostAnswer: 0.4, lostRequest: 0.1, conflict: 0.1 });
    for (let at = 0; at < 30; at += 1) {
      await table.write([
        { change: key, add: { sum: 1 } },
        { put: { pk: 'a', sk: `one ${at}` }, if: 'absent' },
      ]);
    }
    expect(await table.get(key)).toEqual({ ...key, sum: 30 });
    expect(injected.counts.lostAnswer).toBeGreaterThan(5);
  });

  test.each<[string, Op, Item | undefined, Item | undefined]>([
    ['a put', { put: { ...key, by: 'me' }, if: 'absent' }, undefined, { ...key, by: 'me' }],
    [
      'a change',
      { change: key, set: { ver: 2 }, unset: ['gone'], if: { is: { ver: 1 } } },
      { ...key, ver: 1, gone: true, stays: 1 },
      { ...key, ver: 2, stays: 1 },
    ],
    ['a remove', { remove: key, if: 'present' }, { ...key }, undefined],
  ])('takes the repetition of %s that was done for done', async (_name, op, before, after) => {
    const { table, injected } = await open({});
    if (before !== undefined) await table.write([{ put: before }]);
    injected.next.push('lostAnswer');
    expect(await table.write([op])).toEqual([after]);
    expect(await table.get(key)).toEqual(after);
    expect(injected.counts.lostAnswer).toBe(1);
  });

  test('says busy, not refused, when a write of its own may stand behind the refusal', async () => {
    const { table, injected } = await open({});
    await table.write([{ put: { ...key, ver: 7 } }]);
    injected.next.push('lostRequest');
    await expect(table.write([{ change: key, set: { ver: 2 }, if: { is: { ver: 1 } } }])).rejects.toThrow(Busy);
    await expect(table.write([{ change: key, set: { ver: 2 }, if: { is: { ver: 1 } } }])).rejects.toThrow(Refused);
  });

  test('adds nothing twice: says busy at once', async () => {
    const { table, injected } = await open({});
    injected.next.push('lostAnswer');
    await expect(table.write([{ change: key, add: { n: 1 } }])).rejects.toThrow(Busy);
    expect(await table.get(key)).toEqual({ ...key, n: 1 });
  });
});

describeOnDynamodb('DynamoDB that stays busy', () => {
  test.each<[string, Omit<Faults, 'random'>]>([
    ['throttles', { throttle: 1 }],
    ['conflicts', { conflict: 1 }],
    ['breaks off', { lostRequest: 1 }],
  ])('is given up after 3 s when it always %s', async (_name, faults) => {
    for (const write of [[{ put: { ...key } }], [{ put: { ...key } }, { remove: { pk: 'a', sk: 'c' } }]]) {
      const { table, waits } = await open(faults);
      await expect(table.write(write)).rejects.toThrow(Busy);
      expect(waits.length).toBeGreaterThan(5);
      expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThanOrEqual(3_000);
      expect(new Set(waits).size).toBe(waits.length);
    }
  });

  test('is not asked again for what it refuses for good', async () => {
    const client = await dynamodbClient();
    clients.push(client);
    const table = dynamodbTable({ client, tableName: 'no-such-table', clock: Date.now });
    await expect(table.get(key)).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
    await expect(table.write([{ put: { ...key } }])).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });

  test('says what it refuses where the clock of the caller is minutes off, and every failure looks like one of the clock', async () => {
    const client = await dynamodbClient();
    clients.push(client);
    client.middlewareStack.add(
      (send) => async (args) => {
        const answered = await send(args);
        const { headers } = answered.response as { headers: Record<string, string> };
        headers['date'] = new Date(Date.now() + HOUR_MS).toUTCString();
        return answered;
      },
      { step: 'deserialize', priority: 'low' },
    );
    const tableName = await createTable(client);
    const table = dynamodbTable({ client, tableName, clock: Date.now });
    await table.write([{ put: { ...key } }]);
    const taken = table.write([
      { put: { ...key }, if: 'absent' },
      { put: { pk: 'a', sk: 'c' }, if: 'absent' },
    ]);
    await expect(taken).rejects.toThrow(Refused);
  });

  test('needs a client that leaves trying again to the table', async () => {
    const client = await dynamodbClient({ maxAttempts: 3 });
    clients.push(client);
    const table = dynamodbTable({ client, tableName: 'any', clock: Date.now });
    await expect(table.get(key)).rejects.toThrow('maxAttempts');
  });
});
