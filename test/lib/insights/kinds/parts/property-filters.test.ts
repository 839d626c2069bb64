import * as fc from 'fast-check';
import { constant } from '../../../../../lib/hogql/write.ts';
import { failureOfIssues } from '../../../../../lib/http/fields.ts';
import { parseJson } from '../../../../../lib/http/json.ts';
import type { World } from '../../../../../lib/insights/kinds/kind.ts';
import { propertyCondition, propertyFilters } from '../../../../../lib/insights/kinds/parts/property-filters.ts';
import { QUERY_KINDS } from '../../../../../lib/insights/kinds/schemas.ts';
import { insightWorld, type WorldEvent } from '../../../../support/insight-world.ts';
import { propertyRuns } from '../../../../support/property-runs.ts';

/** A world that shows what expressions it was asked to read, and has no rows. */
const worldOf = (testAccountFilters: readonly unknown[] = []): World => ({
  now: Date.parse('2026-01-07T12:00:00Z'),
  timezone: 'UTC',
  weekStartDay: 0,
  testAccountFilters,
  expression: async (hogql) => constant(`expression ${hogql}`),
  check: () => Promise.resolve(),
  tables: () => Promise.resolve([]),
  rows: async () => Promise.reject(new Error('filters need no rows')),
});

describe('what is sent as properties', () => {
  const refusals: readonly (readonly [name: string, sent: unknown, attr: string | null, detail: RegExp])[] = [
    ...['cohort', 'group', 'element', 'feature', 'data_warehouse', 'behavioral'].map(
      (type) =>
        [`filters of type ${type}`, [{ type, key: 'id', value: 1 }], '0__type', new RegExp(`type '${type}'`)] as const,
    ),
    [
      'an operator that is none',
      [{ key: 'a', value: 1, operator: 'near' }],
      '0__operator',
      /"near" is not a valid choice/,
    ],
    ['a text', 'browser', null, /Expected a list of filters/],
    ['a list of texts', ['browser'], '0', /A filter is an object/],
    ['a group that does not say how it joins', { values: [] }, 'type', /Choose one of: AND, OR/],
    ['a group that joins by another word', { type: 'XOR', values: [] }, 'type', /"XOR" is not a valid choice/],
    ['a value that is an object', [{ key: 'a', value: {} }], '0__value', /a text, a number or a boolean/],
    [
      'a number above all',
      parseJson('[{ "key": "a", "value": [1, -1e400] }]'),
      '0__value',
      /number -1e400 is too large/,
    ],
    ['a range of one number', [{ key: 'a', value: [1], operator: 'between' }], '0__value', /two numbers/],
    [
      'a range that goes down',
      [{ key: 'a', value: [2, 1], operator: 'not_between' }],
      '0__value',
      /the smaller one first/,
    ],
    ['a day that is none', [{ key: 'a', value: '2026-13-01', operator: 'is_date_after' }], '0__value', /takes a date/],
    ...['2026-02-30', '2025-02-29T10:00:00Z', '2026-04-31 10:00', '2026-04-30T24:00:00Z'].flatMap((value) =>
      ['is_date_before', 'is_date_after', 'is_date_exact'].map(
        (operator) => [`${operator} of ${value}`, [{ key: 'a', value, operator }], '0__value', /takes a date/] as const,
      ),
    ),
    [
      'a column that events lack',
      [{ type: 'event_metadata', key: 'team', value: 1 }],
      '0__key',
      /Events have no 'team'/,
    ],
    [
      'something wrong in a group of a group',
      {
        type: 'AND',
        values: [
          {
            type: 'OR',
            values: [
              { key: 'a', value: 1 },
              { key: 'a', type: 'cohort' },
            ],
          },
        ],
      },
      'values__0__values__1__type',
      /cohort/,
    ],
    ['too many filters', Array.from({ length: 101 }, () => ({ key: 'a', value: 1 })), '100', /more than 100 filters/],
    ['too many values', [{ key: 'a', value: Array(1001).fill('b') }], '0__value', /at most 1000 values/],
    [
      'too many expressions',
      Array.from({ length: 21 }, () => ({ key: 'true', type: 'hogql' })),
      '20',
      /more than 20 filters of type 'hogql'/,
    ],
  ];
  it.each(refusals)('is refused where it holds %s', (_name, sent, attr, detail) => {
    const { error } = propertyFilters().safeParse(sent);
    expect(error && failureOfIssues(error).body).toMatchObject({
      code: 'invalid_input',
      attr,
      detail: expect.stringMatching(detail) as unknown,
    });
  });

  it.each([
    ['an empty list', []],
    ['an empty object', {}],
    ['an empty group', { type: 'OR', values: [] }],
    ['a filter without a key', [{}]],
    ['a filter without a value', [{ type: 'event', key: 'a' }]],
    ['an alternative to a filter without a value', { type: 'OR', values: [{ key: 'a' }, { key: 'a', value: 1 }] }],
    ['a filter that says that it is empty', [{ type: 'empty' }]],
    ['an alternative to an empty filter', { type: 'OR', values: [{ type: 'empty' }, { key: 'a', value: 1 }] }],
    ['null', null],
    ['nothing', undefined],
    ['a filter with an empty list of values', [{ key: 'a', value: [], operator: 'is_not' }]],
  ])('lets every event pass where it is %s', async (_name, sent) => {
    const properties = propertyFilters().parse(sent);
    expect(await propertyCondition({ properties }, worldOf())).toEqual(constant(true));
  });

  it('is read wherever the document has it, and the document has all of it that is read and matters', () => {
    const { schema } = QUERY_KINDS.QueryFilters;
    const filter = fc.record({
      type: fc.constantFrom(
        'event',
        'person',
        'session',
        'event_metadata',
        'hogql',
        'empty',
        null,
        undefined,
        'cohort',
        7,
      ),
      key: fc.constantFrom('a', 'event', '$session_id', '', null, undefined, 7),
      operator: fc.constantFrom('exact', 'not_in', 'regex', 'lte', 'is_set', 'is_not_set', null, undefined, 'near', 7),
      value: fc.constantFrom('a', 1.5, true, ['a', 1, false], [], null, undefined, {}, [{}], [null]),
    });
    const sent = fc.oneof(
      fc.array(filter, { maxLength: 2 }),
      fc.record({
        type: fc.constantFrom('AND', 'OR', 'XOR'),
        values: fc.array(fc.oneof(filter, fc.record({ type: fc.constant('OR'), values: fc.array(filter) }))),
      }),
      fc.constantFrom(null, undefined, 'a', 7, [['a']], { type: 'AND' }),
    );
    fc.assert(
      fc.property(sent, (properties) => {
        const isRead = propertyFilters().safeParse(properties).success;
        const isTold = schema.optional().safeParse(properties).success;
        expect(isRead || !isTold).toBe(true);
      }),
      { numRuns: propertyRuns(2000) },
    );
    fc.assert(
      fc.property(filter, (one) => {
        const read = propertyFilters().safeParse([one]);
        // What no operator looks at may be anything.
        const isIdle = one.type === 'hogql' || one.operator === 'is_set' || one.operator === 'is_not_set';
        const matters = read.success && read.data?.of.length === 1 && !isIdle;
        expect(!matters || schema.safeParse([one]).success).toBe(true);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('is joined with fixed properties and the filters of test accounts, where the query wants these', async () => {
    const hogql = (key: string) => propertyFilters().parse([{ type: 'hogql', key }]);
    const filtered = { properties: hogql('a'), fixedProperties: hogql('b') };
    const world = worldOf([{ type: 'hogql', key: 'c' }]);
    const conditionsOf = (keys: readonly string[]) => ({
      node: 'And',
      exprs: keys.map((key) => constant(`expression ${key}`)),
    });
    expect(await propertyCondition(filtered, world)).toEqual(conditionsOf(['a', 'b']));
    expect(await propertyCondition({ ...filtered, filterTestAccounts: true }, world)).toEqual(
      conditionsOf(['a', 'b', 'c']),
    );
  });

  it('cannot be asked for where the filters of test accounts are not supported', async () => {
    const asked = propertyCondition({ filterTestAccounts: true }, worldOf([{ type: 'cohort', key: 'id', value: 1 }]));
    await expect(asked).rejects.toMatchObject({ status: 400, body: { attr: 'filterTestAccounts' } });
  });
});

const NOW = Date.parse('2026-01-07T12:00:00Z');

/** Returns which of the events pass each of the filters. */
async function passing(
  filters: readonly unknown[],
  events: readonly WorldEvent[],
  timezone = 'UTC',
): Promise<readonly (readonly number[])[]> {
  const world = await insightWorld(
    {
      events: events.map((event, n) => ({ ...event, uuid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}` })),
    },
    { now: NOW, timezone },
  );
  const found: number[][] = [];
  for (const sent of filters) {
    const condition = await propertyCondition({ properties: propertyFilters().parse(sent) }, world);
    const { rows } = await world.rows({
      hogql: 'SELECT uuid FROM events WHERE {condition} ORDER BY uuid',
      values: { condition },
    });
    found.push(rows.map(([uuid]) => Number(String(uuid).slice(-12))));
  }
  return found;
}

const eventsOf = (...all: readonly Readonly<Record<string, unknown>>[]): WorldEvent[] =>
  all.map((properties) => ({ event: 'e', distinct_id: 'd', timestamp: NOW, properties }));

describe('a condition of filters', () => {
  it('takes wildcards of a single text, and none of several', async () => {
    const events = eventsOf({ k: '100%' }, { k: '100 percent' }, { k: 'a_b' }, { k: 'AXB' }, {});
    const contains = (value: unknown, operator = 'icontains') => [{ key: 'k', operator, value }];
    expect(
      await passing(
        [
          contains('0%'),
          contains('a_B'),
          contains(['a_b', '0%']),
          contains('a', 'not_icontains'),
          contains(['a', 'z'], 'not_icontains'),
          contains('a_B', 'icontains_multi'),
          contains(['0%'], 'icontains_multi'),
          contains('a', 'not_icontains_multi'),
        ],
        events,
      ),
    ).toEqual([[0, 1], [2, 3], [0, 2], [0, 1, 4], [0, 1], [2], [0], [0, 1]]);
  });

  it('compares with whole numbers that have no place in 64 bits', async () => {
    const events = eventsOf({ k: 2 ** 63 - 1024 }, { k: 2 ** 63 }, { k: -(2 ** 63) }, { k: 2e20 }, { k: 'much' });
    const than = (operator: string, value: unknown) => [{ key: 'k', operator, value }];
    expect(
      await passing(
        [than('gte', 2 ** 63), than('lt', '10000000000000000000'), than('exact', [-(2 ** 63), 2e20])],
        events,
      ),
    ).toEqual([
      [1, 3],
      [0, 1, 2],
      [2, 3],
    ]);
  });

  it('compares dates with the clock of the project, and those that are counted back from now', async () => {
    const events = eventsOf(
      { at: '2026-01-01T04:00:00Z' },
      { at: '2026-01-01T06:00:00Z' },
      { at: '2026-01-06T11:59:00Z' },
      { at: '2026-01-06T12:01:00Z' },
      { at: 'soon' },
      {},
    );
    const when = (operator: string, value: string) => [{ key: 'at', operator, value }];
    expect(
      await passing(
        [
          when('is_date_before', '2026-01-01'),
          when('is_date_after', '-1d'),
          when('is_date_after', '0000-01-01'),
          when('is_date_exact', '2026-01-01T06:00:00+00:00'),
          when('is_date_exact', '2026-01-01 01:00:00'),
          when('is_date_exact', '2026-01-01T06:00Z'),
        ],
        events,
        'America/New_York',
      ),
    ).toEqual([[0], [3], [0, 1, 2, 3], [1], [1], [1]]);
  });

  it('reads persons, columns of the event, sessions and expressions', async () => {
    const events: WorldEvent[] = [
      {
        event: 'a',
        distinct_id: 'x',
        timestamp: NOW - 60_000,
        properties: { $session_id: 's1' },
        person_properties: { plan: 'pro' },
      },
      { event: 'b', distinct_id: 'x', timestamp: NOW, properties: { $session_id: 's1' } },
      {
        event: 'b',
        distinct_id: 'y',
        timestamp: NOW,
        properties: { $session_id: 's2', $elements_chain: 'no' },
        elements_chain: 'a:href',
      },
      { event: 'c', distinct_id: 'y', timestamp: NOW },
    ];
    const one = (type: string, key: string, value: unknown, operator = 'exact') => [{ type, key, value, operator }];
    expect(
      await passing(
        [
          one('person', 'plan', 'pro'),
          one('person', 'plan', 'pro', 'is_not'),
          one('event_metadata', 'event', ['b', 'c']),
          one('event_metadata', 'timestamp', '2026-01-07T12:00:00Z', 'is_date_before'),
          one('session', '$session_duration', 30, 'gt'),
          one('session', '$session_duration', 30, 'is_not'),
          one('event', '$elements_chain', 'href', 'icontains'),
          one('hogql', "event = 'c' or distinct_id = 'x'", null),
        ],
        events,
      ),
    ).toEqual([[0], [1, 2, 3], [1, 2, 3], [0], [0, 1], [0, 1, 2, 3], [2], [0, 1, 3]]);
  });

  it('is a 400 where an expression cannot be read', async () => {
    await expect(passing([[{ type: 'hogql', key: 'nonsense(' }]], eventsOf({}))).rejects.toMatchObject({ status: 400 });
  });

  interface Sent {
    readonly operator: string;
    readonly value?: string | number | boolean | readonly (string | number | boolean)[];
  }

  /** Whether a property passes, as the facts tell it. */
  function passes(property: unknown, { operator, value }: Sent): boolean {
    const isMissing = property === undefined || property === null;
    const text = typeof property === 'string' ? property : JSON.stringify(property ?? null);
    const values = [value ?? []].flat() as readonly (string | number | boolean)[];
    if (operator === 'is_set' || operator === 'is_not_set') return isMissing === (operator === 'is_not_set');
    if (values.length === 0) return true;
    const number = Number(text.trim() === '' ? Number.NaN : text);
    const isOne = values.some((one) => (typeof one === 'number' ? number === one : text === String(one)));
    const lower = text.toLowerCase();
    const holds = values.some((one) => lower.includes(String(one).toLowerCase()));
    const matches = values.some((one) => new RegExp(String(one), 's').test(text));
    const compare = (is: (a: string | number, b: string | number) => boolean): boolean =>
      !isMissing && values.some((one) => (Number.isNaN(Number(one)) ? is(text, String(one)) : is(number, Number(one))));
    const [low, high] = values.map(Number) as [number, number];
    switch (operator) {
      case 'exact':
      case 'in':
        return !isMissing && isOne;
      case 'is_not':
      case 'not_in':
        return isMissing || !isOne;
      case 'icontains':
      case 'icontains_multi':
        return !isMissing && holds;
      case 'not_icontains':
        return isMissing ? values.length === 1 : !holds;
      case 'not_icontains_multi':
        return !isMissing && !holds;
      case 'regex':
        return !isMissing && matches;
      case 'not_regex':
        return isMissing || !matches;
      case 'gt':
        return compare((a, b) => a > b);
      case 'lt':
        return compare((a, b) => a < b);
      case 'gte':
      case 'min':
        return compare((a, b) => a >= b);
      case 'lte':
      case 'max':
        return compare((a, b) => a <= b);
      case 'between':
        return !isMissing && number >= low && number <= high;
      case 'not_between':
        return !isMissing && (number < low || number > high);
      default:
        throw new Error(operator);
    }
  }

  it('lets pass what a naive predicate does, of every operator', async () => {
    const property = fc.constantFrom(
      '',
      'a',
      'A b',
      'ab',
      '1',
      '10',
      '2.5',
      'true',
      1,
      10,
      2.5,
      -3,
      true,
      false,
      null,
      undefined,
    );
    const scalar = fc.constantFrom('a', 'b', 'A', '1', '10', 'true', 1, 2.5, -3, true);
    const value = fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 3 }));
    const plain = fc.record({
      operator: fc.constantFrom(
        'exact',
        'is_not',
        'in',
        'not_in',
        'icontains',
        'not_icontains',
        'icontains_multi',
        'not_icontains_multi',
        'regex',
        'not_regex',
        'is_set',
        'is_not_set',
      ),
      value,
    });
    // Texts that are compared as texts are letters: ClickHouse compares bytes.
    const sizes = fc.record({
      operator: fc.constantFrom('gt', 'gte', 'lt', 'lte', 'min', 'max'),
      value: fc.constantFrom(1, 2.5, '10', -3, [1, 10]),
    });
    const ranges = fc.record({
      operator: fc.constantFrom('between', 'not_between'),
      value: fc.constantFrom([1, 3], ['2', 10], [-5, 1]),
    });
    const filter = fc.oneof(plain, sizes, ranges).map((one) => ({ key: 'k', type: 'event', ...one }));
    const group = fc.record({
      type: fc.constantFrom('AND' as const, 'OR' as const),
      values: fc.array(filter, { minLength: 1, maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(property, { minLength: 16, maxLength: 24 }),
        fc.array(group, { minLength: 12, maxLength: 12 }),
        async (properties, groups) => {
          const events = eventsOf(...properties.map((k) => (k === undefined ? {} : { k })));
          const found = await passing(groups, events);
          groups.forEach(({ type, values }, n) => {
            const expected = properties.flatMap((one, at) =>
              values[type === 'AND' ? 'every' : 'some']((sent) => passes(one, sent)) ? [at] : [],
            );
            expect([JSON.stringify(values), found[n]]).toEqual([JSON.stringify(values), expected]);
          });
        },
      ),
      { numRuns: propertyRuns(10) },
    );
  });
});
