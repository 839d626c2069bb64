import { bytesText, counted } from '../../../lib/basics/text.ts';
import { GIB, KIB, MIB } from '../../../lib/basics/units.ts';

test.each([
  [0, '0 bytes'],
  [1_000_000, '1,000,000 bytes'],
  [300 * KIB, '300 KiB'],
  [20 * MIB, '20 MiB'],
  [20 * MIB + 1, '20,971,521 bytes'],
  [3 * GIB, '3 GiB'],
  [10_000_000_000, '10,000,000,000 bytes'],
])('a size of %d bytes is told in the largest unit of which it is a whole number', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

test('one is no plural', () => {
  expect([0, 1, 1_200].map((n) => counted(n, 'tile'))).toEqual(['0 tiles', '1 tile', '1,200 tiles']);
});
