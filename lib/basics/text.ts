/** Texts as messages show them. Lengths are in UTF-16 units. */
import { GIB, KIB, MIB } from './units.ts';

/** Returns as much of a text's beginning as fits, with no pair of surrogates cut in two. */
export const beginningOf = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\ud800-\udbff]$/, '');

/** Returns a text that fits: whole, or its beginning and an ellipsis. */
export const shortened = (text: string, length: number): string =>
  text.length > length ? `${beginningOf(text, length - 1)}…` : text;

/** Returns the text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the words as messages list them: `'a', 'b'`. */
export const inQuotes = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

/** Returns a word as a sentence begins. */
export const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** Returns how many there are of something: `1 tile`, `1,200 tiles`. */
export const counted = (n: number, word: string): string => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;

/** Where it would be more of a unit, a size was not meant in it, as 10,000,000,000 bytes are not as 9,765,625 KiB. */
const MOST_OF_A_UNIT = 10_000;

const SIZES = [
  [GIB, 'GiB'],
  [MIB, 'MiB'],
  [KIB, 'KiB'],
] as const;

/** Returns a size: `20 MiB` where it is a whole number of such units, or else `10,000,000 bytes`. */
export function bytesText(bytes: number): string {
  const [size, unit] = SIZES.find(([of]) => bytes >= of && bytes % of === 0 && bytes / of < MOST_OF_A_UNIT) ?? [
    1,
    'bytes',
  ];
  return `${(bytes / size).toLocaleString('en')} ${unit}`;
}
