/** Free-form objects and lists in items: as JSON text, whose type the field declares. */

declare const type: unique symbol;

/** The JSON of a `T`. The field of an item that holds a list of names is a `JsonText<string[]>`. */
export type JsonText<T> = string & { readonly [type]: T };

/** The value as an item's field holds it. */
export const toJsonText = <T>(value: T): JsonText<T> => JSON.stringify(value) as JsonText<T>;

/** What an item's field holds. */
export const fromJsonText = <T>(text: JsonText<T>): T => JSON.parse(text);
