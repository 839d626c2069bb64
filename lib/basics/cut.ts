/** Texts that are cut where they are too long. Lengths are in UTF-16 units. */

/** Returns as much of a text's beginning as fits, with no pair of surrogates cut in two. */
export const beginningOf = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\ud800-\udbff]$/, '');

/** Returns a text that fits: whole, or its beginning and an ellipsis. */
export const shortened = (text: string, length: number): string =>
  text.length > length ? `${beginningOf(text, length - 1)}…` : text;
