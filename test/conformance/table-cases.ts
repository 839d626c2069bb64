/**
 * What every table promises, as tests over any adapter. `table.test.ts` runs them all on SQLite and on DynamoDB, and
 * once more on a DynamoDB that conflicts, throttles and loses answers.
 */
import * as fc from 'fast-check';
import { compareText, MAX_ITEM } from '../../lib/ports/table/semantics.ts';
import {
  BadCursor,
  type Condition,
  type Item,
  type Key,
  type Op,
  type Page,
  type Range,
  Refused,
  type Table,
  TooLarge,
  type Value,
} from '../../lib/ports/table/table.ts';
import { anyText } from '../support/any-text.ts';
import type { SettableClock } from '../support/context.ts';
import { propertyRuns } from '../support/property-runs.ts';

/** A fresh, empty table and the clock that it reads. */
type Open = () => Promise<{ table: Table; clock: SettableClock }>;

/** A key, and the smallest item that may lie there. */
const key = (sk = 'b', pk = 'a'): Item => ({ pk, sk });

const puts = (n: number): Op[] => Array.from({ length: n }, (_, at) => ({ put: { ...key(`${at}`), at } }));

/** An object with this one field of its own. */
const named = (field: string): Record<string, number> => Object.fromEntries([[field, 1]]);

/** Text of so many bytes. */
const filled = (size: number): string => 'ä'.repeat(Math.floor(size / 2)) + 'a'.repeat(size % 2);

const sort = (at: number): string => `s${String(at).padStart(3, '0')}`;

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const putInBoth = (at: number): Op => ({
  put: { ...key(`${at}`), at, first_pk: 'F', first_sk: `${at}`, second_pk: 'S', second_sk: `${at}` },
});

/** Own fields, also those that `toEqual` would take for the object's prototype. */
const fieldsOf = (item: Item | undefined) => new Map(Object.entries(item ?? {}));

/** What a failed write said. */
async function refusal(write: Promise<unknown>): Promise<{ op: number; found: Item | undefined }> {
  const error = await write.then(
    () => new Error('the write was not refused'),
    (raised: unknown) => raised,
  );
  if (!(error instanceof Refused)) throw error;
  return { op: error.op, found: error.found };
}

/** All items of a range, read page by page along the cursors. */
async function walk(table: Table, range: Range, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  let after: string | undefined;
  do {
    const page: Page = after === undefined ? { limit } : { limit, after };
    const { items: more, cursor } = await table.list(range, page);
    expect(more.length).toBeLessThanOrEqual(limit);
    if (cursor !== undefined) expect(more).toHaveLength(limit);
    items.push(...more);
    after = cursor;
  } while (after !== undefined);
  return items;
}

function conditionCases(open: Open): void {
  describe('conditions', () => {
    const stored: Item = { ...key(), text: 'm', n: 5, yes: true, nil: null };
    const cases: [string, Condition, boolean, boolean][] = [
      // name, condition, holds for the stored item, holds for nothing
      ['absent', 'absent', false, true],
      ['present', 'present', true, false],
      ['a text that is equal', { is: { text: 'm' } }, true, false],
      ['a text that is not', { is: { text: 'n' } }, false, false],
      ['a number that is equal', { is: { n: 5 } }, true, false],
      ['a number as text', { is: { n: '5' } }, false, false],
      ['a boolean', { is: { yes: true } }, true, false],
      ['the other boolean', { is: { yes: false } }, false, false],
      ['null for a field that is missing', { is: { other: null } }, true, true],
      ['null for a stored null', { is: { nil: null } }, true, true],
      ['null for a field with a value', { is: { text: null } }, false, true],
      ['one of several values', { is: { text: ['x', 'm'] } }, true, false],
      ['none of several values', { is: { text: ['x', 'y'] } }, false, false],
      ['a value or missing', { is: { text: ['x', null] } }, false, true],
      ['missing or a value', { is: { other: [null, 'x'] } }, true, true],
      ['no value at all', { is: { text: [] } }, false, false],
      ['two fields that are equal', { is: { text: 'm', n: 5 } }, true, false],
      ['two fields of which one is not', { is: { text: 'm', n: 6 } }, false, false],
      ['names of the prototype', { is: { constructor: null, ...JSON.parse('{"__proto__":null}') } }, true, true],
      ['a number at the limit', { notAbove: { n: 5 } }, true, true],
      ['a number above', { notAbove: { n: 4 } }, false, true],
      ['a text at the limit', { notAbove: { text: 'm' } }, true, true],
      ['a text above', { notAbove: { text: 'l' } }, false, true],
      ['a limit for a field that is missing', { notAbove: { other: 1 } }, true, true],
      ['a limit for a stored null', { notAbove: { nil: 1 } }, true, true],
      ['a limit of another type', { notAbove: { text: 1 } }, false, true],
      ['both words', { is: { text: 'm' }, notAbove: { n: 5 } }, true, false],
      ['both words, one fails', { is: { text: 'm' }, notAbove: { n: 4 } }, false, false],
      ['no words', {}, true, true],
    ];

    test.each(cases)('%s', async (_name, condition, holdsForItem, holdsForNothing) => {
      const { table } = await open();
      for (const [at, holds] of [
        ['there', holdsForItem],
        ['gone', holdsForNothing],
      ] as const) {
        const found = at === 'there' ? { ...stored, sk: at } : undefined;
        const ops: Op[] = [
          { put: { ...key(at), new: 1 }, if: condition },
          { change: key(at), set: { new: 1 }, if: condition },
          { remove: key(at), if: condition },
        ];
        for (const op of ops) {
          for (const beside of [[], [{ put: key('beside') }]]) {
            await table.write([{ remove: key('beside') }]);
            await table.write([found === undefined ? { remove: key(at) } : { put: found }]);
            const write = table.write([...beside, op]);
            if (holds) await write;
            else {
              expect(await refusal(write)).toEqual({ op: beside.length, found });
              expect(await table.get(key(at))).toEqual(found);
              expect(await table.get(key('beside'))).toBeUndefined();
            }
          }
        }
      }
    });

    test('a check alone changes nothing', async () => {
      const { table } = await open();
      await table.write([{ put: { ...key(), n: 1 } }]);
      expect(await table.write([{ check: key(), if: { is: { n: 1 } } }])).toEqual([undefined]);
      expect(await refusal(table.write([{ check: key(), if: 'absent' }]))).toEqual({
        op: 0,
        found: { ...key(), n: 1 },
      });
      await expect(table.write([{ check: key() }])).rejects.toThrow(TypeError);
    });

    test('texts are compared by code points', async () => {
      const { table } = await open();
      await table.write([{ put: { ...key(), text: '\u{1f600}' } }]);
      await refusal(table.write([{ remove: key(), if: { notAbove: { text: '\u{ffff}' } } }]));
      await table.write([{ remove: key(), if: { notAbove: { text: '\u{1f601}' } } }]);
    });

    test('fields with names of the expression language are fields like others', async () => {
      const { table } = await open();
      const names = ['size', 'value', 'name', 'and', ':a', '#a', 'a.b', 'a[0]', 'ü', 'with space'];
      const fields = Object.fromEntries(names.map((name, at) => [name, at]));
      await table.write([{ put: { ...key(), ...fields } }]);
      await table.write([
        { change: key(), set: { 'a.b': 'c' }, unset: ['size'], add: { value: 1 }, if: { is: fields } },
      ]);
      const { size: _, ...rest }: Record<string, Value> = { ...fields, 'a.b': 'c', value: 2 };
      expect(await table.get(key())).toEqual({ ...key(), ...rest });
    });
  });
}

export function writeCases(open: Open): void {
  describe('writes of one op', () => {
    test('a put makes an item, and replaces it whole', async () => {
      const { table } = await open();
      expect(await table.write([{ put: { ...key(), a: 1, b: 2 } }])).toEqual([{ ...key(), a: 1, b: 2 }]);
      expect(await table.write([{ put: { ...key(), a: 3 } }])).toEqual([{ ...key(), a: 3 }]);
      expect(await table.get(key())).toEqual({ ...key(), a: 3 });
    });

    test('a change makes an item, then merges into it, and answers the new item', async () => {
      const { table } = await open();
      const write = (op: Omit<Extract<Op, { change: Key }>, 'change'>) => table.write([{ change: key(), ...op }]);
      expect(await write({ set: { a: 1, b: 'x' }, add: { n: 2 } })).toEqual([{ ...key(), a: 1, b: 'x', n: 2 }]);
      expect(await write({ set: { a: 2 }, unset: ['b', 'never'], add: { n: -3, m: 1 } })).toEqual([
        { ...key(), a: 2, n: -1, m: 1 },
      ]);
      expect(await table.get(key())).toEqual({ ...key(), a: 2, n: -1, m: 1 });
    });

    test('a change of an absent item makes none when it must be present', async () => {
      const { table } = await open();
      expect(await refusal(table.write([{ change: key(), set: { a: 1 }, if: 'present' }]))).toEqual({
        op: 0,
        found: undefined,
      });
      expect(await table.get(key())).toBeUndefined();
    });

    test('a remove is fine when nothing is there', async () => {
      const { table } = await open();
      expect(await table.write([{ remove: key() }])).toEqual([undefined]);
      await table.write([{ put: key() }]);
      expect(await table.write([{ remove: key() }])).toEqual([undefined]);
      expect(await table.get(key())).toBeUndefined();
    });

    test('no ops at all are fine', async () => {
      const { table } = await open();
      expect(await table.write([])).toEqual([]);
    });

    test('nothing is added to a text', async () => {
      const { table } = await open();
      await table.write([{ put: { ...key(), a: 'x' } }]);
      await expect(table.write([{ change: key(), add: { a: 1 } }])).rejects.toThrow();
      expect(await table.get(key())).toEqual({ ...key(), a: 'x' });
    });

    const mistakes: [string, readonly Op[]][] = [
      ['an empty partition', [{ put: { pk: '', sk: 'b' } }]],
      ['an empty sort part', [{ remove: { pk: 'a', sk: '' } }]],
      ['an empty index key', [{ put: { ...key(), first_pk: '', first_sk: 'x' } }]],
      ['an index key that is a number', [{ change: key(), set: { first_pk: 1 } }]],
      ['an index key that is null', [{ change: key(), set: { first_sk: null } }]],
      ['a change of the key', [{ change: key(), set: { sk: 'c' } }]],
      ['a key that is unset', [{ change: key(), unset: ['pk'] }]],
      ['a field set and unset', [{ change: key(), set: { a: 1 }, unset: ['a'] }]],
      ['a field set and added to', [{ change: key(), set: { a: 1 }, add: { a: 1 } }]],
      ['a change that changes nothing', [{ change: key() }]],
      ['a fraction added', [{ change: key(), add: { a: 0.5 } }]],
      ['not a number', [{ put: { ...key(), a: Number.NaN } }]],
      ['infinity', [{ put: { ...key(), a: Number.POSITIVE_INFINITY } }]],
      ['a number beyond 2^53', [{ put: { ...key(), a: 2 ** 53 } }]],
      ['a number too close to zero', [{ put: { ...key(), a: 1e-200 } }]],
      ['a condition on a number beyond 2^53', [{ put: key(), if: { is: { a: [null, 2 ** 53] } } }]],
      ['a limit that is not a number', [{ put: key(), if: { notAbove: { a: Number.NaN } } }]],
      ['a field with the name __proto__', [{ put: { ...key(), ...named('__proto__') } }]],
      ['a field with the name __proto__ that is set', [{ change: key(), set: named('__proto__') }]],
      ['a field with the name __proto__ that is added to', [{ change: key(), add: named('__proto__') }]],
      ['a field with the name __proto__ that is unset', [{ change: key(), unset: ['__proto__'] }]],
      ['a ttl that is a fraction', [{ put: { ...key(), ttl: 0.5 } }]],
      ['a ttl in the second index', [{ put: { ...key(), ttl: 1, second_pk: 'x', second_sk: 'y' } }]],
      ['two ops on one item', [{ put: key() }, { remove: key() }]],
    ];
    test.each(mistakes)('%s is a mistake, and nothing is written', async (_name, ops) => {
      const { table } = await open();
      await expect(table.write([{ put: key('beside') }, ...ops])).rejects.toThrow(TypeError);
      await expect(table.write(ops)).rejects.toThrow(TypeError);
      expect(await table.get(key('beside'))).toBeUndefined();
      expect(await table.get(key())).toBeUndefined();
    });
  });

  describe('transactions', () => {
    test('all ops are applied; the new item is told of puts only', async () => {
      const { table } = await open();
      await table.write([{ put: { ...key('changed'), a: 1 } }]);
      await table.write([{ put: key('removed') }]);
      expect(
        await table.write([
          { put: { ...key('put'), a: 1 }, if: 'absent' },
          { change: key('changed'), set: { b: 2 }, add: { a: 1 }, if: 'present' },
          { remove: key('removed') },
          { check: key('checked'), if: 'absent' },
        ]),
      ).toEqual([{ ...key('put'), a: 1 }, undefined, undefined, undefined]);
      expect(await table.many(['put', 'changed', 'removed', 'checked'].map((sk) => key(sk)))).toEqual([
        { ...key('put'), a: 1 },
        { ...key('changed'), a: 2, b: 2 },
        undefined,
        undefined,
      ]);
    });

    test('none is applied when one is refused; the first refused one is named', async () => {
      const { table } = await open();
      await table.write([{ put: { ...key('x'), a: 1 } }]);
      const write = table.write([
        { put: key('new') },
        { check: key('x'), if: { is: { a: 1 } } },
        { change: key('x', 'other'), set: { a: 2 }, if: 'present' },
        { remove: key('x', 'third'), if: 'present' },
      ]);
      expect(await refusal(write)).toEqual({ op: 2, found: undefined });
      expect(await table.get(key('new'))).toBeUndefined();
      expect(await table.get(key('x', 'other'))).toBeUndefined();
    });

    test('a refusal gives the reason of its op, and the item at its key', async () => {
      const { table } = await open();
      await table.write([{ put: { ...key('x'), a: 1 } }]);
      const taken: Op = { put: key('x'), if: 'absent', else: 'taken' };
      for (const ops of [[taken], [{ check: key('new'), if: 'absent', else: 'there' } satisfies Op, taken]]) {
        const error: unknown = await table.write(ops).catch((raised: unknown) => raised);
        expect(error).toMatchObject({ name: 'Refused', reason: 'taken' });
        expect((error as Refused).foundAt(key('x'))).toEqual({ ...key('x'), a: 1 });
        expect((error as Refused).foundAt(key('new'))).toBeUndefined();
      }
      const change: Op = { change: key('gone'), set: { a: 1 }, if: 'present' };
      const bare: unknown = await table.write([change]).catch((raised: unknown) => raised);
      expect(bare).toMatchObject({ name: 'Refused', reason: undefined });
    });

    test('100 ops are written, 101 are a mistake', async () => {
      const { table } = await open();
      await table.write(puts(100));
      expect((await table.list({ partition: 'a' }, { limit: 1, count: true })).count).toBe(100);
      await expect(table.write(puts(101))).rejects.toThrow(TypeError);
    });

    test('apart, any number of ops is written, each by itself', async () => {
      const { table } = await open();
      const items = await table.write([...puts(260), { change: key('n'), add: { n: 1 } }], { apart: true });
      expect(items).toHaveLength(261);
      expect(items[259]).toEqual({ ...key('259'), at: 259 });
      expect(items[260]).toEqual({ ...key('n'), n: 1 });
      await table.write(
        puts(250).map((op) => ({ remove: (op as { put: Item }).put })),
        { apart: true },
      );
      expect(await walk(table, { partition: 'a' }, 4)).toHaveLength(11);
      await expect(table.write([{ put: key(), if: 'absent' }], { apart: true })).rejects.toThrow(TypeError);
    });
  });

  describe('sizes', () => {
    /** pk, sk and their one letter each, and the name of the field. */
    const rest = 2 + 1 + 2 + 1 + 1;

    test('an item of 400 KB is stored, one of a byte more is too large', async () => {
      const { table } = await open();
      const largest = { ...key(), t: filled(MAX_ITEM - rest) };
      await table.write([{ put: largest }]);
      expect(await table.get(key())).toEqual(largest);
      const larger = { ...key(), t: filled(MAX_ITEM - rest + 1) };
      await expect(table.write([{ put: larger }])).rejects.toThrow(TooLarge);
      await expect(table.write([{ put: key('c') }, { put: larger }])).rejects.toThrow(TooLarge);
      expect(await table.get(key('c'))).toBeUndefined();
      expect(await table.get(key())).toEqual(largest);
    });

    test('a change that makes an item too large is refused', async () => {
      const { table } = await open();
      const half = { ...key(), t: filled(MAX_ITEM / 2) };
      await table.write([{ put: half }]);
      const op: Op = { change: key(), set: { u: filled(MAX_ITEM / 2) } };
      await expect(table.write([op])).rejects.toThrow(TooLarge);
      await expect(table.write([{ put: key('c') }, op])).rejects.toThrow(TooLarge);
      expect(await table.get(key('c'))).toBeUndefined();
      expect(await table.get(key())).toEqual(half);
    });

    test('a transaction of more than 4 MB is too large', async () => {
      const { table } = await open();
      const ops = Array.from({ length: 11 }, (_, at) => ({ put: { ...key(`${at}`), t: filled(390 * 1024) } }));
      await expect(table.write(ops)).rejects.toThrow(TooLarge);
      expect((await table.list({ partition: 'a' }, { limit: 1, count: true })).count).toBe(0);
    });

    test('a key that is too long is never there, and cannot be written', async () => {
      const { table } = await open();
      for (const long of [key('x'.repeat(1025)), key('x', 'x'.repeat(2049))]) {
        expect(await table.get(long)).toBeUndefined();
        expect(await table.many([long, key()])).toEqual([undefined, undefined]);
        await expect(table.write([{ put: { ...long } }])).rejects.toThrow(TooLarge);
      }
      expect(await table.list({ partition: 'x'.repeat(2049) }, { limit: 1, count: true })).toEqual({
        items: [],
        count: 0,
      });
      const longest = key('x'.repeat(1024), 'x'.repeat(2048));
      await table.write([{ put: longest }]);
      expect(await table.get(longest)).toEqual(longest);
    });
  });
}

export function readCases(open: Open): void {
  describe('many', () => {
    test('answers in the order of the keys, with gaps, however many', async () => {
      const { table } = await open();
      const keys = Array.from({ length: 250 }, (_, at) => key(`${at}`, `p${at % 7}`));
      const there = keys.filter((_, at) => at % 3 !== 0);
      await table.write(
        there.map((at) => ({ put: { ...at, name: at.sk } })),
        { apart: true },
      );
      const wanted = keys.toReversed();
      const found = await table.many([...wanted, ...wanted.slice(0, 2)]);
      const expected = wanted.map((at) => (there.includes(at) ? { ...at, name: at.sk } : undefined));
      expect(found).toEqual([...expected, ...expected.slice(0, 2)]);
      expect(await table.many([])).toEqual([]);
    });

    test('takes keys that are parts of items', async () => {
      const { table } = await open();
      const item = { ...key(), a: 1 };
      await table.write([{ put: item }]);
      expect(await table.many([item])).toEqual([item]);
      expect(await table.get(item)).toEqual(item);
      await table.write([{ remove: item }]);
      expect(await table.get(item)).toBeUndefined();
    });
  });

  describe.each([undefined, 'first', 'second'] as const)('lists of %s index', (index) => {
    const COUNT = 25;
    const range: Range = index === undefined ? { partition: 'P' } : { index, partition: 'P' };

    const item = (at: number, partition = 'P'): Item => {
      if (index === undefined) return { pk: partition, sk: sort(at), data: at };
      const place = { [`${index}_pk`]: partition, [`${index}_sk`]: sort(at) };
      return { pk: `i${(at * 7) % COUNT}${partition}`, sk: 'I', data: at, ...place };
    };
    /** The item as the list shows it. */
    const shown = (at: number): Item => {
      const { data: _, ...keys } = item(at);
      return index === 'second' ? keys : item(at);
    };
    const span = (from: number, to: number): Item[] =>
      Array.from({ length: Math.max(0, to - from) }, (_, at) => shown(from + at));

    const filled = async (): Promise<Table> => {
      const { table } = await open();
      const all = Array.from({ length: COUNT }, (_, at) => item(at));
      const others = [
        item(3, 'O'),
        item(4, 'Q'),
        { ...key(), first_pk: 'P', data: 1 },
        { ...key('c'), second_sk: 's' },
      ];
      await table.write(
        [...all.toSorted((a, b) => Number(a['data']) * 3 - Number(b['data'])), ...others].map((put) => ({ put })),
        { apart: true },
      );
      return table;
    };

    test('come in the order of the sort part, either way, whole or by pages', async () => {
      const table = await filled();
      expect(await table.list(range, { limit: 100 })).toEqual({ items: span(0, COUNT) });
      expect((await table.list({ ...range, newestFirst: true }, { limit: 100 })).items).toEqual(
        span(0, COUNT).toReversed(),
      );
      for (const limit of [1, 5, 24, 25]) {
        expect(await walk(table, range, limit)).toEqual(span(0, COUNT));
        expect(await walk(table, { ...range, newestFirst: true }, limit)).toEqual(span(0, COUNT).toReversed());
      }
      expect((await table.list(range, { limit: 25 })).cursor).toBeUndefined();
    });

    test('are bounded by from, to and prefix, alone and together', async () => {
      const table = await filled();
      const items = async (more: Omit<Range, 'partition'>) =>
        (await table.list({ ...range, ...more }, { limit: 100, count: true })) as { items: Item[]; count: number };
      const cases: [Omit<Range, 'partition'>, Item[]][] = [
        [{ from: sort(20) }, span(20, 25)],
        [{ to: sort(2) }, span(0, 3)],
        [{ from: sort(3), to: sort(5) }, span(3, 6)],
        [{ from: sort(5), to: sort(3) }, []],
        [{ from: sort(5), to: sort(5) }, span(5, 6)],
        [{ prefix: 's01' }, span(10, 20)],
        [{ prefix: 's01', from: sort(15) }, span(15, 20)],
        [{ prefix: 's01', to: sort(12) }, span(10, 13)],
        [{ prefix: 's01', from: sort(2), to: sort(23) }, span(10, 20)],
        [{ prefix: 's01', from: sort(21) }, []],
        [{ prefix: 'x' }, []],
        [{ prefix: '', from: '' }, span(0, 25)],
        [{ to: '' }, []],
        [{ from: 'x'.repeat(2000) }, []],
      ];
      for (const [more, expected] of cases) {
        expect({ more, ...(await items(more)) }).toEqual({ more, items: expected, count: expected.length });
        expect((await items({ ...more, newestFirst: true })).items).toEqual(expected.toReversed());
      }
    });

    test('skip and count', async () => {
      const table = await filled();
      for (const [skip, limit] of [
        [0, 10],
        [10, 10],
        [20, 10],
        [24, 1],
        [25, 1],
        [40, 5],
        [Number.MAX_SAFE_INTEGER, 5],
      ] as const) {
        const { items, count, cursor } = await table.list(range, { limit, skip, count: true });
        expect(items).toEqual(span(skip, Math.min(COUNT, skip + limit)));
        expect(count).toBe(COUNT);
        expect(cursor !== undefined).toBe(skip + limit < COUNT);
      }
      const { cursor } = await table.list(range, { limit: 5 });
      expect(await table.list(range, { limit: 3, skip: 4, after: cursor, count: true })).toMatchObject({
        items: span(9, 12),
        count: COUNT,
      });
    });

    test('of no items only count; after a skip they tell where it ended', async () => {
      const table = await filled();
      expect(await table.list(range, { limit: 0, count: true })).toEqual({ items: [], count: COUNT });
      const { items, cursor } = await table.list(range, { limit: 0, skip: 20 });
      expect(items).toEqual([]);
      expect((await table.list(range, { limit: 10, after: cursor })).items).toEqual(span(20, 25));
      expect((await table.list(range, { limit: 0, skip: 25 })).cursor).toBeUndefined();
    });

    test('go on where a cursor points, also when that item is gone or another came', async () => {
      const table = await filled();
      const { cursor } = await table.list(range, { limit: 5 });
      await table.write([{ remove: item(4) }]);
      const late = {
        ...item(4),
        pk: index === undefined ? 'P' : 'late',
        [index ? `${index}_sk` : 'sk']: `${sort(4)}+`,
      };
      await table.write([{ put: late }]);
      const { items } = await table.list(range, { limit: 2, after: cursor });
      expect(items.map(({ pk, sk }) => ({ pk, sk }))).toEqual([
        { pk: late.pk, sk: late.sk },
        { pk: shown(5).pk, sk: shown(5).sk },
      ]);
    });

    test('never leave their partition, whosever cursor it is', async () => {
      const table = await filled();
      const { cursor } = await table.list(range, { limit: 3 });
      const { items } = await table.list({ ...range, partition: 'Q' }, { limit: 10, after: cursor });
      expect(items.map(({ pk }) => pk)).toEqual([item(4, 'Q').pk]);
    });

    test('refuse what is no cursor', async () => {
      const table = await filled();
      const { cursor = '' } = await table.list(range, { limit: 10 });
      const wrong = [
        '',
        'x',
        '%%%',
        `${cursor}!`,
        cursor.slice(0, -4),
        encoded(null),
        encoded({}),
        encoded([]),
        encoded(['']),
        encoded([1]),
        encoded(['s', 'a']),
        encoded(['s', 'a', '']),
        encoded(['s', 'a', 'b', 'c']),
        encoded(index === undefined ? ['s', 'a', 'b'] : ['s']),
        encoded(index === undefined ? ['s'.repeat(1025)] : ['s', 'a'.repeat(3000), 'b']),
        Buffer.from([0xff, 0xfe]).toString('base64url'),
      ];
      for (const after of wrong) {
        await expect(table.list(range, { limit: 1, after })).rejects.toThrow(BadCursor);
      }
      for (const more of [{ to: sort(5) }, { from: sort(20) }, { prefix: 's02' }]) {
        await expect(table.list({ ...range, ...more }, { limit: 1, after: cursor })).rejects.toThrow(BadCursor);
      }
    });

    test('read on beyond one answer of the table', async () => {
      const { table } = await open();
      const large = Array.from({ length: 12 }, (_, at) => ({ ...item(at), text: 'x'.repeat(300 * 1024) }));
      for (const put of large) await table.write([{ put }]);
      const { items, count } = await table.list(range, { limit: 11, count: true });
      expect(items.map(({ pk, sk }) => [pk, sk])).toEqual(large.slice(0, 11).map(({ pk, sk }) => [pk, sk]));
      expect(count).toBe(12);
      const [last] = (await table.list(range, { limit: 1, skip: 11 })).items;
      expect(last).toMatchObject({ pk: large[11]?.pk, sk: large[11]?.sk });
    });
  });

  describe('indexes', () => {
    const inFirst: Range = { index: 'first', partition: 'F' };
    const inSecond: Range = { index: 'second', partition: 'S' };
    const counts = async (table: Table) => [
      (await table.list(inFirst, { limit: 5, count: true })).count,
      (await table.list(inSecond, { limit: 5, count: true })).count,
    ];

    test('hold an item while it has both parts of its place there', async () => {
      const { table } = await open();
      await table.write([{ put: { ...key(), a: 1 } }]);
      expect(await counts(table)).toEqual([0, 0]);
      await table.write([{ change: key(), set: { first_pk: 'F', first_sk: '1', second_pk: 'S' } }]);
      expect(await counts(table)).toEqual([1, 0]);
      await table.write([{ change: key(), set: { second_sk: '1' } }]);
      expect(await counts(table)).toEqual([1, 1]);
      await table.write([{ change: key(), set: { a: 2 }, unset: ['first_sk'] }]);
      expect(await counts(table)).toEqual([0, 1]);
      expect((await table.list(inSecond, { limit: 1 })).items).toEqual([{ ...key(), second_pk: 'S', second_sk: '1' }]);
      await table.write([{ put: { ...key(), first_pk: 'F', first_sk: '2' } }]);
      expect(await counts(table)).toEqual([1, 0]);
      await table.write([{ remove: key() }]);
      expect(await counts(table)).toEqual([0, 0]);
    });

    test('a cursor of the keys goes on among the whole items where the sort parts are the same', async () => {
      const { table } = await open();
      await table.write([1, 2, 3, 4, 5].map(putInBoth));
      const { cursor } = await table.list(inSecond, { limit: 0, skip: 3, count: true });
      const { items } = await table.list(inFirst, { limit: 5, after: cursor });
      expect(items.map(({ at }) => at)).toEqual([4, 5]);
    });
  });

  describe('order', () => {
    const characters = fc.oneof(
      fc.constantFrom('a', 'b', 'A', '#', '~', '\u{1}', '\u{7f}', '\u{e9}', '\u{ffff}', '\u{1f600}', '\u{10ffff}'),
      anyText({ minLength: 1, maxLength: 1 }),
    );
    const texts = fc.uniqueArray(
      fc.array(characters, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('')),
      {
        minLength: 1,
        maxLength: 20,
        selector: (text) => text.toWellFormed(),
      },
    );

    test('is that of code points, on the table and on the indexes', async () => {
      const { table } = await open();
      let run = 0;
      await fc.assert(
        fc.asyncProperty(texts, fc.nat(), fc.nat(), async (given, low, high) => {
          run += 1;
          const partition = `run ${run}`;
          const sorted = given.map((text) => text.toWellFormed()).toSorted(compareText);
          const place = (text: string) => ({
            first_pk: partition,
            first_sk: text,
            second_pk: partition,
            second_sk: text,
          });
          await table.write(given.map((sk) => ({ put: { pk: partition, sk, ...place(sk) } })));
          const from = sorted[low % sorted.length] as string;
          const to = sorted[high % sorted.length] as string;
          const prefix = String.fromCodePoint(from.codePointAt(0) ?? 0);
          for (const index of [{}, { index: 'first' }, { index: 'second' }] as const) {
            const range = { ...index, partition };
            expect((await walk(table, range, 7)).map(({ sk }) => sk)).toEqual(sorted);
            expect((await walk(table, { ...range, from, to }, 3)).map(({ sk }) => sk)).toEqual(
              sorted.filter((text) => compareText(text, from) >= 0 && compareText(text, to) <= 0),
            );
            expect((await walk(table, { ...range, prefix, newestFirst: true }, 3)).map(({ sk }) => sk)).toEqual(
              sorted.filter((text) => text.startsWith(prefix)).toReversed(),
            );
          }
        }),
        { numRuns: propertyRuns(25) },
      );
    });

    test('puts an emoji behind U+FFFF', async () => {
      const { table } = await open();
      await table.write([{ put: key('\u{1f600}') }, { put: key('\u{ffff}') }]);
      expect((await table.list({ partition: 'a' }, { limit: 2 })).items.map(({ sk }) => sk)).toEqual([
        '\u{ffff}',
        '\u{1f600}',
      ]);
    });
  });

  describe('values', () => {
    const values: [string, Value][] = [
      ['an empty text', ''],
      ['blanks', ' \t\n '],
      ['all control characters', Array.from({ length: 33 }, (_, at) => String.fromCharCode(at)).join('')],
      ['letters of many alphabets', 'Grüße, 你好, שלום, \u{1f469}\u{200d}\u{1f680}, e\u{301}, \u{2028}'],
      ['text that looks like JSON', '{"a":[1,"\\u0000"]}'],
      ['zero', 0],
      ['a negative number', -17],
      ['the largest whole number', 2 ** 53 - 1],
      ['the smallest whole number', -(2 ** 53) + 1],
      ['a fraction', 0.1],
      ['a fraction with 17 digits', 0.30000000000000004],
      ['a small number', 1e-7],
      ['a tiny number', 1.5e-129],
      ['true', true],
      ['false', false],
      ['null', null],
    ];
    test.each(values)('%s comes back as it was', async (_name, value) => {
      const { table } = await open();
      await table.write([{ put: { ...key(), value } }]);
      await table.write([{ change: key('changed'), set: { value } }]);
      expect(await table.get(key())).toEqual({ ...key(), value });
      expect((await table.list({ partition: 'a' }, { limit: 2 })).items).toEqual([
        { ...key(), value },
        { ...key('changed'), value },
      ]);
      await table.write([{ remove: key(), if: { is: { value } } }]);
    });

    test('minus zero is zero, fields without a value are none, broken surrogates are mended', async () => {
      const { table } = await open();
      const [put] = await table.write([{ put: { ...key('\u{d800}'), zero: -0, none: undefined, text: 'a\u{dc00}' } }]);
      const expected = { ...key('\u{fffd}'), zero: 0, text: 'a\u{fffd}' };
      expect(put).toStrictEqual(expected);
      expect(await table.get(key('\u{fffd}'))).toStrictEqual(expected);
    });

    test('fields may have the names of the prototype, __proto__ apart', async () => {
      const { table } = await open();
      const strange = { constructor: 1, toString: null, valueOf: 'x' } as unknown as Record<string, Value>;
      await table.write([{ put: { ...key(), ...strange } }]);
      expect(await table.get(key())).toEqual({ ...key(), ...strange });
      expect(await refusal(table.write([{ change: key(), set: { a: 1 }, if: { is: { constructor: 2 } } }]))).toEqual({
        op: 0,
        found: { ...key(), ...strange },
      });
      const [changed] = await table.write([
        { change: key(), set: { valueOf: 'z' }, unset: ['constructor'], add: { hasOwnProperty: 1 } },
      ]);
      const expected = { ...key(), toString: null, valueOf: 'z', hasOwnProperty: 1 };
      expect(fieldsOf(changed)).toEqual(fieldsOf(expected as unknown as Item));
    });

    test('any text and number survives', async () => {
      const { table } = await open();
      const scalar = fc.oneof(
        anyText(),
        fc.maxSafeInteger(),
        fc.double({ min: -1e15, max: 1e15, noNaN: true }).filter((n) => n === 0 || Math.abs(n) > 1e-100),
        fc.boolean(),
        fc.constant(null),
      );
      const names = anyText({ minLength: 1, maxLength: 8 }).filter((name) => !/^(pk|sk|ttl|\w+_[ps]k)$/.test(name));
      await fc.assert(
        fc.asyncProperty(
          fc.dictionary(
            names.map((name) => name.toWellFormed()),
            scalar,
            { maxKeys: 6 },
          ),
          async (fields) => {
            const [put] = await table.write([{ put: { ...fields, ...key() } }]);
            expect(await table.get(key())).toEqual(put);
            expect(Object.keys(put as Item).length).toBe(Object.keys(fields).length + 2);
          },
        ),
        { numRuns: propertyRuns(40) },
      );
    });
  });
}

export function expiryCases(open: Open): void {
  describe('an item that has expired', () => {
    const range: Range = { partition: 'a' };
    const LIFE = 60;

    const expired = async (): Promise<Table> => {
      const { table, clock } = await open();
      const ttl = clock() / 1000 + LIFE;
      const put: Op = { put: { ...key(), n: 5, old: true, ttl, first_pk: 'F', first_sk: '1' } };
      await table.write([put, { put: { ...key('c'), first_pk: 'F', first_sk: '2' } }]);
      clock.advance(LIFE * 1000 - 1);
      expect(await table.get(key())).toMatchObject({ n: 5, ttl });
      expect((await table.list(range, { limit: 5, count: true })).count).toBe(2);
      clock.advance(1);
      return table;
    };

    test('is not there for reads', async () => {
      const table = await expired();
      expect(await table.get(key())).toBeUndefined();
      expect(await table.many([key(), key('c')])).toEqual([undefined, expect.objectContaining({ sk: 'c' })]);
      for (const where of [range, { index: 'first', partition: 'F' } as const]) {
        const { items, count, cursor } = await table.list(where, { limit: 1, count: true });
        expect({ keys: items.map(({ sk }) => sk), count, cursor }).toEqual({
          keys: ['c'],
          count: 1,
          cursor: undefined,
        });
        expect((await table.list(where, { limit: 1, skip: 1 })).items).toEqual([]);
      }
    });

    const ops = (condition?: Condition): Op[] => {
      const only = condition === undefined ? {} : { if: condition };
      return [
        { put: { ...key(), new: 1 }, ...only },
        { change: key(), set: { new: 1 }, ...only },
        { change: key(), set: { new: 1 }, add: { n: 2 }, ...only },
        { remove: key(), ...only },
      ];
    };
    const after: (Item | undefined)[] = [
      { ...key(), new: 1 },
      { ...key(), new: 1 },
      { ...key(), new: 1, n: 2 },
      undefined,
    ];

    test.each<[string, Condition | undefined]>([
      ['without a condition', undefined],
      ['that wants nothing there', 'absent'],
      ['that wants fields missing', { is: { n: null, ttl: null } }],
      ['that bounds a field', { notAbove: { n: 1 } }],
    ])('is absent for a write %s', async (_name, condition) => {
      for (const [at, op] of ops(condition).entries()) {
        for (const beside of [[], [{ put: key('beside') }]]) {
          const table = await expired();
          const items = await table.write([...beside, op]);
          const told = 'put' in op || ('change' in op && beside.length === 0);
          expect(items.at(-1)).toEqual(told ? after[at] : undefined);
          expect(await table.get(key())).toEqual(after[at]);
        }
      }
    });

    test.each<[string, Condition]>([
      ['presence', 'present'],
      ['a value that it had', { is: { n: 5 } }],
      ['a value or none, and presence of another', { is: { n: [5, null], old: true } }],
    ])('is refused where a write wants %s, with nothing found', async (_name, condition) => {
      for (const op of ops(condition)) {
        for (const beside of [[], [{ put: key('beside') }]]) {
          const table = await expired();
          expect(await refusal(table.write([...beside, op]))).toEqual({ op: beside.length, found: undefined });
          expect(await table.get(key())).toBeUndefined();
        }
      }
    });

    test('does not hide which op of a transaction is refused', async () => {
      const table = await expired();
      const write = table.write([
        { change: key(), set: { a: 1 } },
        { check: key('c'), if: 'absent' },
      ]);
      expect((await refusal(write)).op).toBe(1);
    });

    test('lives again when it is put without an end', async () => {
      const table = await expired();
      await table.write([{ put: { ...key(), a: 1 }, if: 'absent' }]);
      expect(await table.write([{ change: key(), add: { a: 1 }, if: 'present' }])).toEqual([{ ...key(), a: 2 }]);
    });
  });
}

export function concurrencyCases(open: Open): void {
  describe('writers at the same time', () => {
    test('add up', async () => {
      const { table } = await open();
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => table.write([{ change: key(), add: { n: 1 } }])),
      );
      expect(new Set(answers.map(([item]) => item?.['n'])).size).toBe(100);
      expect(await table.get(key())).toEqual({ ...key(), n: 100 });
    });

    test('change different fields, and both last', async () => {
      const { table } = await open();
      await Promise.all(
        ['x', 'y', 'z'].map((field) =>
          table.write([{ change: key(), set: { [field]: field }, if: { is: { [field]: null } } }]),
        ),
      );
      expect(await table.get(key())).toEqual({ ...key(), x: 'x', y: 'y', z: 'z' });
    });

    test('race for one place, and one wins', async () => {
      const { table } = await open();
      const racers = Array.from({ length: 20 }, (_, by) => by);
      const results = await Promise.allSettled(
        racers.map((by) => table.write([{ put: { ...key(), by }, if: 'absent' }, { put: { ...key(`${by}`), by } }])),
      );
      const winner = results.findIndex(({ status }) => status === 'fulfilled');
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(Refused);
      }
      expect((await table.list({ partition: 'a' }, { limit: 50 })).items).toEqual([
        { ...key(`${winner}`), by: winner },
        { ...key(), by: winner },
      ]);
    });

    test('move a version on, one step each', async () => {
      const { table } = await open();
      await table.write([{ put: { ...key(), ver: 0 } }]);
      const step = async (): Promise<void> => {
        for (;;) {
          const ver = (await table.get(key()))?.['ver'] as number;
          try {
            await table.write([
              { change: key(), set: { ver: ver + 1 }, if: { is: { ver } } },
              { change: key('log'), add: { [`v${ver}`]: 1 } },
            ]);
            return;
          } catch (error) {
            if (!(error instanceof Refused)) throw error;
          }
        }
      };
      await Promise.all(Array.from({ length: 12 }, step));
      expect(await table.get(key())).toMatchObject({ ver: 12 });
      const { pk: _pk, sk: _sk, ...log } = (await table.get(key('log'))) as Item;
      expect(Object.values(log)).toEqual(Array.from({ length: 12 }, () => 1));
    });
  });
}

export function tableCases(open: Open): void {
  conditionCases(open);
  writeCases(open);
  readCases(open);
  expiryCases(open);
  concurrencyCases(open);
}
