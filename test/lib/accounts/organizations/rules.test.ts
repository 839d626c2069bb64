import * as fc from 'fast-check';
import { slugOf } from '../../../../lib/accounts/organizations/rules.ts';
import { anyText } from '../../../support/any-text.ts';

test.each([
  ['Acme Inc.', 'acme-inc'],
  ['  Ünïcode   &  Söhne ', 'unicode-sohne'],
  ['a_b -- c', 'a_b-c'],
  ['__proto__', 'proto'],
  ['-- ! --', 'organization'],
  ['株式会社', 'organization'],
])('the slug of %j is %j', (name, slug) => {
  expect(slugOf(name)).toBe(slug);
});

test('a slug is cut to 48 characters, with a tail as well', () => {
  expect(slugOf('x'.repeat(64))).toBe('x'.repeat(48));
  expect(slugOf('x'.repeat(64), 'abcd')).toBe(`${'x'.repeat(43)}-abcd`);
  expect(slugOf('Acme', 'abcd')).toBe('acme-abcd');
});

test('the slug of any text can stand in an address and is never empty', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 80 }), (name) => {
      expect(slugOf(name)).toMatch(/^[a-z0-9][a-z0-9_-]{0,47}$/);
    }),
  );
});
