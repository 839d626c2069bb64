import * as fc from 'fast-check';
import {
  cursorPage,
  fittingItems,
  type OffsetPage,
  type Paging,
  page,
  pagingOf,
  readCursorPage,
  readPage,
} from '../../../lib/http/page.ts';
import type { PagingRule } from '../../../lib/http/route.ts';
import { BadCursor, type Item, type Range, type Table } from '../../../lib/ports/table/table.ts';
import { testContext } from '../../support/context.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { proxyEvent, type Sent } from '../../support/proxy-event.ts';
import { tableWith } from '../../support/table-override.ts';

const row = { method: 'GET', paths: ['/api/things'] } as const;
const ask = (query: string, rule: PagingRule = { kind: 'offset' }, sent: Sent = {}): Paging =>
  pagingOf(proxyEvent(row, { query, ...sent }), rule);

const range: Range = { partition: 'LIST' };
const name = (n: number) => `item ${String(n).padStart(4, '0')}`;
async function listOf(count: number): Promise<Table> {
  const { table } = testContext();
  const ops = Array.from({ length: count }, (_, n) => ({ put: { pk: 'LIST', sk: name(n) } }));
  await table.write(ops, { apart: true });
  return table;
}

/** The page that a query asks for, as the caller sees it. */
async function get(table: Table, query: string, rule?: PagingRule) {
  const paging = ask(query, rule);
  return page(paging, await readPage(table, range, paging), (item: Item) => item.sk);
}
async function getByCursor(table: Table, query: string) {
  const paging = ask(query, { kind: 'cursor' });
  return cursorPage(paging, await readCursorPage(table, range, paging), (item: Item) => item.sk);
}
const queryOf = (link: string | null) => (link === null ? null : link.slice(link.indexOf('?') + 1));
/** A link without the cursor, which only the table reads. */
const plain = (link: string | null) => link?.replace(/cursor=[^&]*&/, '') ?? null;

describe('limit and offset', () => {
  test.each([
    ['', 100, 0],
    ['limit=3', 3, 0],
    ['limit=3&offset=6', 3, 6],
    ['limit=2&limit=5', 5, 0],
    ['offset=1&offset=2', 100, 2],
    ['limit=%2B2', 2, 0],
    ['limit=+2', 2, 0],
    ['limit=%202%20', 2, 0],
    ['limit=0', 100, 0],
    ['limit=-1', 100, 0],
    ['limit=', 100, 0],
    ['limit=2.5', 100, 0],
    ['limit=abc', 100, 0],
    ['limit=1e3', 100, 0],
    ['offset=-1', 100, 0],
    ['offset=x', 100, 0],
    ['limit=1000', 1000, 0],
    ['limit=1001', 1000, 0],
    ['limit=99999999999999999999', 1000, 0],
    ['offset=99999999999999999999', 100, Number.MAX_SAFE_INTEGER],
  ])('%s is read as %d from %d', (query, limit, offset) => {
    expect(ask(query)).toMatchObject({ limit, offset });
  });

  test('a row may have its own default and maximum', () => {
    expect(ask('', { kind: 'offset', limit: 50, max: 80 }).limit).toBe(50);
    expect(ask('limit=100', { kind: 'offset', limit: 50, max: 80 }).limit).toBe(80);
  });

  test('no text is an error', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (limit, offset) => {
        const paging = ask(new URLSearchParams({ limit, offset }).toString());
        expect(paging.limit).toBeGreaterThan(0);
        expect(paging.limit).toBeLessThanOrEqual(1000);
        expect(paging.offset).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

const next = (sent: Sent) => page(ask('limit=1', undefined, sent), { items: [1], count: 2 }, String).next;

describe('links', () => {
  test('are on the host that was called, with the path as it was sent', () => {
    expect(next({})).toBe('http://api.example.com/api/things/?limit=1&offset=1');
    expect(next({ bare: true })).toBe('http://api.example.com/api/things?limit=1&offset=1');
    expect(next({ headers: { Host: '127.0.0.1:8010' } })).toBe('http://127.0.0.1:8010/api/things/?limit=1&offset=1');
    expect(next({ headers: { Host: '[::1]:8010' } })).toBe('http://[::1]:8010/api/things/?limit=1&offset=1');
  });

  test("are on the gateway's domain over TLS, under the stage's prefix", () => {
    const sent = { domainName: 'abc.execute-api.eu-west-1.amazonaws.com', stage: '/prod' };
    expect(next(sent)).toBe('https://abc.execute-api.eu-west-1.amazonaws.com/prod/api/things/?limit=1&offset=1');
  });

  test('never follow what a proxy claims, nor a host that is none', () => {
    const headers = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' };
    expect(next({ headers })).toBe('http://api.example.com/api/things/?limit=1&offset=1');
    expect(next({ headers: { Host: 'x/"><script>' } })).toBe('http://localhost/api/things/?limit=1&offset=1');
  });

  test('keep the other parameters, in alphabetical order, encoded anew', () => {
    const query = 'tags=b&search=a%20b&tags=a&limit=3&__proto__=x&offset=3';
    const { next, previous } = page(ask(query), { items: [1, 2, 3], count: 7 }, String);
    expect(queryOf(next)).toBe('__proto__=x&limit=3&offset=6&search=a+b&tags=b&tags=a');
    expect(queryOf(previous)).toBe('__proto__=x&limit=3&search=a+b&tags=b&tags=a');
  });
});

/** Just under a million bytes, in half as many characters. */
const megabyte = (n: number): string => `${n}${'é'.repeat(499_995)}`;

describe('an offset page', () => {
  test.each([
    ['limit=3', 'limit=3&offset=3', null],
    ['limit=3&offset=3', 'limit=3&offset=6', 'limit=3'],
    ['limit=3&offset=6', null, 'limit=3&offset=3'],
    ['offset=3', null, 'limit=100'],
    ['limit=3&offset=2', 'limit=3&offset=5', 'limit=3'],
    ['limit=3&offset=50', null, 'limit=3&offset=47'],
    ['limit=7', null, null],
    ['limit=8', null, null],
  ])('of 7 at %s', async (query, next, previous) => {
    const got = await get(await listOf(7), query);
    expect(Object.keys(got)).toEqual(['count', 'next', 'previous', 'results']);
    expect([got.count, queryOf(plain(got.next)), queryOf(got.previous)]).toEqual([7, next, previous]);
  });

  test('of an empty list is empty', async () => {
    expect(await get(await listOf(0), '')).toEqual({ count: 0, next: null, previous: null, results: [] });
  });

  test('following next, and jumping to each offset, both give every item once in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 25 }), fc.integer({ min: 1, max: 9 }), async (count, limit) => {
        const table = await listOf(count);
        const all = Array.from({ length: count }, (_, n) => name(n));
        const followed: unknown[] = [];
        for (let query: string | null = `limit=${limit}`; query !== null; ) {
          const got: Awaited<ReturnType<typeof get>> = await get(table, query);
          followed.push(...got.results);
          query = queryOf(got.next);
        }
        const jumped: unknown[] = [];
        for (let offset = 0; offset < count; offset += limit) {
          jumped.push(...(await get(table, `limit=${limit}&offset=${offset}`)).results);
        }
        expect({ followed, jumped }).toEqual({ followed: all, jumped: all });
      }),
      { numRuns: propertyRuns(40) },
    );
  });

  test('next reads on where the table stood: nothing is read again, and an insertion before does not repeat an item', async () => {
    const table = await listOf(10);
    const first = await get(table, 'limit=3');
    await table.write([{ put: { pk: 'LIST', sk: 'a first one' } }]);
    const asked: unknown[] = [];
    const watched = tableWith(table, { list: (range, page) => (asked.push(page), table.list(range, page)) });
    const second = await get(watched, queryOf(first.next) ?? '');
    expect(second.results).toEqual([name(3), name(4), name(5)]);
    expect(asked).toEqual([expect.objectContaining({ limit: 3, after: expect.any(String) })]);
    expect(asked[0]).not.toHaveProperty('skip');
  });

  test('next leads to the end also for whoever deletes what they have read', async () => {
    const table = await listOf(25);
    const read: unknown[] = [];
    for (let query: string | null = 'limit=10'; query !== null; ) {
      const got: Awaited<ReturnType<typeof get>> = await get(table, query);
      read.push(...got.results);
      for (const sk of got.results) await table.write([{ remove: { pk: 'LIST', sk } }]);
      query = queryOf(got.next);
    }
    expect(read).toEqual(Array.from({ length: 25 }, (_, n) => name(n)));
  });

  test('an offset that the caller changed is right, whatever cursor they kept', async () => {
    const table = await listOf(10);
    const { next } = await get(table, 'limit=3');
    const changed = (queryOf(next) ?? '').replace('offset=3', 'offset=6');
    expect((await get(table, changed)).results).toEqual([name(6), name(7), name(8)]);
  });

  test.each(['3.nonsense', '3.', '3.bm8', 'x', ''])('a cursor %j that is none is passed over', async (cursor) => {
    const { results } = await get(await listOf(10), `limit=3&offset=3&cursor=${cursor}`);
    expect(results).toEqual([name(3), name(4), name(5)]);
  });

  test('a bad number of the caller and a cursor of another list never show that list', async () => {
    const table = await listOf(10);
    const secret = await table.list({ partition: 'LIST' }, { limit: 3 });
    const other = pagingOf(proxyEvent(row, { query: `limit=3&offset=3&cursor=3.${secret.cursor}` }), {
      kind: 'offset',
    });
    expect((await readPage(table, { partition: 'EMPTY' }, other)).items).toEqual([]);
  });

  /** The page as it leaves. */
  const sent = <R>(whole: OffsetPage<R>): OffsetPage<R> => whole.fitting(JSON.stringify(whole));

  test('stops before 5 MB, and next goes on from there', () => {
    const items = Array.from({ length: 10 }, (_, n) => n);
    const paging = ask('limit=10&offset=10');
    const got = sent(page(paging, { items, count: 20, cursor: 'end of the page' }, megabyte));
    expect(got.results).toHaveLength(4);
    expect(Buffer.byteLength(JSON.stringify(got))).toBeLessThan(5_000_000);
    expect(queryOf(got.next)).toBe('limit=10&offset=14');
  });

  test('is made of no more items than may fit, and next goes on behind those that were taken', () => {
    const items = Array.from({ length: 10 }, (_, n) => n);
    const fitting = fittingItems(items, () => 1_500_000);
    expect(fitting).toEqual({ items: [0, 1, 2, 3], taken: 4 });
    expect(fittingItems(items, () => 1)).toEqual({ items });
    const got = page(ask('limit=10&offset=10'), { ...fitting, count: 20, cursor: 'end of the page' }, (item) => item);
    expect(queryOf(got.next)).toBe('limit=10&offset=14');
    expect(sent(got)).toBe(got);
    expect(queryOf(sent(page(ask('limit=10'), { ...fitting, count: 20 }, megabyte)).next)).toBe('limit=10&offset=4');
  });

  test('shows one item, however large', () => {
    const got = sent(page(ask('limit=2'), { items: [1, 2], count: 2 }, () => 'x'.repeat(6_000_000)));
    expect(got.results).toHaveLength(1);
    expect(queryOf(got.next)).toBe('limit=2&offset=1');
  });
});

describe('a cursor page', () => {
  test('has no count', async () => {
    expect(await getByCursor(await listOf(2), '')).toEqual({ next: null, previous: null, results: [name(0), name(1)] });
  });

  test('forward and back again, every item is seen once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 25 }), fc.integer({ min: 1, max: 9 }), async (count, limit) => {
        const table = await listOf(count);
        const pages: unknown[][] = [];
        let previous: string | null = null;
        for (let query: string | null = `limit=${limit}&status=x`; query !== null; ) {
          const got: Awaited<ReturnType<typeof getByCursor>> = await getByCursor(table, query);
          pages.push(got.results);
          previous = queryOf(got.previous);
          query = queryOf(got.next);
        }
        expect(pages.flat()).toEqual(Array.from({ length: count }, (_, n) => name(n)));
        const back: unknown[][] = [];
        while (previous !== null) {
          expect(previous).toContain('status=x');
          const got: Awaited<ReturnType<typeof getByCursor>> = await getByCursor(table, previous);
          back.unshift(got.results);
          expect(queryOf(got.next)).not.toBeNull();
          previous = queryOf(got.previous);
        }
        expect(back).toEqual(pages.slice(0, -1));
      }),
      { numRuns: propertyRuns(40) },
    );
  });

  test('runs newest first when the range does', async () => {
    const table = await listOf(5);
    const newest: Range = { ...range, newestFirst: true };
    const first = await readCursorPage(table, newest, { limit: 2, cursor: undefined });
    const second = await readCursorPage(table, newest, { limit: 2, cursor: first.next });
    const again = await readCursorPage(table, newest, { limit: 2, cursor: second.previous });
    const names = [first, second, again].map(({ items }) => items.map(({ sk }) => sk));
    expect(names).toEqual([
      [name(4), name(3)],
      [name(2), name(1)],
      [name(4), name(3)],
    ]);
  });

  describe('of another list', () => {
    const second = async (other: Range) => {
      const table = await listOf(5);
      const { next } = await readCursorPage(table, range, { limit: 2, cursor: undefined });
      return readCursorPage(table, other, { limit: 2, cursor: next });
    };

    test.each<Range>([
      { ...range, newestFirst: true },
      { ...range, prefix: 'item' },
      { ...range, index: 'first' },
      { partition: 'ANOTHER' },
    ])('or order is none: %j', async (other) => {
      await expect(second(other)).rejects.toThrow(BadCursor);
    });

    test.each<Range>([
      { ...range, from: name(1) },
      { ...range, newestFirst: false },
    ])('is not one whose bounds went on: %j', async (other) => {
      expect((await second(other)).items.map(({ sk }) => sk)).toEqual([name(2), name(3)]);
    });
  });

  test.each(['x', 'after.', 'after.%%%', 'before.bm8', 'after.abcdefgh.bm8', 'sideways.abc', ''])(
    'refuses the cursor %j',
    async (cursor) => {
      await expect(getByCursor(await listOf(3), `cursor=${encodeURIComponent(cursor)}`)).rejects.toThrow(BadCursor);
    },
  );

  test.each(['', '%%%', 'bm8'])('refuses a cursor of the list whose place is %j', async (place) => {
    const items = await listOf(3);
    const { next } = await getByCursor(items, 'limit=1');
    const cursor = new URL(String(next)).searchParams.get('cursor') ?? '';
    expect(cursor).toMatch(/^after\.[^.]+\.[^.]+$/);
    const wrong = cursor.replace(/[^.]*$/, place);
    await expect(getByCursor(items, `cursor=${encodeURIComponent(wrong)}`)).rejects.toThrow(BadCursor);
  });
});
