import { constant } from '../../../../../lib/hogql/write.ts';
import { failureOf } from '../../../../../lib/http/fields.ts';
import type { World } from '../../../../../lib/insights/kinds/kind.ts';
import { propertyCondition, propertyFilters } from '../../../../../lib/insights/kinds/parts/property-filters.ts';

/** A world that shows what expressions it was asked to read, and has no rows. */
const worldOf = (testAccountFilters: readonly unknown[] = []): World => ({
  now: Date.parse('2026-01-07T12:00:00Z'),
  timezone: 'UTC',
  weekStartDay: 0,
  testAccountFilters,
  expression: async (hogql) => constant(`expression ${hogql}`),
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
    ['a group that joins by another word', { type: 'XOR', values: [] }, 'type', /"XOR" is not a valid choice/],
    ['a value that is an object', [{ key: 'a', value: {} }], '0__value', /a text, a number or a boolean/],
    ['a range of one number', [{ key: 'a', value: [1], operator: 'between' }], '0__value', /two numbers/],
    [
      'a range that goes down',
      [{ key: 'a', value: [2, 1], operator: 'not_between' }],
      '0__value',
      /the smaller one first/,
    ],
    ['a day that is none', [{ key: 'a', value: '2026-13-01', operator: 'is_date_after' }], '0__value', /takes a date/],
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
    expect(error && failureOf(error).body).toMatchObject({
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
    ['null', null],
    ['nothing', undefined],
    ['a filter with an empty list of values', [{ key: 'a', value: [], operator: 'is_not' }]],
  ])('lets every event pass where it is %s', async (_name, sent) => {
    const properties = propertyFilters().parse(sent);
    expect(await propertyCondition({ properties }, worldOf())).toEqual(constant(true));
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
