/** Free-form objects and lists stand in items as JSON text; a field declares the type of its value. */

declare const type: unique symbol;

/** The JSON of a `T`. The field of an item that holds a list of names is a `JsonText<string[]>`. */
export type JsonText<T> = string & { readonly [type]: T };

/** Returns the value as a field holds it. */
export const toJsonText = <T>(value: T): JsonText<T> => JSON.stringify(value) as JsonText<T>;

/** Returns the value that a field holds. */
export const fromJsonText = <T>(text: JsonText<T>): T => JSON.parse(text);
