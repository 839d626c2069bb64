/**
 * The columns of the lake's events, in one place. Columns are only ever added; files are read by name, so a file that
 * lacks a column reads as null. Types are those that Hive tables and DuckDB read alike: bigint and varchar.
 */

/** What a reader may rely on: rows of a file lie in this order. `uuid` makes it total. */
export const FILE_ORDER = ['inserted_us', 'timestamp_us', 'uuid'] as const;

export const EVENT_COLUMNS = [
  // Lower case, with hyphens. Made of content, or the event's own: with the timestamp it says which event this is.
  { name: 'uuid', type: 'VARCHAR' },
  { name: 'event', type: 'VARCHAR' },
  { name: 'distinct_id', type: 'VARCHAR' },
  // In the path too; here so that a file alone says whose it is.
  { name: 'team_id', type: 'BIGINT' },
  // Compact JSON text of an object. `$set`, `$set_once` and `$ip` are in it: columns of destinations that want them
  // apart are taken out when they are read.
  { name: 'properties', type: 'VARCHAR' },
  // Instants are microseconds since 1970: Hive timestamps are read in milliseconds only.
  { name: 'timestamp_us', type: 'BIGINT' },
  // Arrival, the one clock that data intervals select by.
  { name: 'inserted_us', type: 'BIGINT' },
  // When the event was first stored: as its source says, else when its batch was committed.
  { name: 'created_us', type: 'BIGINT' },
  // Null where the source does not say.
  { name: 'person_id', type: 'VARCHAR' },
  { name: 'person_properties', type: 'VARCHAR' },
  { name: 'elements_chain', type: 'VARCHAR' },
] as const satisfies readonly { name: string; type: 'VARCHAR' | 'BIGINT' }[];

/** Rows of one row group: what a reader of a slot decodes at least, and what sorting goes by. */
export const ROW_GROUP = 50_000;
