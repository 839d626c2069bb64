/**
 * The columns of the lake, in one place. Columns are only ever added; files are read by name, so a file that lacks a
 * column reads as null. Types are those that Hive tables and DuckDB read alike: bigint, boolean and varchar.
 */
/** What rows are about. */
export const MODELS = ['events', 'persons'] as const;
export type Model = (typeof MODELS)[number];

type LakeColumn = { readonly name: string; readonly type: 'VARCHAR' | 'BIGINT' | 'BOOLEAN' };

/** What a reader may rely on: rows of a file of events lie in this order. `uuid` makes it total. */
const FILE_ORDER = ['inserted_us', 'timestamp_us', 'uuid'] as const;

/** The same for persons: a distinct_id has one row of an arrival. */
const PERSON_FILE_ORDER = ['inserted_us', 'distinct_id'] as const;

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
] as const satisfies readonly LakeColumn[];

/** A row is the whole state of one distinct_id after a change of its person: see `PersonRow`. */
export const PERSON_COLUMNS = [
  { name: 'distinct_id', type: 'VARCHAR' },
  { name: 'team_id', type: 'BIGINT' },
  { name: 'person_id', type: 'VARCHAR' },
  // Compact JSON text of an object.
  { name: 'properties', type: 'VARCHAR' },
  // Versions are arrivals of changes, in microseconds.
  { name: 'person_distinct_id_version', type: 'BIGINT' },
  { name: 'person_version', type: 'BIGINT' },
  { name: 'created_us', type: 'BIGINT' },
  { name: 'inserted_us', type: 'BIGINT' },
  { name: 'is_deleted', type: 'BOOLEAN' },
  // What only the next import needs: who may be merged into another, and whether there are other distinct_ids.
  { name: 'is_identified', type: 'BOOLEAN' },
  { name: 'distinct_ids', type: 'BIGINT' },
  // The newest versions that another place gave the person and the tie, of states that were imported from it; else -1.
  { name: 'stated_version', type: 'BIGINT' },
  { name: 'stated_tie', type: 'BIGINT' },
] as const satisfies readonly LakeColumn[];

/** Columns, and the order of the rows in a file, by model. */
export const LAKE_MODELS: Readonly<Record<Model, { columns: readonly LakeColumn[]; order: readonly string[] }>> = {
  events: { columns: EVENT_COLUMNS, order: FILE_ORDER },
  persons: { columns: PERSON_COLUMNS, order: PERSON_FILE_ORDER },
};

/**
 * Rows of one row group, unless they are long: what a reader of an interval decodes at least, and what sorting goes by.
 * Measured with intervals of 5,000 rows in files of a million: of 50,000, an interval takes a quarter more; of 8,192, the file's
 * footer takes what is gained.
 */
export const ROW_GROUP = 16_384;
