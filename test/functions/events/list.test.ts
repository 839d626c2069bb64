import { DAY_MS, HOUR_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { duckdbReader } from '../../../lib/warehouse/duckdb-reader.ts';
import type { Reader } from '../../../lib/warehouse/reader.ts';
import { START, temporaryFolder, testContext } from '../../support/context.ts';
import { importRecords } from '../../support/imports.ts';
import { onEnd } from '../../support/on-end.ts';
import { type Service, testService } from '../../support/service.ts';

const uuidOf = (n: number): string => `01940000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const timeOf = (n: number): string => new Date(START - 60 * DAY_MS + n * HOUR_MS).toISOString();

/** An event that happened in the n-th hour. */
const event = (n: number, fields: object = {}) => ({
  uuid: uuidOf(n),
  event: n % 2 === 0 ? 'paid' : 'left',
  distinct_id: n % 3 === 0 ? 'ada' : 'bob',
  timestamp: timeOf(n),
  properties: { n, plan: n < 5 ? 'pro' : 'free', 'odd/"~key': n },
  ...fields,
});

const context = testContext();
let service: Service;
const read: number[] = [];
const own = context.reader as Reader;

beforeAll(async () => {
  service = await testService({
    ...context,
    reader: {
      read: (reading, waiting) => {
        read.push(reading.files.length);
        return own.read(reading, waiting);
      },
    },
  });
  const { id } = service.project;
  // In files that overlap: even numbers, then odd ones, then one with a person.
  await importRecords(
    context,
    id,
    [0, 2, 4, 6, 8].map((n) => event(n)),
  );
  context.clock.advance(SECOND_MS);
  await importRecords(
    context,
    id,
    [1, 3, 5, 7, 9].map((n) => event(n)),
  );
  context.clock.advance(SECOND_MS);
  const $set = { email: 'ada@example.com', secret: 'x' };
  await importRecords(context, id, [
    event(10, { distinct_id: 'cleo', event: '$identify', properties: { $anon_distinct_id: 'bob', $set } }),
  ]);
});

interface Listed {
  readonly next: string | null;
  readonly results: { readonly id: string; readonly [name: string]: unknown }[];
}

async function list(query: Readonly<Record<string, string>> = {}): Promise<Listed> {
  const target = `/api/projects/${service.project.id}/events/?${new URLSearchParams(query).toString()}`;
  const { status, body } = await service.call('GET', target);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body as unknown as Listed;
}

const numbersOf = ({ results }: Listed): number[] => results.map(({ id }) => Number(id.slice(-12)));

test('events come the newest first, by when they happened, whichever file they are in', async () => {
  expect(numbersOf(await list())).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
});

test('an event has what was sent, and what is known of its person now', async () => {
  const { results } = await list({ event: 'left', before: timeOf(9) });
  expect(results[0]).toEqual({
    id: uuidOf(7),
    distinct_id: 'bob',
    properties: { n: 7, plan: 'free', 'odd/"~key': 7 },
    event: 'left',
    timestamp: timeOf(7).replace('.000', '.000000'),
    person: { is_identified: true, distinct_ids: ['bob'], properties: { email: 'ada@example.com' } },
    elements_chain: '',
  });
  expect((await list({ distinct_id: 'ada' })).results[0]).toMatchObject({ person: null });
});

test('pages follow one another without a gap, whatever their size', async () => {
  for (const limit of ['1', '3', '11']) {
    const found: number[] = [];
    for (let next: string | null = `?limit=${limit}`; next !== null; ) {
      const { search } = new URL(next, service.address);
      const body = await list(Object.fromEntries(new URLSearchParams(search)));
      found.push(...numbersOf(body));
      next = body.next;
    }
    expect(found).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  }
});

test('who pages by offset reads each event once', async () => {
  const found: number[] = [];
  for (let page = [0], offset = 0; page.length > 0; offset += page.length) {
    page = numbersOf(await list({ limit: '4', offset: String(offset) }));
    found.push(...page);
  }
  expect(found).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  const skipped = await list({ limit: '2', offset: '3', event: 'paid' });
  expect(numbersOf(skipped)).toEqual([2, 0]);
  // Its link goes on behind it, without skipping again.
  const first = await list({ limit: '3', offset: '2' });
  expect(numbersOf(first)).toEqual([8, 7, 6]);
  const next = Object.fromEntries(new URL(String(first.next), service.address).searchParams);
  expect(next).not.toHaveProperty('offset');
  expect(numbersOf(await list(next))).toEqual([5, 4, 3]);
});

test('events of one instant are on one page each', async () => {
  const alike = [0, 1, 2].map((n) => event(20, { distinct_id: `d${n}`, event: 'alike' }));
  const { id } = service.project;
  context.clock.advance(SECOND_MS);
  await importRecords(
    context,
    id,
    alike.map((one, n) => ({ ...one, uuid: uuidOf(30 + n) })),
  );
  const first = await list({ event: 'alike', limit: '2' });
  const second = await list({ event: 'alike', cursor: new URL(String(first.next)).searchParams.get('cursor') ?? '' });
  expect([...numbersOf(first), ...numbersOf(second)]).toEqual([32, 31, 30]);
});

test.each([
  [{ event: 'paid' }, [8, 6, 4, 2, 0]],
  [{ distinct_id: 'ada' }, [9, 6, 3, 0]],
  [{ after: timeOf(3), before: timeOf(6) }, [5, 4]],
  [{ event: 'paid', properties: '[{"key":"plan","value":["pro","gold"]}]' }, [4, 2, 0]],
  [{ event: 'paid', properties: '[{"key":"plan","value":"pro","operator":"is_not"}]' }, [8, 6]],
  [{ event: 'paid', properties: '[{"key":"plan","value":"RE","operator":"icontains"}]' }, [8, 6]],
  [{ event: 'paid', properties: '[{"key":"n","value":4}]' }, [4]],
  [{ properties: '[{"key":"odd/\\"~key","value":6}]' }, [6]],
  [{ properties: '[{"key":"n","operator":"is_not_set"}]' }, [10]],
  [{ event: 'never' }, []],
  [{ event: "' OR true --" }, []],
])('a filter lets through what fits: %j', async (query, expected) => {
  expect(numbersOf(await list(query))).toEqual(expected);
});

test("a person's events are those of all their distinct_ids", async () => {
  const { body } = await service.call('GET', `/api/projects/${service.project.id}/persons/?distinct_id=bob`);
  const [person] = (body as unknown as Listed).results;
  expect(person).toMatchObject({ distinct_ids: ['bob', 'cleo'], name: 'ada@example.com' });
  expect(numbersOf(await list({ person_id: String(person?.id) }))).toEqual([10, 8, 7, 5, 4, 2, 1]);
});

test.each([
  ['properties', 'x', 'JSON parse error - Expecting value: line 1 column 1 (char 0)'],
  ['properties', '{}', 'Expected JSON of a list of at most 20 filters: [{"key": "plan", "value": "pro"}].'],
  [
    'properties',
    '[{"key":"a","value":"b","operator":"regex"}]',
    "The operator 'regex' is not supported here. These are: 'exact', 'is_not', 'icontains', 'not_icontains', " +
      "'is_set', 'is_not_set'.",
  ],
  [
    'properties',
    '[{"key":"a","value":"b","type":"cohort"}]',
    "A filter of type 'cohort' is not supported here; 'event' is.",
  ],
  ['cursor', 'WyJ4Il0', 'Invalid cursor.'],
])('a %s that cannot be read is refused by name: %s', async (attr, value, detail) => {
  const query = new URLSearchParams({ [attr]: value }).toString();
  const { status, body } = await service.call('GET', `/api/projects/${service.project.id}/events/?${query}`);
  expect({ status, body }).toEqual({
    status: 400,
    body: { type: 'validation_error', code: 'invalid_input', detail, attr },
  });
});

test('a page of the newest reads the newest files only', async () => {
  const { id } = service.project;
  const many = Array.from({ length: 50_000 }, (_, n) => ({
    event: 'many',
    distinct_id: 'd',
    timestamp: new Date(START - DAY_MS + n).toISOString(),
    properties: { n },
  }));
  context.clock.advance(SECOND_MS);
  await importRecords(context, id, many);
  read.length = 0;
  expect((await list({ limit: '2' })).results).toHaveLength(2);
  // The newest file of events, and all of persons.
  expect(read).toEqual([1, 1]);
});

describe('a page of over a thousand events', () => {
  test('is whole, so that who stops at a page that is not has all', async () => {
    const sizes: number[] = [];
    for (let last = 10_000, offset = 0; last === 10_000; offset += last) {
      last = (await list({ event: 'many', limit: '10000', offset: String(offset), after: timeOf(0) })).results.length;
      sizes.push(last);
    }
    expect(sizes).toEqual([10_000, 10_000, 10_000, 10_000, 10_000, 0]);
  });

  test.each([
    [{ limit: '10001' }, 'limit', 'A page has at most 10000 results.'],
    [
      { offset: '100001' },
      'offset',
      'At most 100000 results can be skipped. Follow `next`, or ask for less at a time, as by time.',
    ],
  ])('and no larger one is promised: %j', async (query, attr, detail) => {
    const target = `/api/projects/${service.project.id}/events/?${new URLSearchParams(query).toString()}`;
    const { status, body } = await service.call('GET', target);
    expect({ status, body }).toEqual({
      status: 400,
      body: { type: 'validation_error', code: 'invalid_input', detail, attr },
    });
  });

  test('is refused when it is too large: who pages by offset would take what fits for the last', async () => {
    const { id } = service.project;
    const large = Array.from({ length: 60 }, (_, n) => ({
      event: 'large',
      distinct_id: 'd',
      timestamp: new Date(START - DAY_MS + n).toISOString(),
      properties: { text: 'x'.repeat(100_000) },
    }));
    context.clock.advance(SECOND_MS);
    await importRecords(context, id, large);
    for (const query of [{ limit: '1001' }, { limit: '50', offset: '1' }]) {
      const target = `/api/projects/${id}/events/?${new URLSearchParams({ event: 'large', ...query }).toString()}`;
      const { status, body } = await service.call('GET', target);
      expect({ status, body }).toMatchObject({
        status: 400,
        body: {
          attr: 'limit',
          detail: `A page of ${query.limit} would be too large: 39 fit. Ask for fewer at a time.`,
        },
      });
    }
    // Who follows `next` takes what fits.
    const { results, next } = await list({ event: 'large', limit: '50' });
    expect(results).toHaveLength(39);
    const link = Object.fromEntries(new URL(String(next), service.address).searchParams);
    expect((await list(link)).results).toHaveLength(21);
    expect((await list({ event: 'large', limit: '20', offset: '39' })).results).toHaveLength(20);
  });
});

test('pages of events of nearly 1 MB each follow one another, whatever their size, in the memory that one machine has for it', async () => {
  const lake = folderFiles(temporaryFolder());
  const reader = duckdbReader({ lake, memoryLimit: '250MB' });
  onEnd(() => reader.close());
  const world = testContext({ lake, reader });
  const large = Array.from({ length: 105 }, (_, n) => ({
    ...event(n),
    properties: { text: 'abc'.charAt(n % 3).repeat(950_000) },
  }));
  const own = await testService(world);
  await importRecords(world, own.project.id, large);
  const page = (query: Readonly<Record<string, string>>) =>
    own.call('GET', `/api/projects/${own.project.id}/events/?${new URLSearchParams(query).toString()}`);
  for (const limit of ['10', '100']) {
    const found: number[] = [];
    for (let query: Readonly<Record<string, string>> = { limit }; found.length < 12; ) {
      const { status, body } = await page(query);
      expect(status).toBe(200);
      const { results, next } = body as unknown as Listed;
      found.push(...numbersOf({ results, next }));
      query = Object.fromEntries(new URL(String(next)).searchParams);
    }
    expect(found).toEqual([104, 103, 102, 101, 100, 99, 98, 97, 96, 95, 94, 93]);
  }
  const detail = 'A page of 10000 would be too large: 4 fit. Ask for fewer at a time.';
  expect(await page({ limit: '10000' })).toMatchObject({ status: 400, body: { attr: 'limit', detail } });
});

test('a place without the reader says that it is not offered', async () => {
  const other = await testService({ ...testContext(), reader: null });
  for (const path of ['events', 'persons']) {
    const { status, body } = await other.call('GET', `/api/projects/${other.project.id}/${path}/`);
    expect({ status, body }).toEqual({
      status: 400,
      body: {
        type: 'validation_error',
        code: 'invalid_input',
        detail: 'Reading events, persons and their names is not offered here. Export them instead.',
        attr: null,
      },
    });
  }
});
