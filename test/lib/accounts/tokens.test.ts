import * as fc from 'fast-check';
import { base62, letters } from '../../../lib/accounts/tokens.ts';

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

test('base 62 reads back as the number that the bytes are', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
      const text = base62(bytes);
      const back = Array.from(text).reduce((number, digit) => number * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
      expect(text).toMatch(/^[0-9a-zA-Z]+$/);
      expect(back).toBe(BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
    }),
  );
});

test('35 bytes give 48 digits at most, and hardly ever fewer than 46', () => {
  expect(base62(new Uint8Array(35).fill(255))).toHaveLength(48);
  expect(base62(new Uint8Array(35).fill(1)).length).toBeGreaterThanOrEqual(46);
  expect(base62(new Uint8Array(35))).toBe('0');
});

test('letters are lower-case letters, one for each byte', () => {
  expect(letters(Uint8Array.of(0, 25, 26, 255))).toBe('azav');
});
