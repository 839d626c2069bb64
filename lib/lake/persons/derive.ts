/**
 * The change rows of persons that a staged batch gives rise to. DuckDB finds the states that the batch touches, puts
 * states and changes into groups that have to do with one another, and sorts them; here they are folded, a group at a
 * time. So memory holds one group, and the rest is DuckDB's to spill.
 */
import type { DuckDBConnection, DuckDBInstance, DuckDBValue } from '@duckdb/node-api';
import { MIB } from '../../basics/units.ts';
import { connected, parquet } from '../../duckdb/database.ts';
import { PERSON_COLUMNS } from '../schema.ts';
import { readPersonChange } from './change.ts';
import { PersonFold, type PersonRow } from './fold.ts';
import { bothRefused, type PersonRefusal, type RefusedChanges } from './refusals.ts';

/** Local files with all states of the distinct_ids in these buckets (default: all): the snapshot, and changes since. */
export type StateFiles = (buckets?: readonly number[]) => Promise<readonly string[]>;

/** The states of a project are kept in so many files, by their distinct_ids. */
const BUCKETS = 64;

/** SQL of a distinct_id's bucket; the same in every version of DuckDB. */
export const BUCKET = `(md5_number_lower(distinct_id) % ${BUCKETS})::INTEGER`;

/**
 * SQL of a condition that holds for a distinct_id's newest row, of rows without properties: of few distinct_ids among a
 * million states they are found in half the time that `newestIn` takes.
 */
const NEWEST = 'row_number() OVER (PARTITION BY distinct_id ORDER BY inserted_us DESC) = 1';

/** SQL of a number of each row of files: the newer the greater, and no two have the same. Millions are compared on the disk. */
const RANK = 'inserted_us * (1::HUGEINT << 60) + (file_index << 40) + file_row_number';

/**
 * SQL of the newest row of each distinct_id in files, to stand behind FROM: one, also where files hold the same row. Which
 * it is, is found without properties: the states of one person before may be many, and large.
 */
export const newestIn = (files: readonly string[], condition = 'true'): string =>
  files.length === 0
    ? states(files)
    : `(SELECT rows.* FROM ${parquet(files)} rows SEMI JOIN (
        SELECT distinct_id, max(${RANK}) AS newest FROM ${parquet(files)} WHERE ${condition} GROUP BY distinct_id
      ) known ON rows.distinct_id = known.distinct_id AND ${RANK} = newest)`;

/** The columns of persons' states, as SQL. */
export const COLUMNS = PERSON_COLUMNS.map(({ name }) => name).join(', ');

/**
 * SQL of the rows, to stand behind FROM. Those of a person with many distinct_ids have the same properties, which are
 * there once.
 */
export const DERIVED = `(SELECT ${COLUMNS} FROM person_rows
    UNION ALL SELECT ${COLUMNS} FROM person_repeats JOIN person_repeated USING (text))`;

/** Of so many distinct_ids and more the properties are there once. Few persons have them, and to join them takes time. */
const MANY = 16;

/**
 * In which order changes are made that arrive at once. `time`: in that of their timestamps, as of files that tell a history
 * in any order. `rows`: in that of their rows, which is the one in which they were sent here, whatever they say of the time.
 */
export type ChangesInOrderOf = 'time' | 'rows';

interface DeriveOptions {
  readonly projectId: number;
  /** Arrival of a change that comes late, microseconds. */
  readonly at: number;
  /** SQL over `timestamp_us`: arrival of a change that does not. */
  readonly arrival: string;
  readonly changesInOrderOf: ChangesInOrderOf;
  readonly states: StateFiles;
  readonly signal: AbortSignal;
}

/** Makes the rows of `DERIVED` to which `staged` gives rise. Returns which changes were refused. */
export const derivePersons = (database: DuckDBInstance, options: DeriveOptions): Promise<RefusedChanges> =>
  connected(database, async (connection) => {
    try {
      await connection.run(`CREATE OR REPLACE TABLE person_changes AS
        SELECT row, distinct_id, person AS change, person->>'$.merge' AS other, person->>'$.person' AS named,
          timestamp_us, ${options.arrival} AS arrival
        FROM staged WHERE person IS NOT NULL`);
      await findStates(connection, options.states);
      await groupStates(connection);
      return await connected(database, (writing) => foldGroups(connection, writing, options));
    } finally {
      for (const table of [
        'changes',
        'asked',
        'found',
        'wider',
        'others',
        'texts',
        'links',
        'nodes',
        'roots',
        'groups',
      ])
        await connection.run(`DROP TABLE IF EXISTS person_${table}`);
    }
  });

/**
 * Makes `person_found`: the states of all distinct_ids of every person that a change may touch, without properties; and
 * `person_texts`: the properties of each of these persons, once, with one of their distinct_ids.
 */
async function findStates(connection: DuckDBConnection, files: StateFiles): Promise<void> {
  await connection.run(`CREATE OR REPLACE TABLE person_asked AS
    SELECT distinct_id FROM person_changes UNION SELECT other FROM person_changes WHERE other IS NOT NULL`);
  const buckets = new Set(await bucketsOf(connection, 'person_asked'));
  await connection.run(`CREATE OR REPLACE TABLE person_found AS
    SELECT * EXCLUDE (properties) FROM ${states(await files([...buckets]))}
    WHERE distinct_id IN (FROM person_asked) QUALIFY ${NEWEST}`);

  await connection.run(`CREATE OR REPLACE TABLE person_wider AS
    SELECT person_id FROM person_found WHERE NOT is_deleted GROUP BY person_id HAVING count(*) < max(distinct_ids)
    UNION SELECT named FROM person_changes WHERE named IS NOT NULL
      AND named NOT IN (SELECT person_id FROM person_found WHERE NOT is_deleted)`);
  const [more] = await column(connection, 'SELECT count(*) FROM person_wider');
  if (Number(more) > 0) {
    // Of all states two columns are read, and then those of few buckets.
    await connection.run(`CREATE OR REPLACE TABLE person_others AS
      SELECT DISTINCT distinct_id FROM ${states(await files())}
      WHERE person_id IN (FROM person_wider) AND distinct_id NOT IN (SELECT distinct_id FROM person_found)`);
    const others = await bucketsOf(connection, 'person_others');
    for (const bucket of others) buckets.add(bucket);
    // A row that names the person may be an old one: what counts is the newest row of its distinct_id.
    await connection.run(`INSERT INTO person_found SELECT * FROM (
        SELECT * EXCLUDE (properties) FROM ${states(await files(others))}
        WHERE distinct_id IN (FROM person_others) QUALIFY ${NEWEST}
      ) WHERE NOT is_deleted AND person_id IN (FROM person_wider)`);
  }
  const tellers = '(SELECT max_by(distinct_id, inserted_us) FROM person_found WHERE NOT is_deleted GROUP BY person_id)';
  await connection.run(`CREATE OR REPLACE TABLE person_texts AS
    SELECT distinct_id, properties FROM ${newestIn(await files([...buckets]), `distinct_id IN ${tellers}`)}`);
}

/** The buckets of the distinct_ids in a table. */
const bucketsOf = async (connection: DuckDBConnection, table: string): Promise<number[]> =>
  (await column(connection, `SELECT DISTINCT ${BUCKET} FROM ${table}`)).map(Number);

const states = (files: readonly string[]): string =>
  files.length > 0
    ? parquet(files)
    : `(SELECT ${PERSON_COLUMNS.map(({ name, type }) => `NULL::${type} AS ${name}`).join(', ')} WHERE false)`;

/** Makes `person_groups`: for each distinct_id the number of its group. What a link joins is in one group. */
async function groupStates(connection: DuckDBConnection): Promise<void> {
  await connection.run(`CREATE OR REPLACE TABLE person_links AS
    SELECT concat('d', distinct_id) AS a, a AS b FROM person_asked
    UNION ALL SELECT concat('d', distinct_id), concat('d', other) FROM person_changes WHERE other IS NOT NULL
    UNION ALL SELECT DISTINCT concat('d', distinct_id), concat('p', named) FROM person_changes WHERE named IS NOT NULL
    UNION ALL SELECT concat('d', distinct_id), concat('p', person_id) FROM person_found WHERE NOT is_deleted`);
  await connection.run(`CREATE OR REPLACE TABLE person_nodes AS
    SELECT row_number() OVER () - 1 AS n, name FROM (SELECT a AS name FROM person_links UNION SELECT b FROM person_links)`);
  const [count] = await column(connection, 'SELECT count(*) FROM person_nodes');
  const rootOf = joining(Number(count));
  const links = await connection.stream(`SELECT x.n::INTEGER, y.n::INTEGER FROM person_links
    JOIN person_nodes x ON x.name = a JOIN person_nodes y ON y.name = b WHERE a <> b`);
  for await (const chunk of links) {
    const [from = [], to = []] = chunk.getColumns() as [number[]?, number[]?];
    for (const [at, node] of from.entries()) rootOf.join(node, to[at] as number);
  }
  await connection.run('CREATE OR REPLACE TABLE person_roots (n INTEGER, root INTEGER)');
  const appender = await connection.createAppender('person_roots');
  for (let node = 0; node < Number(count); node += 1) {
    const root = rootOf.find(node);
    if (root === node) continue;
    appender.appendInteger(node);
    appender.appendInteger(root);
    appender.endRow();
  }
  appender.closeSync();
  await connection.run(`CREATE OR REPLACE TABLE person_groups AS
    SELECT substr(name, 2) AS distinct_id, coalesce(root, n) AS number
    FROM person_nodes LEFT JOIN person_roots USING (n) WHERE starts_with(name, 'd')`);
}

/** Union-find over the numbers below `count`; four bytes for each. */
function joining(count: number): { join(a: number, b: number): void; find(n: number): number } {
  const parents = Int32Array.from({ length: count }, (_, n) => n);
  const find = (n: number): number => {
    let at = n;
    for (let parent = parents[at] as number; parent !== at; parent = parents[at] as number) {
      const above = parents[parent] as number;
      parents[at] = above;
      at = above;
    }
    return at;
  };
  return { find, join: (a, b) => void (parents[find(a)] = find(b)) };
}

/** States come before changes, and these in the order of arrival, then of time if that counts, then of rows. */
const inGroups = (order: ChangesInOrderOf): string => `
  SELECT number, change, distinct_id, person_id, properties, person_distinct_id_version, person_version,
    created_us, is_deleted, is_identified, stated_version, stated_tie, timestamp_us, arrival
  FROM (
    SELECT *, 1 AS kind FROM person_changes JOIN person_groups USING (distinct_id)
    UNION ALL BY NAME
    SELECT *, 0 AS kind FROM person_found JOIN person_groups USING (distinct_id) LEFT JOIN person_texts USING (distinct_id)
  ) ORDER BY number, kind, arrival, ${order === 'time' ? 'timestamp_us, ' : ''}row`;

/** `writing`: another connection, for what is made while the groups are read. */
async function foldGroups(
  connection: DuckDBConnection,
  writing: DuckDBConnection,
  { projectId, at, changesInOrderOf, signal }: DeriveOptions,
): Promise<RefusedChanges> {
  const { give, end } = await derivedTables(writing, projectId);
  let refused: RefusedChanges = {};
  const refuse = (reason: PersonRefusal, distinctId: string): void => {
    refused = bothRefused(refused, { [reason]: { changes: 1, distinctId } });
  };
  let current: { readonly group: DuckDBValue; readonly fold: PersonFold } | undefined;
  for await (const chunk of await connection.stream(inGroups(changesInOrderOf))) {
    signal.throwIfAborted();
    for (const values of chunk.getRows()) {
      const [group = null, change, distinctId, personId, properties, tieVersion, version, created] = values;
      const [isDeleted, isIdentified, statedVersion, statedTie, timestamp, arrival] = values.slice(8);
      if (current === undefined || current.group !== group) {
        current?.fold.end();
        current = { group, fold: new PersonFold(projectId, at, give, refuse) };
      }
      if (typeof change === 'string') {
        const of = { distinctId: String(distinctId), timestamp: Number(timestamp), arrival: Number(arrival) };
        current.fold.apply(readPersonChange(change), of);
        continue;
      }
      current.fold.know({
        distinct_id: String(distinctId),
        person_id: String(personId),
        properties: typeof properties === 'string' ? properties : null,
        person_distinct_id_version: Number(tieVersion),
        person_version: Number(version),
        created_us: Number(created),
        is_deleted: isDeleted === true,
        is_identified: isIdentified === true,
        stated_version: Number(statedVersion),
        stated_tie: Number(statedTie),
      });
    }
  }
  current?.fold.end();
  end();
  return refused;
}

/** So many characters of properties are held in memory before DuckDB has them, which may spill them. */
const HELD_LENGTH = 4 * MIB;

/** Makes the tables of `DERIVED` anew. Returns what adds a row to them, and what ends that. */
async function derivedTables(connection: DuckDBConnection, projectId: number) {
  const columns = PERSON_COLUMNS.map(({ name, type }) => `${name} ${type}`);
  const repeating = columns.map((column) => (column.startsWith('properties ') ? 'text INTEGER' : column));
  await connection.run(`CREATE OR REPLACE TABLE person_rows (${columns.join(', ')})`);
  await connection.run(`CREATE OR REPLACE TABLE person_repeats (${repeating.join(', ')})`);
  await connection.run('CREATE OR REPLACE TABLE person_repeated (text INTEGER, properties VARCHAR)');
  const rows = await connection.createAppender('person_rows');
  const repeats = await connection.createAppender('person_repeats');
  const repeated = await connection.createAppender('person_repeated');
  let [held, texts, text] = [0, 0, ''];
  const give = (row: PersonRow): void => {
    const isShared = row.distinct_ids >= MANY;
    if (isShared && (texts === 0 || text !== row.properties)) {
      text = row.properties;
      texts += 1;
      repeated.appendInteger(texts);
      repeated.appendVarchar(text);
      repeated.endRow();
      held += text.length;
    }
    const appender = isShared ? repeats : rows;
    const values: Readonly<Record<string, string | number | boolean>> = { ...row, team_id: projectId };
    for (const { name, type } of PERSON_COLUMNS) {
      const value = values[name];
      if (isShared && name === 'properties') appender.appendInteger(texts);
      else if (type === 'BIGINT') appender.appendBigInt(BigInt(value as number));
      else if (type === 'BOOLEAN') appender.appendBoolean(value as boolean);
      else appender.appendVarchar(value as string);
    }
    appender.endRow();
    if (!isShared) held += row.properties.length;
    if (held < HELD_LENGTH) return;
    // By itself an appender keeps 204,800 rows, whatever their length.
    for (const one of [rows, repeated]) one.flushSync();
    held = 0;
  };
  const end = (): void => {
    for (const appender of [rows, repeats, repeated]) appender.closeSync();
  };
  return { give, end };
}

/** Returns the first column of what a query gives. */
export async function column(connection: DuckDBConnection, sql: string): Promise<DuckDBValue[]> {
  return (await connection.runAndReadAll(sql)).getRows().map(([value = null]) => value);
}
