import * as fc from 'fast-check';
import { personChangeOf, readPersonChange } from '../../../../lib/lake/persons/change.ts';
import { parseExact } from '../../../../lib/lake/sources/exact-json.ts';

const changeOf = (event: string, properties: object = {}, personId: string | null = null): unknown => {
  const text = personChangeOf(event, parseExact(JSON.stringify(properties)) as Record<string, unknown>, personId);
  return text === null ? null : JSON.parse(text);
};

test.each([
  ['a page view', '$pageview', {}],
  ['an event with an empty $set', 'paid', { $set: {}, $set_once: {}, $unset: [] }],
  ['an event whose $set is no object', 'paid', { $set: 'x', $set_once: [1], $unset: 5 }],
  ['an event that wants no profile', '$identify', { $set: { a: 1 }, $process_person_profile: false }],
  ['an event with a name of every object', 'constructor', { toString: 1 }],
])('%s changes nobody', (_, event, properties) => {
  expect(changeOf(event, properties)).toBeNull();
});

test.each([
  ['$set', 'paid', { $set: { plan: 'team' } }, { set: { plan: 'team' } }],
  ['$set_once', 'paid', { $set_once: { first: 1 } }, { setOnce: { first: 1 } }],
  ['$unset as a list', 'paid', { $unset: ['a', 'b', 5] }, { unset: ['a', 'b'] }],
  ['$unset as an object', 'paid', { $unset: { a: 1 } }, { unset: ['a'] }],
  ['$identify of nobody else', '$identify', {}, { set: {} }],
  ['$identify of a visitor', '$identify', { $anon_distinct_id: 'v' }, { merge: 'v' }],
  ['$create_alias', '$create_alias', { alias: 7 }, { merge: '7' }],
  ['$merge_dangerously', '$merge_dangerously', { alias: 'b' }, { merge: 'b', force: true }],
  ['$delete_person', '$delete_person', {}, { delete: true }],
])('%s is taken as it is meant', (_, event, properties, change) => {
  expect(changeOf(event, properties)).toEqual(change);
});

test('the person that the event names goes with the change', () => {
  expect(changeOf('paid', { $set: { a: 1 } }, 'p-1')).toEqual({ set: { a: 1 }, person: 'p-1' });
  expect(changeOf('paid', {}, 'p-1')).toBeNull();
});

test('any event with any properties is read back as it was written, in one line', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('$identify', '$create_alias', '$delete_person', 'paid', '__proto__'),
      fc.record({ $set: fc.jsonValue(), $set_once: fc.jsonValue(), $unset: fc.jsonValue(), alias: fc.jsonValue() }),
      (event, properties) => {
        const text = personChangeOf(event, properties, null);
        if (text === null) return;
        expect(text).not.toContain('\n');
        expect(JSON.stringify(readPersonChange(text))).toBe(text);
      },
    ),
  );
});
