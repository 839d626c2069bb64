/**
 * Where a batch waits between its source and the lake: lines of text in a file, then a table of a DuckDB of the
 * import's own. There rows get their final uuids, known ones are dropped, and what is left is written as Parquet.
 *
 * Memory does not grow with the import: what DuckDB cannot hold it spills.
 */
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { HOUR_MS, MIB } from '../../basics/units.ts';
import { literal, parquet } from '../../duckdb/database.ts';
import type { DatabaseJob } from '../../duckdb/pool.ts';
import type { FileStore } from '../../ports/files/files.ts';
import { arrivalSql } from '../arrival.ts';
import { writeDayFiles } from '../day-files.ts';
import { type ChangesInOrderOf, DERIVED, derivePersons } from '../persons/derive.ts';
import type { RefusedChanges } from '../persons/refusals.ts';
import type { PersonStates } from '../persons/states.ts';
import type { WrittenFile } from '../publish.ts';
import type { Model } from '../schema.ts';
import type { SourceEvent } from '../sources/event.ts';
import { type Forgotten, isForgotten, makeForgottenTable } from './forgotten.ts';

/** A row's place: which file of the import, and whether its uuid is its own (else it is made of its record). */
export interface StagedRow extends SourceEvent {
  readonly row: number;
  readonly file: number;
  readonly uuid: string;
  readonly own: boolean;
}

const STAGED = {
  row: 'BIGINT',
  file: 'INTEGER',
  own: 'BOOLEAN',
  uuid: 'VARCHAR',
  event: 'VARCHAR',
  distinct_id: 'VARCHAR',
  properties: 'VARCHAR',
  timestamp_us: 'BIGINT',
  created_us: 'BIGINT',
  person_id: 'VARCHAR',
  person_properties: 'VARCHAR',
  elements_chain: 'VARCHAR',
  person: 'VARCHAR',
};

/** The longest row in bytes: a line of 1 MiB may grow, as JSON, by escapes, and what it changes of a person is in it twice. */
export const LONGEST_ROW = 6 * MIB;
/** DuckDB wants room for four rows. */
const READ_BUFFER = 4 * LONGEST_ROW;

const HOUR_US = HOUR_MS * 1000;

const SEPARATOR = '\x1f';
/** Marks a text with control characters, written as JSON, so that no row holds a separator or a line end. */
const ESCAPED = '\x1a';
const field = (text: string): string => (/\p{Cc}/u.test(text) ? ESCAPED + JSON.stringify(text) : text);

/** A row as a line of the staging file. JSON text holds no control character; nothing stands for null. */
export const stagedLine = (row: StagedRow): string =>
  `${row.row}${SEPARATOR}${row.file}${SEPARATOR}${row.own}${SEPARATOR}${row.uuid}${SEPARATOR}${field(row.event ?? '')}` +
  `${SEPARATOR}${field(row.distinctId)}${SEPARATOR}${row.properties}${SEPARATOR}${row.timestamp}` +
  `${SEPARATOR}${row.created ?? ''}${SEPARATOR}${row.personId ?? ''}${SEPARATOR}${row.personProperties ?? ''}` +
  `${SEPARATOR}${field(row.elementsChain ?? '')}${SEPARATOR}${row.personChange ?? ''}`;

const unescaped = (column: string): string =>
  `CASE WHEN starts_with(${column}, chr(26)) THEN json_extract_string(substr(${column}, 2), '$') ELSE ${column} END AS ${column}`;

/** The uuid of the n-th line that equals the first: version 8, of a SHA-256 of the first's uuid and n. */
const NTH_UUID = `regexp_replace(sha256(concat(first, ' ', n)),
  '^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$', '\\1-\\2-8\\3-a\\4-\\5')`;

/** The hours, counted from 1970, in which rows of a model arrived, or may have arrived, that are known. */
export type KnownHours = Readonly<Record<Model, readonly number[]>>;

const NO_HOURS: KnownHours = { events: [], persons: [] };

/** What is in the staging table, after known rows were dropped. */
interface StagedBatch {
  readonly rows: number;
  /** How many events were dropped: they are in the lake, or were in this batch before. */
  readonly known: number;
  /** Of them, those of persons who were deleted with their events. */
  readonly forgotten: number;
  /** In which hours those that are in the lake arrived, with what they changed of persons, if that is asked for. */
  readonly knownHours: KnownHours;
  /** How many of the rows change a person. */
  readonly personChanges: number;
}

/** How a batch is written: where to, and as what it arrives, in milliseconds. */
interface WriteOptions {
  readonly at: number;
  readonly historyEnd: number;
  /** A folder of the lake. */
  readonly folder: string;
  readonly lake: FileStore;
  /** Given when the batch changes persons. */
  readonly persons?: PersonStates;
  /** Properties that have columns of their own in the project's files. */
  readonly learned: readonly string[];
  readonly signal: AbortSignal;
}

/** Where staged events may be already: local files of the lake, and SQL of those rows of `staged` that may be in them. */
interface Overlap {
  readonly paths: readonly string[];
  readonly rows: string;
}

/** Finds files that may hold staged events, of which all have timestamps in a range (milliseconds, inclusive). */
export type Overlapping = (min: number, max: number, connection: DuckDBConnection) => Promise<Overlap>;

/** Finds what is forgotten, at least of those whose hashes are staged. */
type ForgottenAmong = (hashes: () => Promise<readonly string[]>) => Promise<readonly Forgotten[]>;

export interface Staging {
  /** Takes a staging file in and drops what is known, and what is forgotten. */
  load(file: string, lake: Overlapping, forgottenAmong: ForgottenAmong): Promise<StagedBatch>;
  /**
   * Writes the batch as Parquet: a file of events, and one of what becomes of persons, for each day of arrival.
   * `refused`: changes of persons that are not made. `statedIn`: in which hours, counted from 1970, states that a source
   * tells arrive, whether they are known or not, if that is asked for.
   */
  write(options: WriteOptions): Promise<{
    readonly files: WrittenFile[];
    readonly refused: RefusedChanges;
    readonly statedIn: readonly number[];
  }>;
}

/** Which events are the same. */
export interface SameEvents {
  /** Columns that are equal. */
  readonly columns: readonly ('uuid' | 'event' | 'distinct_id' | 'timestamp_us')[];
  /** And how far their timestamps may lie apart, in milliseconds: in one batch, each from the one before. */
  readonly withinMs: number;
}

/** Of imports: what is imported carries the timestamp that was stored. */
const SAME_RECORDS: SameEvents = { columns: ['uuid', 'timestamp_us'], withinMs: 0 };

export interface StagingOptions {
  /** Default: as imports tell events apart. */
  readonly same?: SameEvents | undefined;
  /** What is known may be of an earlier attempt, so it tells when that arrived. Default: it is not. */
  readonly isAgain?: boolean | undefined;
  /** In which order the changes of persons are made that arrive at once. Default: of `time`. */
  readonly changesInOrderOf?: ChangesInOrderOf | undefined;
}

/** Staging for one import into one project, as long as its job lasts. */
export async function openStaging(
  { database, connection, folder }: DatabaseJob,
  projectId: number,
  { same = SAME_RECORDS, isAgain = false, changesInOrderOf = 'time' }: StagingOptions = {},
): Promise<Staging> {
  const columns = Object.entries(STAGED).map(([name, type]) => `${name} ${type}`);
  // What earlier batches held of the file that goes on in the next one: a row for each line.
  await connection.run('CREATE TABLE seen (file INTEGER, first UUID)');

  return {
    load: async (file, lake, forgottenAmong) => {
      // Not emptied but made anew: of rows that are removed DuckDB keeps the long texts.
      await connection.run(`CREATE OR REPLACE TABLE staged (${columns.join(', ')})`);
      await connection.run(`INSERT INTO staged SELECT * REPLACE (
          ${['event', 'distinct_id', 'elements_chain'].map(unescaped).join(', ')}) FROM ${stagingFile(file)}`);
      await numberEqualLines(connection);
      const dropped = await dropForgotten(connection, forgottenAmong);
      const { known, knownHours } = await dropKnown(connection, lake, same, isAgain);
      const [rows = 0, personChanges = 0] = await numbers(connection, 'SELECT count(*), count(person) FROM staged');
      return { rows, known: known + dropped, forgotten: dropped, knownHours, personChanges };
    },

    write: async ({ at, historyEnd, folder: target, lake, persons, learned, signal }) => {
      const arrival = arrivalSql(historyEnd, at);
      const rows = `(SELECT * EXCLUDE (created_us), ${projectId}::BIGINT AS team_id, ${arrival} AS inserted_us,
          coalesce(created_us, ${at * 1000}::BIGINT) AS created_us FROM staged WHERE event IS NOT NULL)`;
      const place = { scratch: join(folder, 'parquet'), folder: target, lake };
      const events = await writeDayFiles(connection, 'events', rows, { ...place, learned });
      if (persons === undefined) return { files: events, refused: {}, statedIn: [] };
      const about = { projectId, at: at * 1000, arrival, changesInOrderOf, states: persons.files, signal };
      const refused = await derivePersons(database, about);
      const files = [...events, ...(await writeDayFiles(connection, 'persons', DERIVED, place))];
      if (!isAgain) return { files, refused, statedIn: [] };
      // A state that an earlier attempt has added adds nothing, and no row tells when that one arrived.
      const hours = `SELECT DISTINCT (${arrival}) // ${HOUR_US} FROM staged WHERE event IS NULL`;
      const stated = await connection.runAndReadAll(hours);
      return { files, refused, statedIn: stated.getRows().map(([hour]) => Number(hour)) };
    },
  };
}

const stagingFile = (file: string): string => `read_csv(${literal(file)}, columns = {${Object.entries(STAGED)
  .map(([name, type]) => `${literal(name)}: ${literal(type)}`)
  .join(', ')}}, header = false, auto_detect = false, delim = chr(31), quote = '', escape = '', new_line = '\\n',
  max_line_size = ${LONGEST_ROW}, buffer_size = ${READ_BUFFER})`;

/**
 * Equal lines of one file are different events: the n-th gets a uuid of its own. Of equal lines in different files,
 * and of events that carry a uuid of their own, one is kept.
 */
async function numberEqualLines(connection: DuckDBConnection): Promise<void> {
  const [first, last] = await numbers(connection, 'SELECT min(file), max(file) FROM staged');
  if (first === undefined || last === undefined) return;
  await connection.run(`DELETE FROM seen WHERE file <> ${first}`);
  await connection.run('CREATE OR REPLACE TABLE repeated AS SELECT uuid FROM staged GROUP BY uuid HAVING count(*) > 1');
  await connection.run(`CREATE OR REPLACE TABLE numbered AS
      SELECT s.row, s.uuid AS first, coalesce(e.times, 0) + row_number() OVER (PARTITION BY s.file, s.uuid ORDER BY s.row) AS n
      FROM staged s LEFT JOIN (
        SELECT file, first::VARCHAR AS uuid, count(*) AS times FROM seen
        WHERE first IN (SELECT uuid::UUID FROM staged WHERE file = ${first}) GROUP BY ALL
      ) e USING (file, uuid)
      WHERE NOT s.own AND (s.uuid IN (FROM repeated) OR e.times IS NOT NULL)`);
  await connection.run(`INSERT INTO seen SELECT file, uuid::UUID FROM staged WHERE file = ${last} AND NOT own`);
  const [others = 0] = await numbers(connection, 'SELECT count(*) FROM numbered WHERE n > 1');
  if (others === 0) return;
  // Not by UPDATE: what one has changed DuckDB keeps in memory as long as the table is there.
  await connection.run(`CREATE OR REPLACE TABLE renamed AS SELECT staged.* REPLACE (${NTH_UUID} AS uuid)
      FROM staged JOIN numbered USING (row) WHERE n > 1`);
  await connection.run('DELETE FROM staged WHERE row IN (SELECT row FROM renamed)');
  await connection.run('INSERT INTO staged FROM renamed');
  await connection.run('DROP TABLE renamed');
}

/** Returns how many events it drops. */
async function dropForgotten(connection: DuckDBConnection, forgottenAmong: ForgottenAmong): Promise<number> {
  const forgotten = await forgottenAmong(async () => {
    const hashes = await connection.runAndReadAll('SELECT DISTINCT sha256(distinct_id) FROM staged');
    return hashes.getRows().map(([sha256]) => String(sha256));
  });
  if (forgotten.length === 0) return 0;
  await makeForgottenTable(connection, forgotten);
  const isTheirs = isForgotten('timestamp_us');
  const [events = 0] = await numbers(connection, `DELETE FROM staged WHERE event IS NOT NULL AND ${isTheirs}`);
  // A state of a person is no event; what deletes one stays.
  await connection.run(`DELETE FROM staged WHERE event IS NULL AND json_exists(person, '$.state') AND ${isTheirs}`);
  return events;
}

async function dropKnown(
  connection: DuckDBConnection,
  lake: Overlapping,
  same: SameEvents,
  isAgain: boolean,
): Promise<Pick<StagedBatch, 'known' | 'knownHours'>> {
  const [min, max] = await numbers(
    connection,
    'SELECT min(timestamp_us), max(timestamp_us) FROM staged WHERE event IS NOT NULL',
  );
  if (min === undefined || max === undefined) return { known: 0, knownHours: NO_HOURS };
  const within = same.withinMs * 1000;
  const columns = same.columns.join(', ');
  // Of those of which each lies within so long of the one before, the first that came is kept, whatever its time.
  const [again] = await numbers(
    connection,
    `DELETE FROM staged WHERE row IN (
      SELECT row FROM (
        SELECT *, count(*) FILTER (is_apart) OVER (PARTITION BY ${columns} ORDER BY timestamp_us, row) AS chain FROM (
          SELECT row, ${[...new Set([...same.columns, 'timestamp_us'])].join(', ')}, coalesce(timestamp_us - lag(timestamp_us) OVER (
            PARTITION BY ${columns} ORDER BY timestamp_us, row) > ${within}, true) AS is_apart
          FROM staged WHERE event IS NOT NULL AND (uuid IN (FROM repeated) OR row IN (SELECT row FROM numbered))))
      QUALIFY row_number() OVER (PARTITION BY ${columns}, chain ORDER BY row) > 1)`,
  );
  const [from, to] = [Math.floor(min / 1000) - same.withinMs, Math.floor(max / 1000) + same.withinMs];
  const { paths, rows } = await lake(from, to, connection);
  if (paths.length === 0) return { known: again ?? 0, knownHours: NO_HOURS };
  const both = `${rows} s JOIN ${parquet(paths)} f USING (${columns})
      WHERE f.timestamp_us BETWEEN ${min - within} AND ${max + within}
        AND abs(f.timestamp_us - s.timestamp_us) <= ${within}`;
  const hours = isAgain
    ? await connection.runAndReadAll(
        `SELECT f.inserted_us // ${HOUR_US}, bool_or(s.person IS NOT NULL) FROM ${both} GROUP BY ALL`,
      )
    : undefined;
  const found = hours?.getRows() ?? [];
  const knownHours = {
    events: found.map(([hour]) => Number(hour)),
    persons: found.filter(([, ofPersons]) => ofPersons === true).map(([hour]) => Number(hour)),
  };
  const [there] = await numbers(connection, `DELETE FROM staged WHERE row IN (SELECT s.row FROM ${both})`);
  return { known: (again ?? 0) + (there ?? 0), knownHours };
}

/** The first row's numbers; without those that are null. For DELETE, how many rows it removed. */
async function numbers(connection: DuckDBConnection, sql: string): Promise<number[]> {
  const answer = await connection.runAndReadAll(sql);
  return (answer.getRows()[0] ?? []).filter((value) => value !== null).map(Number);
}
