/** JSON whose numbers keep all their digits: one that a double cannot hold stays as it was written. */

/** How JSON keeps a number as it was written; not in TypeScript's library yet. */
const exact = JSON as unknown as {
  parse(text: string, reviver: (name: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
};

/**
 * May a number in the text lose digits, or its size, as a double, or its sign, as -0.0 does when it is written again?
 * Looks at the text only: a false alarm costs time. (-0 is an integer, which has no sign.)
 */
const INEXACT_NUMBER = /[[:,\s](?:-?(?:\d[\d.]{15}|[\d.]+[eE])|-0\.0+(?!\d))/;

/** The value of a JSON text. Throws as `JSON.parse` does: `SyntaxError`, and `RangeError` when it is nested too deeply. */
export const parseExact = (text: string): unknown =>
  INEXACT_NUMBER.test(text) ? exact.parse(text, exactNumber) : JSON.parse(text);

function exactNumber(_name: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? exact.rawJSON(source) : value;
}

/** The text of a number that `parseExact` gave, undefined for any other value. */
export const numberText = (value: unknown): string | undefined =>
  typeof value === 'number' ? String(value) : exact.isRawJSON(value) ? value.rawJSON : undefined;

/** The number that a text of JSON's own form is, with all its digits. */
export const exactNumberOf = (text: string): unknown =>
  String(Number(text)) === text ? Number(text) : exact.rawJSON(text);

/** Is it an object, neither a list nor a number that was kept as text? */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !exact.isRawJSON(value);
