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
  ['what an event tells of its sender alone', '$pageview', { $browser: 'Firefox', utm_source: 'mail' }],
  ['that beside an empty $set', 'paid', { $set: {}, $browser: 'Firefox' }],
  ['an exception', '$exception', { $set: { a: 1 }, $set_once: { b: 1 }, $unset: ['c'] }],
  ['a heatmap', '$$heatmap', { $set: { a: 1 }, $browser: 'Firefox' }],
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

const SENDER = {
  $browser: 'Firefox',
  $current_url: 'https://a.example/',
  utm_source: 'mail',
  $app_name: 'App',
  price: 5,
};
const { price: _, ...OF_SENDER } = SENDER;

test.each([
  ['$identify', '$identify', {}, { set: {} }],
  ['$identify of a visitor', '$identify', { $anon_distinct_id: 'v' }, { merge: 'v' }],
  ['$create_alias', '$create_alias', { alias: 'b' }, { merge: 'b' }],
  ['$merge_dangerously', '$merge_dangerously', { alias: 'b' }, { merge: 'b', force: true }],
])('with %s goes what the event tells of its sender', (_, event, said, change) => {
  expect(changeOf(event, { ...SENDER, ...said })).toEqual({ ...change, sender: { set: OF_SENDER } });
});

test('with any other change goes that too, but what differs from page to page only where something else changes', () => {
  const { $browser, $current_url, ...lasting } = OF_SENDER;
  expect(changeOf('paid', { ...SENDER, $set: { plan: 'team' } })).toEqual({
    set: { plan: 'team' },
    sender: { set: lasting, along: { $browser, $current_url } },
  });
  expect(changeOf('paid', { ...SENDER, $unset: ['plan'] })).toEqual({
    unset: ['plan'],
    sender: { set: lasting, along: { $browser, $current_url } },
  });
  expect(changeOf('$set', { ...SENDER, $set: { plan: 'team' } })).toEqual({
    set: { plan: 'team' },
    sender: { set: OF_SENDER },
  });
  expect(changeOf('$delete_person', SENDER)).toEqual({ delete: true });
});

test('a campaign that is none any more goes with the change, too', () => {
  expect(changeOf('$identify', { utm_source: null, gclid: null })).toEqual({
    set: {},
    sender: { set: { utm_source: null, gclid: null } },
  });
});

test('$os_name stands for $os, and the system of a server is no person’s', () => {
  const linux = { set: {}, sender: { set: { $os: 'Linux' } } };
  expect(changeOf('$identify', { $os_name: 'Linux' })).toEqual(linux);
  expect(changeOf('$identify', { $os_name: 'Debian', $os: 'Linux' })).toEqual(linux);
  expect(changeOf('$identify', { $os: 'Linux', $os_name: 'Linux', $os_version: '6', $is_server: true })).toEqual({
    set: {},
  });
});

test('what no sender is told by is passed over: long text and numbers, and what is no text, number or boolean', () => {
  const long = {
    $current_url: 'x'.repeat(2_049),
    utm_source: ['a'],
    $browser: { a: 1 },
    $referrer: '🦔'.repeat(1_025),
    ...(parseExact(`{"$screen_width":${'1'.repeat(2_049)}}`) as object),
  };
  expect(changeOf('$identify', long)).toEqual({ set: {} });
  const kept = { $current_url: 'x'.repeat(2_048), $screen_width: 1280, gclid: true, utm_term: null };
  expect(changeOf('$identify', kept)).toEqual({ set: {}, sender: { set: kept } });
});

test('the person that the event names goes with the change', () => {
  expect(changeOf('paid', { $set: { a: 1 } }, 'p-1')).toEqual({ set: { a: 1 }, person: 'p-1' });
  expect(changeOf('paid', {}, 'p-1')).toBeNull();
});

test('any event with any properties is read back as it was written, in one line', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('$identify', '$create_alias', '$delete_person', 'paid', '__proto__'),
      fc.record({
        $set: fc.jsonValue(),
        $set_once: fc.jsonValue(),
        $unset: fc.jsonValue(),
        alias: fc.jsonValue(),
        $browser: fc.jsonValue(),
        utm_source: fc.jsonValue(),
      }),
      (event, properties) => {
        const text = personChangeOf(event, properties, null);
        if (text === null) return;
        expect(text).not.toContain('\n');
        expect(JSON.stringify(readPersonChange(text))).toBe(text);
      },
    ),
  );
});
