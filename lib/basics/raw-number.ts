/** JSON in which a number keeps the digits that it was written with, where JavaScript's numbers would lose some. */

/** A number as it was written; `JSON.stringify` writes it back. */
interface RawNumber {
  readonly rawJSON: string;
}

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

// In every engine that is supported, not yet in TypeScript's library.
const Json = JSON as unknown as {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
  parse(text: string, reviver: Reviver): unknown;
};

/** Returns the number that is written so. */
export const rawNumber = (text: string): RawNumber => Json.rawJSON(text);

/** Returns whether a value is a `RawNumber`. */
export const isRawNumber = (value: unknown): value is RawNumber => Json.isRawJSON(value);

/**
 * Returns the value of a JSON text, with a `RawNumber` for each number that `isLossy` says would lose something:
 * `value` is the number that JavaScript reads, `source` its text. Throws as `JSON.parse` does.
 */
export const parseWithRawNumbers = (text: string, isLossy: (value: number, source: string) => boolean): unknown =>
  Json.parse(text, (_name, value, { source }) =>
    typeof value === 'number' && source !== undefined && isLossy(value, source) ? Json.rawJSON(source) : value,
  );

/** Returns the text of a number or a `RawNumber`, undefined for any other value. */
export function numberText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return isRawNumber(value) ? value.rawJSON : undefined;
}
