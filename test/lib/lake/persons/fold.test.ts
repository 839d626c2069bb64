import * as fc from 'fast-check';
import type { PersonChange } from '../../../../lib/lake/persons/change.ts';
import { PersonFold, type PersonRow } from '../../../../lib/lake/persons/fold.ts';
import { compareText } from '../../../../lib/ports/table/semantics.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const PROJECT = 7;
const MINUTE_US = 60_000_000;
/** Arrival of what comes late: after everything. */
const AT = 1000 * MINUTE_US;

interface Step {
  readonly who: string;
  /** Arrival, in minutes. */
  readonly at?: number;
  readonly change: PersonChange;
}

/** The rows that changes give rise to, from the states that there are. */
function fold(steps: readonly Step[], states: readonly PersonRow[] = [], at = AT) {
  const rows: PersonRow[] = [];
  let refused = 0;
  const folding = new PersonFold(
    PROJECT,
    at,
    (row) => rows.push(row),
    () => {
      refused += 1;
    },
  );
  for (const state of states) folding.know(state);
  for (const [n, { who, at: minute = n * 10, change }] of steps.entries())
    folding.apply(change, { distinctId: who, timestamp: minute * MINUTE_US, arrival: minute * MINUTE_US });
  folding.end();
  return { rows, refused, states: newest([...states, ...rows]) };
}

/** The state of each distinct_id, as a reader of all rows finds it. */
function newest(rows: readonly PersonRow[]): PersonRow[] {
  const found = new Map<string, PersonRow>();
  for (const row of rows) {
    const known = found.get(row.distinct_id);
    if (known === undefined || known.inserted_us <= row.inserted_us) found.set(row.distinct_id, row);
  }
  return [...found.values()];
}

const said = (rows: readonly PersonRow[]): unknown[] =>
  rows.map(({ distinct_id, inserted_us, properties, is_deleted }) => [
    distinct_id,
    inserted_us / MINUTE_US,
    is_deleted ? 'deleted' : JSON.parse(properties),
  ]);

const set = (who: string, properties: Record<string, unknown>, at?: number): Step => ({
  who,
  change: { set: properties },
  ...(at === undefined ? {} : { at }),
});

describe('properties', () => {
  test('are set, set once and unset, and each state is a row at the arrival of its change', () => {
    const { rows } = fold([
      { who: 'ada', change: { set: { plan: 'free' }, setOnce: { plan: 'x', from: 'ad' } } },
      { who: 'ada', change: { setOnce: { from: 'mail' }, set: { plan: 'team' } } },
      { who: 'ada', change: { unset: ['from', 'nothing'] } },
    ]);
    expect(said(rows)).toEqual([
      ['ada', 0, { from: 'ad', plan: 'free' }],
      ['ada', 10, { from: 'ad', plan: 'team' }],
      ['ada', 20, { plan: 'team' }],
    ]);
    expect(new Set(rows.map(({ person_id }) => person_id)).size).toBe(1);
    expect(rows.map(({ created_us }) => created_us)).toEqual([0, 0, 0]);
  });

  test('that stay as they are give no row', () => {
    const { rows, states } = fold([set('ada', { a: 1 })]);
    expect(fold([set('ada', { a: 1 }), { who: 'ada', change: { setOnce: { a: 2 } } }], states).rows).toEqual([]);
    expect(rows).toHaveLength(1);
  });

  test('go along with what else changes, and are nothing by themselves', () => {
    const { rows } = fold([
      { who: 'ada', change: { set: { plan: 'free' }, sender: { along: { $browser: 'Firefox' } } } },
      { who: 'ada', change: { set: { plan: 'free' }, sender: { along: { $browser: 'Chrome' } } } },
      {
        who: 'ada',
        change: { setOnce: { plan: 'x', from: 'ad' }, sender: { along: { $browser: 'Safari', $os: 'iOS' } } },
      },
      { who: 'ada', change: { unset: ['from', '$os'], sender: { along: { $browser: 'Opera', $os: 'iOS' } } } },
    ]);
    const $initial_browser = 'Firefox';
    const $initial_os = 'iOS';
    expect(said(rows)).toEqual([
      ['ada', 0, { plan: 'free', $browser: 'Firefox', $initial_browser }],
      ['ada', 20, { plan: 'free', $browser: 'Safari', $initial_browser, from: 'ad', $os: 'iOS', $initial_os }],
      ['ada', 30, { plan: 'free', $browser: 'Opera', $initial_browser, $initial_os }],
    ]);
  });

  test('that an event tells of its sender are below what it sets explicitly, and null is nobody’s first', () => {
    const sender = { set: { $browser: 'Firefox', utm_source: 'mail', gclid: null } };
    const { rows } = fold([
      { who: 'ada', change: { set: {}, sender: { set: { utm_source: 'ad' } } } },
      {
        who: 'ada',
        change: { set: { $browser: 'Chrome', utm_source: null }, setOnce: { $initial_browser: 'Safari' }, sender },
      },
    ]);
    expect(said(rows)).toEqual([
      ['ada', 0, { utm_source: 'ad', $initial_utm_source: 'ad' }],
      [
        'ada',
        10,
        { $browser: 'Chrome', utm_source: null, gclid: null, $initial_browser: 'Safari', $initial_utm_source: 'ad' },
      ],
    ]);
  });

  test('that an event tells of its sender cost nothing that it says: they are left where they have no room', () => {
    const sender = { set: { utm_source: 'm'.repeat(800) }, along: { $current_url: 'x'.repeat(800) } };
    const large = 'l'.repeat(523_000);
    const one = fold([set('ada', { large }), { who: 'ada', change: { set: { plan: 'pro' }, sender } }]);
    expect(said(one.states)).toEqual([['ada', 10, { large, plan: 'pro' }]]);
    const anew = fold([{ who: 'ada', change: { set: { large }, sender } }]);
    expect(said(anew.states)).toEqual([['ada', 0, { large }]]);
    const alone = fold([set('ada', { large }), { who: 'ada', change: { set: {}, sender } }]);
    expect(said(alone.states)).toEqual([['ada', 0, { large }]]);
    expect([one.refused, anew.refused, alone.refused]).toEqual([0, 0, 0]);
    // Of very many distinct_ids the rows have no room.
    const fits = 'l'.repeat(67_000);
    const many = Array.from({ length: 999 }, (_, n): Step => ({ who: 'ada', at: 0, change: { merge: `v${n}` } }));
    const known = fold([set('ada', { fits }, 0), ...many]).states;
    const shared = fold([{ who: 'ada', at: 20, change: { set: { plan: 'pro' }, sender } }], known);
    expect([shared.refused, shared.rows.length]).toEqual([0, 1_000]);
    expect(JSON.parse(shared.rows[0]?.properties ?? '')).toEqual({ fits, plan: 'pro' });
  });

  test('of changes within five minutes give one row, the last', () => {
    const { rows } = fold([set('ada', { a: 1 }, 10), set('ada', { a: 2 }, 14), set('ada', { a: 3 }, 15)]);
    expect(said(rows)).toEqual([
      ['ada', 14, { a: 2 }],
      ['ada', 15, { a: 3 }],
    ]);
  });

  test('keep numbers that no double holds, and names like __proto__', () => {
    const state = fold([set('ada', {})]).states[0] as PersonRow;
    const odd = { ...state, properties: '{"big":12345678901234567890,"__proto__":{"x":1}}' };
    expect(fold([set('ada', { constructor: 1 })], [odd]).rows[0]?.properties).toBe(
      '{"big":12345678901234567890,"__proto__":{"x":1},"constructor":1}',
    );
  });

  test('do not grow over 512 KiB: such a change is refused, and the rest goes on', () => {
    const { rows, refused } = fold([
      set('ada', { a: 1 }),
      set('ada', { b: 'x'.repeat(600_000) }),
      set('ada', { c: 3 }),
    ]);
    expect(refused).toBe(1);
    expect(said(rows)).toEqual([
      ['ada', 0, { a: 1 }],
      ['ada', 20, { a: 1, c: 3 }],
    ]);
  });
});

describe('a change that arrives', () => {
  test('before the state that is there counts as arrived now', () => {
    const { states } = fold([set('ada', { a: 1 }, 500)]);
    const late = fold([set('ada', { b: 2 }, 100), set('ada', { c: 3 }, 500), set('ada', { d: 4 }, 600)], states);
    expect(said(late.rows)).toEqual([['ada', 1000, { a: 1, b: 2, c: 3, d: 4 }]]);
    expect(late.rows[0]?.person_version).toBe(AT);
  });

  test('after it keeps its own time', () => {
    const { states } = fold([set('ada', { a: 1 }, 500)]);
    expect(said(fold([set('ada', { b: 2 }, 600)], states).rows)).toEqual([['ada', 600, { a: 1, b: 2 }]]);
  });
});

describe('a merge', () => {
  const identify = (who: string, anonymous: string, properties = {}): Step => ({
    who,
    change: { merge: anonymous, set: properties },
  });

  test('makes two distinct_ids one person; who identifies wins, and keeps the older creation', () => {
    const { states, refused } = fold([
      set('visitor', { a: 1, b: 1 }),
      set('ada', { b: 2 }),
      identify('ada', 'visitor', { c: 3 }),
    ]);
    expect(refused).toBe(0);
    const [ada, visitor] = states as [PersonRow, PersonRow];
    expect(said([ada, visitor])).toEqual([
      ['ada', 20, { a: 1, b: 2, c: 3 }],
      ['visitor', 20, { a: 1, b: 2, c: 3 }],
    ]);
    expect(visitor.person_id).toBe(ada.person_id);
    expect(ada.person_id).toBe(fold([set('ada', { b: 2 })]).rows[0]?.person_id);
    expect([visitor.created_us, visitor.distinct_ids]).toEqual([0, 2]);
    expect([visitor.person_distinct_id_version, ada.person_distinct_id_version]).toEqual([
      20 * MINUTE_US,
      10 * MINUTE_US,
    ]);
  });

  test('with somebody unknown gives them the person; of two unknown ones it makes one person', () => {
    const known = fold([set('visitor', { a: 1 }), identify('ada', 'visitor')]).states;
    expect(new Set(known.map(({ person_id }) => person_id))).toEqual(
      new Set([fold([set('visitor', { a: 1 })]).rows[0]?.person_id]),
    );
    expect(new Set(fold([identify('ada', 'visitor')]).states.map(({ person_id }) => person_id)).size).toBe(1);
  });

  test('takes over nobody who was identified, unless it is forced', () => {
    const both = [identify('ada', 'a'), identify('bob', 'b')];
    const refused = fold([...both, identify('ada', 'bob')]);
    expect(refused.refused).toBe(1);
    expect(new Set(refused.states.map(({ person_id }) => person_id)).size).toBe(2);
    const forced = fold([...both, { who: 'ada', change: { merge: 'bob', force: true } }]);
    expect(new Set(forced.states.map(({ person_id }) => person_id)).size).toBe(1);
  });

  test('identifies who is named as another one, also where that one was identified and is not taken over', () => {
    const identified = (steps: readonly Step[]): string[] =>
      fold(steps)
        .states.filter(({ is_identified }) => is_identified)
        .map(({ distinct_id }) => distinct_id)
        .toSorted(compareText);
    expect(identified([identify('ada', 'visitor')])).toEqual(['ada', 'visitor']);
    expect(identified([identify('ada', 'ada'), identify('ada', 'null'), set('ada', { a: 1 })])).toEqual([]);
    const refused = [identify('bob', 'b'), set('ada', { a: 1 }), identify('ada', 'bob')];
    expect(identified(refused)).toEqual(['ada', 'b', 'bob']);
    expect(fold([...refused, identify('eve', 'e'), identify('eve', 'ada')]).refused).toBe(2);
  });

  test.each([
    'anonymous',
    'null',
    ' Undefined ',
    '[object Object]',
    '0',
    '',
    '"undefined"',
    "'null'",
    '"Guest"',
    '$posthog_cookieless',
  ])('with %j is refused', (nobody) => {
    const { states, refused } = fold([identify('ada', nobody)]);
    expect([refused, states.map(({ distinct_id }) => distinct_id)]).toEqual([1, ['ada']]);
  });

  test('nobody is made of what all visitors without cookies are called, by whatever is told of them', () => {
    const one = '$posthog_cookieless';
    const told = [
      set(one, { a: 1 }),
      identify(one, 'ada'),
      { who: one, change: { set: {}, person: '0199aaaa-0000-7000-8000-00000000000a' } },
    ];
    expect(fold(told).rows).toEqual([]);
    // Who was one with them before is not changed by them, and can be deleted by that name.
    const before = fold([set('ada', { a: 0 })]).states.map((row) => ({ ...row, distinct_id: one }));
    expect(fold(told, before).rows).toEqual([]);
    expect(fold([{ who: one, change: { delete: true } }], before).rows).toMatchObject([{ is_deleted: true }]);
  });

  test.each(['"ada"', '\'null"', "o'null"])('with %j, which is somebody, is made', (somebody) => {
    expect(fold([identify('ada', somebody)]).refused).toBe(0);
  });

  test('is followed by rows for each distinct_id at every change', () => {
    const { rows } = fold([identify('ada', 'visitor'), set('visitor', { a: 1 }, 20), set('ada', { b: 2 }, 30)]);
    expect(said(rows).slice(2)).toEqual([
      ['ada', 20, { a: 1 }],
      ['visitor', 20, { a: 1 }],
      ['ada', 30, { a: 1, b: 2 }],
      ['visitor', 30, { a: 1, b: 2 }],
    ]);
  });
});

describe('a person with very many distinct_ids', () => {
  const alias = (who: string, other: string): Step => ({ who, change: { merge: other }, at: 0 });
  const aliases = (who: string, many: number): Step[] =>
    Array.from({ length: many }, (_, n) => alias(who, `${who}-${n}`));
  const bytesOf = (rows: readonly PersonRow[]): number =>
    rows.reduce((sum, { properties }) => sum + properties.length, 0);

  test('is merged with no more than 1,000: what comes then is refused, and stays as it was', () => {
    const { states, refused } = fold([
      ...aliases('ada', 1_500),
      set('bob', { b: 1 }, 10),
      alias('ada', 'bob'),
      alias('new', 'ada'),
      set('ada-7', { a: 1 }, 20),
    ]);
    const ada = states.filter(({ person_id }) => person_id === states[0]?.person_id);
    expect(ada).toHaveLength(1_000);
    expect(new Set(ada.map(({ properties }) => properties))).toEqual(new Set(['{"a":1}']));
    expect(states.find(({ distinct_id }) => distinct_id === 'bob')?.properties).toBe('{"b":1}');
    expect(states.find(({ distinct_id }) => distinct_id === 'new')?.distinct_ids).toBe(1);
    expect(refused).toBe(501 + 2);
  });

  test('has no change that comes to more than 64 MiB, whatever is sent', () => {
    const { rows, refused } = fold([
      ...aliases('ada', 999),
      set('ada', { big: 'x'.repeat(500_000) }, 10),
      set('ada', { a: 1 }, 20),
    ]);
    expect(refused).toBe(1);
    expect(bytesOf(rows)).toBeLessThan(2 ** 26);
    expect(rows.at(-1)?.properties).toBe('{"a":1}');

    const large = fold([
      set('ada', { big: 'x'.repeat(500_000) }),
      ...aliases('ada', 999).map((step) => ({ ...step, at: 10 })),
    ]);
    expect(bytesOf(large.rows)).toBeLessThan(2 ** 27);
    expect(large.states).toHaveLength(134);
    const both = fold([
      ...aliases('ada', 100),
      ...aliases('bob', 100),
      set('ada', { a: 'x'.repeat(250_000) }, 10),
      set('bob', { b: 'x'.repeat(250_000) }, 10),
      { who: 'ada', at: 20, change: { merge: 'bob', force: true } },
    ]);
    expect(both.refused).toBe(1);
    expect(new Set(both.states.map(({ person_id }) => person_id)).size).toBe(2);
  });

  test('is identified by a merge whose properties are refused', () => {
    const { states, refused } = fold([
      ...Array.from({ length: 999 }, (_, n): Step => ({ who: `ada-${n}`, at: 0, change: { person: 'p', set: {} } })),
      { who: 'ada-0', at: 10, change: { merge: 'visitor', set: { big: 'x'.repeat(500_000) } } },
    ]);
    expect(refused).toBe(1);
    expect(states).toHaveLength(1_000);
    expect(new Set(states.map(({ is_identified, properties }) => `${is_identified} ${properties}`))).toEqual(
      new Set(['true {}']),
    );
  });

  test('whom a source has told keeps them all, and changes as far as the rows are not too large', () => {
    const told: Step[] = Array.from({ length: 1_200 }, (_, n) => ({
      who: `ada-${n}`,
      at: 0,
      change: { person: 'p', state: { version: 1, tie: 1, properties: { b: 'x'.repeat(50_000) }, created: null } },
    }));
    const { states } = fold(told);
    expect(states).toHaveLength(1_200);
    const later = fold(
      [
        set('ada-1', { a: 1 }, 10),
        set('ada-2', { a: 'x'.repeat(10_000) }, 20),
        { who: 'ada-3', change: { merge: 'bob' } },
      ],
      states,
    );
    expect(later.refused).toBe(2);
    expect(later.rows).toHaveLength(1_200);
    expect(later.rows[0]?.properties).toContain('"a":1');
  });
});

describe('a deleted person', () => {
  const remove: Step = { who: 'ada', at: 20, change: { delete: true } };

  test('is deleted with all distinct_ids, and without properties', () => {
    const { states } = fold([{ who: 'ada', change: { merge: 'v', set: { a: 1 } } }, remove]);
    expect(states.map(({ is_deleted, properties }) => [is_deleted, properties])).toEqual([
      [true, '{}'],
      [true, '{}'],
    ]);
    expect(fold([remove]).rows).toEqual([]);
  });

  test('is deleted as they were found, and not where they were made anew or belong to another one since', () => {
    const { states } = fold([set('ada', { a: 1 }, 10)]);
    const remove = { id: states[0]?.person_id ?? '', version: 10 * MINUTE_US };
    const removal: Step = { who: 'ada', at: 40, change: { remove } };
    const isDeleted = (steps: readonly Step[]): boolean[] => fold(steps, states).states.map((one) => one.is_deleted);
    expect(isDeleted([removal])).toEqual([true]);
    expect(isDeleted([set('ada', { b: 2 }, 20), removal])).toEqual([true]);
    expect(isDeleted([{ ...removal, at: 20 }, set('ada', { b: 2 }, 30), removal])).toEqual([false]);
    const merge: Step = { who: 'bob', at: 30, change: { merge: 'ada' } };
    expect(isDeleted([set('bob', {}, 20), merge, removal])).toEqual([false, false]);
  });

  test('comes back empty with the next change, in a newer version', () => {
    const { states } = fold([set('ada', { a: 1 }), remove]);
    const back = fold([set('ada', { b: 2 }, 30)], states).rows[0] as PersonRow;
    expect(said([back])).toEqual([['ada', 30, { b: 2 }]]);
    expect(back.person_id).toBe(states[0]?.person_id);
  });
});

describe('a person that events name', () => {
  const named = (who: string, person: string): Step => ({ who, change: { set: { [who]: 1 }, person } });

  test('gets that id, and all distinct_ids that name it', () => {
    const { states } = fold([named('ada', 'p-1'), named('visitor', 'p-1')]);
    expect(states.map(({ person_id, properties }) => [person_id, JSON.parse(properties)])).toEqual([
      ['p-1', { ada: 1, visitor: 1 }],
      ['p-1', { ada: 1, visitor: 1 }],
    ]);
  });

  test('does not take a distinct_id from the person that it has', () => {
    const { states } = fold([named('ada', 'p-1')]);
    expect(fold([named('ada', 'p-2')], states).states[0]?.person_id).toBe('p-1');
  });
});

describe('a state of a person, as another place knows it', () => {
  const state = (who: string, person: string, version: number, more: object = {}): Step => ({
    who,
    change: { person, state: { version, tie: 0, properties: { v: version }, created: 5, ...more } },
  });

  test('is taken over whole, with all distinct_ids that are told of', () => {
    const { states } = fold([set('ada', { old: 1 }), state('ada', 'p', 3), state('bob', 'p', 3)]);
    expect(
      states.map(({ distinct_id, person_id, properties, created_us }) => [
        distinct_id,
        person_id,
        properties,
        created_us,
      ]),
    ).toEqual([
      ['ada', 'p', '{"v":3}', 5],
      ['bob', 'p', '{"v":3}', 5],
    ]);
  });

  test('that is not newer than one before changes nothing, also after an event', () => {
    const { states } = fold([state('ada', 'p', 3), set('ada', { more: 1 }, 20)]);
    expect(fold([state('ada', 'p', 3), state('ada', 'p', 2)], states).rows).toEqual([]);
    expect(fold([state('ada', 'p', 4)], states).states[0]?.properties).toBe('{"v":4}');
  });

  test('moves a distinct_id only by a newer tie', () => {
    const { states } = fold([state('ada', 'p', 3), state('ada', 'q', 9)]);
    expect(states[0]?.person_id).toBe('p');
    expect(fold([state('ada', 'q', 9, { tie: 1 })], states).states[0]?.person_id).toBe('q');
  });

  test('may be a deletion, also of a person that was not known, and the next one brings it back', () => {
    const { states } = fold([state('ada', 'p', 3, { deleted: true })]);
    expect(states).toMatchObject([{ person_id: 'p', is_deleted: true, properties: '{}' }]);
    expect(fold([state('ada', 'p', 3, { deleted: true })], states).rows).toEqual([]);
    expect(fold([state('ada', 'p', 4)], states).states).toMatchObject([
      { person_id: 'p', is_deleted: false, properties: '{"v":4}' },
    ]);
  });

  test('gives the same persons whatever the order of the states, and nothing the second time', () => {
    const versions = fc.array(fc.record({ who: fc.constantFrom('a', 'b'), version: fc.nat(9) }), { minLength: 1 });
    fc.assert(
      fc.property(versions, fc.nat(20), (given, cut) => {
        const steps = given.map(({ who, version }) => state(who, `p-${who}`, version));
        const first = fold(steps.slice(0, cut)).states;
        const { states } = fold(steps.slice(cut), first, 2 * AT);
        for (const { distinct_id, properties } of states) {
          const newestOf = Math.max(...given.filter(({ who }) => who === distinct_id).map(({ version }) => version));
          expect(JSON.parse(properties)).toEqual({ v: newestOf });
        }
        expect(fold(steps, states, 3 * AT).rows).toEqual([]);
      }),
    );
  });
});

describe('any history', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const properties = fc.dictionary(fc.constantFrom('x', 'y', '__proto__'), fc.integer({ min: 0, max: 2 }));
  const change: fc.Arbitrary<PersonChange> = fc.oneof(
    fc.record({ set: properties }),
    fc.record({ setOnce: properties, unset: fc.subarray(['x', 'y']) }),
    fc.record({ set: properties, sender: fc.record({ set: properties, along: properties }) }),
    fc.record({ merge: name, set: properties }),
    fc.record({ force: fc.constant(true), merge: name }),
    fc.record({ set: properties, person: fc.constantFrom('p', 'q') }),
    fc.constant({ delete: true as const }),
  );
  const steps = fc.array(fc.record({ who: name, at: fc.integer({ min: 0, max: 60 }), change }), { maxLength: 30 });

  /** A batch, as the lake sorts it. */
  const batches = fc
    .array(steps, { minLength: 1, maxLength: 3 })
    .map((all) => all.map((batch) => batch.toSorted((one, other) => one.at - other.at)));

  test('gives each distinct_id versions that only rise, one row of an arrival, and whole persons', () => {
    fc.assert(
      fc.property(batches, (all) => {
        let states: PersonRow[] = [];
        for (const [n, batch] of all.entries()) {
          const before = states;
          const { rows, states: after } = fold(batch, before, AT + n * MINUTE_US);
          states = after;
          const last = new Map(before.map((row) => [row.distinct_id, row.inserted_us]));
          for (const row of rows) {
            expect(row.inserted_us).toBeGreaterThan(last.get(row.distinct_id) ?? -1);
            expect(row.inserted_us).toBe(Math.max(row.person_version, row.person_distinct_id_version));
            last.set(row.distinct_id, row.inserted_us);
          }
          const living = states.filter(({ is_deleted }) => !is_deleted);
          for (const row of living) {
            const ofPerson = living.filter(({ person_id }) => person_id === row.person_id);
            expect(new Set(ofPerson.map(({ properties: text }) => text)).size).toBe(1);
            expect(ofPerson.length).toBe(row.distinct_ids);
          }
        }
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  test('that is cut into batches ends in the same persons as in one piece', () => {
    fc.assert(
      fc.property(steps, fc.nat(30), (all, cut) => {
        const sorted = all.toSorted((one, other) => one.at - other.at);
        const whole = fold(sorted).states;
        const first = fold(sorted.slice(0, cut)).states;
        const second = fold(sorted.slice(cut), first).states;
        const persons = (rows: readonly PersonRow[]): object =>
          Object.fromEntries(rows.map((row) => [row.distinct_id, [row.person_id, row.properties, row.is_deleted]]));
        expect(persons(second)).toEqual(persons(whole));
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});
