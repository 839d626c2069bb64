import * as fc from 'fast-check';
import {
  refuseChange,
  refuseLevel,
  refuseRemoval,
  witnessOf,
} from '../../../../../lib/accounts/organizations/members/rules.ts';
import { LEVELS, type MembershipLevel } from '../../../../../lib/http/levels.ts';

const { member, admin, owner } = LEVELS;
const one = (user_uuid: string, level: MembershipLevel) => ({ user_uuid, level });

const refusal = (run: () => unknown): string | undefined => {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

const ABOVE = 'You can only change access level of others to lower or equal to your current one.';
const OWNERS = "You can only make another member owner if you're this organization's owner.";
const HIGHER = 'You can only edit others with level lower or equal to you.';
const ADMINS = 'You can only edit others if you are an admin.';

test.each<[MembershipLevel, MembershipLevel, MembershipLevel, string | undefined]>([
  [owner, member, owner, undefined],
  [owner, owner, member, undefined],
  [owner, admin, member, undefined],
  [admin, member, admin, undefined],
  [admin, admin, member, undefined],
  [admin, member, owner, OWNERS],
  [admin, owner, member, HIGHER],
  [admin, owner, owner, HIGHER],
  [member, member, member, ADMINS],
  [member, member, admin, ADMINS],
])('level %i changes %i to %i: %s', (actor, target, level, text) => {
  expect(refusal(() => refuseChange(one('a', actor), one('b', target), level))).toBe(text);
});

test('nobody changes their own level', () => {
  for (const level of [member, admin, owner]) {
    expect(refusal(() => refuseChange(one('a', level), one('a', level), member))).toBe(
      "You can't change your own access level.",
    );
  }
});

test('nobody gives more than they have', () => {
  expect(refusal(() => refuseLevel(one('a', member), admin))).toBe(ABOVE);
  expect(refusal(() => refuseLevel(one('a', admin), admin))).toBeUndefined();
});

test.each<[MembershipLevel, MembershipLevel, string | undefined]>([
  [owner, owner, undefined],
  [admin, admin, undefined],
  [admin, owner, HIGHER],
  [member, member, ADMINS],
])('level %i removes %i: %s', (actor, target, text) => {
  expect(refusal(() => refuseRemoval(one('a', actor), one('b', target)))).toBe(text);
});

test('the last owner cannot leave', () => {
  const text = 'The last owner cannot leave the organization. Make another member owner first.';
  const [a, b] = [one('a', owner), one('b', admin)];
  expect(refusal(() => witnessOf(a, a, [a, b]))).toBe(text);
  expect(witnessOf(a, a, [a, one('c', owner)])).toEqual(one('c', owner));
  expect(witnessOf(b, b, [a, b])).toBeUndefined();
});

test('whatever is permitted, an owner stays', () => {
  const level = fc.constantFrom(member, admin, owner);
  const step = fc.record({ actor: fc.nat(3), target: fc.nat(3), level: fc.option(level) });
  let done = 0;
  fc.assert(
    fc.property(fc.array(level, { minLength: 3, maxLength: 3 }), fc.array(step, { maxLength: 12 }), (levels, steps) => {
      let people = [owner, ...levels].map((held, at) => one(String(at), held));
      for (const { actor, target, level: wanted } of steps) {
        const [a, b] = [actor, target].map((at) => people.find(({ user_uuid }) => user_uuid === String(at)));
        if (a === undefined || b === undefined) continue;
        const refused = refusal(() => {
          if (wanted !== null) return refuseChange(a, b, wanted);
          refuseRemoval(a, b);
          return witnessOf(a, b, people);
        });
        if (refused !== undefined) continue;
        done += 1;
        people = people.flatMap((person) =>
          person !== b ? [person] : wanted === null ? [] : [one(person.user_uuid, wanted)],
        );
        expect(people.some((person) => person.level === owner)).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(done).toBeGreaterThan(100);
});
