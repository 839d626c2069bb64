/** Returns a name as SQL writes it, in double quotes: whatever is in it, it is just a name. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Returns a table of a schema. */
export const qualified = (schema: string, table: string): string => `${quoted(schema)}.${quoted(table)}`;

/** Returns names in a list, as between the brackets of an INSERT. */
export const quotedList = (names: readonly string[]): string => names.map(quoted).join(', ');
