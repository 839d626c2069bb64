import * as fc from 'fast-check';
import type { Grant } from '../../../../lib/accounts/personal-api-keys/model.ts';
import { refuseExcess, refusePast, refuseTooMany } from '../../../../lib/accounts/personal-api-keys/rules.ts';
import { isPermitted, SCOPE_OBJECTS, type Scope } from '../../../../lib/http/scopes.ts';

const ALL: Grant = { scopes: ['*'], scoped_teams: [], scoped_organizations: [], expires_at: null };

const refusal = (run: () => void): string | undefined => {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

const excess = (maker: Partial<Grant>, wanted: Partial<Grant>) =>
  refusal(() => refuseExcess({ ...ALL, ...maker }, { ...ALL, ...wanted }));

test.each<[string, Partial<Grant>, Partial<Grant>, string | undefined]>([
  ['everything from everything', {}, {}, undefined],
  ['one scope from everything', {}, { scopes: ['dashboard:write'] }, undefined],
  ['nothing from nothing', { scopes: [] }, { scopes: [] }, undefined],
  ['read from write', { scopes: ['dashboard:write'] }, { scopes: ['dashboard:read'] }, undefined],
  [
    'write from read',
    { scopes: ['dashboard:read'] },
    { scopes: ['dashboard:write'] },
    "API key missing required scope 'dashboard:write'",
  ],
  ['everything from much', { scopes: ['dashboard:write'] }, {}, "API key missing required scope '*'"],
  ['fewer projects', { scoped_teams: [1, 2] }, { scoped_teams: [2] }, undefined],
  [
    'another project',
    { scoped_teams: [1] },
    { scoped_teams: [1, 2] },
    'API key does not have access to the requested project: ID 2.',
  ],
  [
    'all projects from some',
    { scoped_teams: [1] },
    {},
    'An API key that is limited to some projects can only make, change or delete keys that are limited to them.',
  ],
  [
    'another organization',
    { scoped_organizations: ['a'] },
    { scoped_organizations: ['b'] },
    'API key does not have access to the requested organization: ID b.',
  ],
  [
    'all organizations from some, though only in one project',
    { scoped_organizations: ['a'] },
    { scoped_teams: [1] },
    'An API key that is limited to some organizations can only make, change or delete keys that are limited to them.',
  ],
  ['an earlier end', { expires_at: 10 }, { expires_at: 10 }, undefined],
  ['an end where there was none', {}, { expires_at: 10 }, undefined],
  [
    'a later end',
    { expires_at: 10 },
    { expires_at: 11 },
    'An API key that expires can only make, change or delete keys that expire no later.',
  ],
  [
    'no end',
    { expires_at: 10 },
    {},
    'An API key that expires can only make, change or delete keys that expire no later.',
  ],
])('%s', (_, maker, wanted, text) => {
  expect(excess(maker, wanted)).toBe(text);
});

test('whatever a key lets through that was not refused, its maker lets through', () => {
  const scope = fc.constantFrom('*', ...SCOPE_OBJECTS.slice(0, 3).flatMap((name) => [`${name}:read`, `${name}:write`]));
  const grant = fc.record({
    scopes: fc.array(scope, { maxLength: 3 }),
    scoped_teams: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }),
    scoped_organizations: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 2 }),
    expires_at: fc.option(fc.integer({ min: 1, max: 3 })),
  });
  const isOpen = <T>(limits: readonly T[], place: T) => limits.length === 0 || limits.includes(place);
  const opens = (key: Grant, what: string, team: number, organization: string, now: number) =>
    isPermitted(key.scopes, what as Scope) &&
    isOpen(key.scoped_teams, team) &&
    isOpen(key.scoped_organizations, organization) &&
    (key.expires_at ?? Infinity) > now;
  let accepted = 0;
  fc.assert(
    fc.property(
      grant,
      grant,
      scope.filter((name) => name !== '*'),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom('a', 'b', 'c', 'd'),
      fc.integer({ min: 0, max: 3 }),
      (maker, wanted, what, team, organization, now) => {
        if (refusal(() => refuseExcess(maker, wanted)) !== undefined) return;
        accepted += 1;
        const made = opens(wanted, what, team, organization, now);
        expect(made && !opens(maker, what, team, organization, now)).toBe(false);
      },
    ),
    { numRuns: 5_000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

test('a user may have ten keys', () => {
  expect(refusal(() => refuseTooMany(9))).toBeUndefined();
  expect(refusal(() => refuseTooMany(10))).toBe(
    'You can only have 10 personal API keys. Remove an existing key before creating a new one.',
  );
});

test('an expiry lies ahead', () => {
  expect(refusal(() => refusePast(11, 10))).toBeUndefined();
  expect(refusal(() => refusePast(null, 10))).toBeUndefined();
  expect(refusal(() => refusePast(10, 10))).toBe('The expiry must be in the future.');
});
