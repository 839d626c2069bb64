/** Texts as messages show them. Lengths are in UTF-16 units. */

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

/** Returns how many there are of something: `1 tile`, `1,200 tiles`. */
export const counted = (n: number, word: string): string => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;
