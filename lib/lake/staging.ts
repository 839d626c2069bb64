/**
 * Where a batch waits between its source and the lake: lines of text in a file, then a table of a DuckDB of the
 * import's own. There rows get their final uuids, known ones are dropped, and what is left is written as Parquet.
 *
 * Memory does not grow with the import: what DuckDB cannot hold it spills.
 */
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Spool } from '../spool/spool.ts';
import { literal, openDatabase, parquet } from '../warehouse/embedded-database.ts';
import { arrivalSql } from './arrival.ts';
import { dayOf, type LakeFile, type WrittenFile } from './lake.ts';
import { EVENT_COLUMNS, FILE_ORDER, ROW_GROUP } from './schema.ts';
import type { SourceEvent } from './sources/event.ts';

/** A row's place: which file of the import, and whether its uuid is its own (else it is made of its line). */
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
};

/** The longest row in bytes: a line of 1 MiB may grow, as JSON, by escapes. */
export const LONGEST_ROW = 4 * 1024 * 1024;
/** DuckDB wants room for four rows. */
const READ_BUFFER = 4 * LONGEST_ROW;

const SEPARATOR = '\x1f';
/** Marks a text with control characters, written as JSON, so that no row holds a separator or a line end. */
const ESCAPED = '\x1a';
const field = (text: string): string => (/\p{Cc}/u.test(text) ? ESCAPED + JSON.stringify(text) : text);

/** A row as a line of the staging file. JSON text holds no control character; nothing stands for null. */
export const stagedLine = (row: StagedRow): string =>
  `${row.row}${SEPARATOR}${row.file}${SEPARATOR}${row.own}${SEPARATOR}${row.uuid}${SEPARATOR}${field(row.event)}` +
  `${SEPARATOR}${field(row.distinctId)}${SEPARATOR}${row.properties}${SEPARATOR}${row.timestamp}` +
  `${SEPARATOR}${row.created ?? ''}${SEPARATOR}${row.personId ?? ''}${SEPARATOR}${row.personProperties ?? ''}` +
  `${SEPARATOR}${field(row.elementsChain ?? '')}`;

const unescaped = (column: string): string =>
  `CASE WHEN starts_with(${column}, chr(26)) THEN json_extract_string(substr(${column}, 2), '$') ELSE ${column} END AS ${column}`;

/** The uuid of the n-th line that equals the first: version 8, of a SHA-256 of the first's uuid and n. */
const NTH_UUID = `regexp_replace(sha256(concat(first, ' ', n)),
  '^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$', '\\1-\\2-8\\3-a\\4-\\5')`;

/** What is in the staging table, after known rows were dropped. */
export interface StagedBatch {
  readonly rows: number;
  /** How many were dropped: they are in the lake, or were in this batch before. */
  readonly known: number;
}

export interface Staging {
  /**
   * Takes a staging file in and drops what is known. `lake` tells the files that may hold an equal event by the
   * batch's range of timestamps (milliseconds).
   */
  load(file: string, lake: (min: number, max: number) => readonly string[]): Promise<StagedBatch>;
  /** Writes the batch as Parquet, so stamped, into a folder of the lake: a file for each day of arrival. */
  write(stamp: { at: number; historyEnd: number }, folder: string, lake: Spool): Promise<WrittenFile[]>;
  close(): void;
}

/** Staging for one import into one project; its files lie in `folder`, which is the caller's to remove. */
export async function openStaging(folder: string, projectId: number): Promise<Staging> {
  const database = await openDatabase({ memoryLimit: '600MB', tempDirectory: join(folder, 'spill') });
  const connection = await database.connect();
  const columns = Object.entries(STAGED).map(([name, type]) => `${name} ${type}`);
  await connection.run(`CREATE TABLE staged (${columns.join(', ')})`);
  // What earlier batches held of the file that goes on in the next one: a row for each line.
  await connection.run('CREATE TABLE seen (file INTEGER, first UUID)');

  return {
    load: async (file, lake) => {
      await connection.run('TRUNCATE staged');
      await connection.run(`INSERT INTO staged SELECT * REPLACE (
          ${['event', 'distinct_id', 'elements_chain'].map(unescaped).join(', ')}) FROM ${stagingFile(file)}`);
      await numberEqualLines(connection);
      const known = await dropKnown(connection, lake);
      const [rows] = await numbers(connection, 'SELECT count(*) FROM staged');
      return { rows: rows ?? 0, known };
    },

    write: async (stamp, target, lake) => {
      const arrival = arrivalSql(stamp.historyEnd, stamp.at);
      const rows = `(SELECT * EXCLUDE (created_us), ${projectId}::BIGINT AS team_id, ${arrival} AS inserted_us,
          coalesce(created_us, ${stamp.at * 1000}::BIGINT) AS created_us FROM staged)`;
      const days = await contentByDay(connection, rows);
      const local = join(folder, 'parquet');
      await mkdir(local, { recursive: true });
      const written: WrittenFile[] = [];
      for (const about of days) {
        const day = dayOf(about.min_arrival);
        const path = join(local, `${day}.parquet`);
        const from = Date.parse(day) * 1000;
        await connection.run(`COPY (
            SELECT ${EVENT_COLUMNS.map(({ name }) => name).join(', ')} FROM ${rows}
            WHERE inserted_us >= ${from} AND inserted_us < ${from + 86_400_000_000}
            ORDER BY ${FILE_ORDER.join(', ')}
          ) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP})`);
        const { size } = await stat(path);
        const name = `${day}.parquet`;
        await lake.take(path, `${target}${name}`);
        written.push({ name, bytes: size, ...about });
      }
      await rm(local, { recursive: true, force: true });
      return written;
    },

    close: () => {
      connection.closeSync();
      database.closeSync();
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
  await connection.run(`UPDATE staged SET uuid = ${NTH_UUID} FROM numbered
      WHERE staged.row = numbered.row AND numbered.n > 1`);
}

async function dropKnown(
  connection: DuckDBConnection,
  lake: (min: number, max: number) => readonly string[],
): Promise<number> {
  const [min, max] = await numbers(connection, 'SELECT min(timestamp_us), max(timestamp_us) FROM staged');
  if (min === undefined || max === undefined) return 0;
  const [again] = await numbers(
    connection,
    `DELETE FROM staged WHERE row IN (
      SELECT row FROM staged WHERE uuid IN (FROM repeated) OR row IN (SELECT row FROM numbered)
      QUALIFY row_number() OVER (PARTITION BY uuid, timestamp_us ORDER BY row) > 1)`,
  );
  const paths = lake(Math.floor(min / 1000), Math.floor(max / 1000));
  if (paths.length === 0) return again ?? 0;
  const [there] = await numbers(
    connection,
    `DELETE FROM staged WHERE row IN (
      SELECT s.row FROM staged s JOIN ${parquet(paths)} f ON f.uuid = s.uuid AND f.timestamp_us = s.timestamp_us
      WHERE f.timestamp_us BETWEEN ${min} AND ${max})`,
  );
  return (again ?? 0) + (there ?? 0);
}

type Content = Omit<LakeFile, 'path' | 'bytes'>;

/** What each arrival day of the rows holds, in order. */
async function contentByDay(connection: DuckDBConnection, rows: string): Promise<Content[]> {
  const answer = await connection.runAndReadAll(`
    SELECT inserted_us // 3600000000 AS hour, count(*), min(inserted_us), max(inserted_us), min(timestamp_us), max(timestamp_us)
    FROM ${rows} GROUP BY hour ORDER BY hour`);
  const days = new Map<number, { -readonly [Key in keyof Content]: Content[Key] } & { counts: number[] }>();
  for (const [hour = 0, count = 0, ...instants] of answer.getRows().map((values) => values.map(Number))) {
    const [minArrival = 0, maxArrival = 0, minTimestamp = 0, maxTimestamp = 0] = instants.map((us) =>
      Math.floor(us / 1000),
    );
    const day = Math.floor(hour / 24);
    const found = days.get(day);
    const counts = found?.counts ?? Array.from({ length: 24 }, () => 0);
    counts[hour % 24] = count;
    days.set(day, {
      rows: (found?.rows ?? 0) + count,
      min_arrival: found?.min_arrival ?? minArrival,
      max_arrival: maxArrival,
      min_timestamp: Math.min(found?.min_timestamp ?? minTimestamp, minTimestamp),
      max_timestamp: Math.max(found?.max_timestamp ?? maxTimestamp, maxTimestamp),
      hours: '',
      counts,
    });
  }
  return [...days.values()].map(({ counts, ...about }) => ({ ...about, hours: JSON.stringify(counts) }));
}

/** The first row's numbers; without those that are null. For DELETE, how many rows it removed. */
async function numbers(connection: DuckDBConnection, sql: string): Promise<number[]> {
  const answer = await connection.runAndReadAll(sql);
  return (answer.getRows()[0] ?? []).filter((value) => value !== null).map(Number);
}
