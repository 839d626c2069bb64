/** Texts as messages show them. Lengths are in UTF-16 units. */

/** Returns as much of a text's beginning as fits, with no pair of surrogates cut in two. */
export const beginningOf = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\ud800-\udbff]$/, '');

/** Returns a text that fits: whole, or its beginning and an ellipsis. */
export const shortened = (text: string, length: number): string =>
  text.length > length ? `${beginningOf(text, length - 1)}…` : text;

/** Returns a text without a secret (not empty) in it: as it is, inside a text of JSON, or as a part of an address. */
export function withoutSecret(text: string, secret: string): string {
  const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())];
  return forms.reduce((rest, form) => rest.replaceAll(form, '***'), text);
}

/** Returns the text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the words as messages list them: `'a', 'b'`. */
export const inQuotes = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');
