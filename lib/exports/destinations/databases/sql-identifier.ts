/** Returns a name as SQL writes it, in double quotes: whatever is in it, it is just a name. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Returns a table of a schema. */
export const qualified = (schema: string, table: string): string => `${quoted(schema)}.${quoted(table)}`;

/** Returns the table that a config names. */
export const tableOf = (named: { readonly schema: string; readonly table_name: string }): string =>
  qualified(named.schema, named.table_name);

/** Returns names in a list, as between the brackets of an INSERT. */
export const quotedList = (names: readonly string[]): string => names.map(quoted).join(', ');
