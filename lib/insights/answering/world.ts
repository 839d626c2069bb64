/** The world of insights over DuckDB: HogQL over the lake's files, persons resolved through merges. */

import { hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import {
  type DuckDBConnection,
  type DuckDBInstance,
  DuckDBListValue,
  DuckDBStructValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import { messageOf } from '../../basics/text.ts';
import { type DatabaseLimits, openDatabase, ownFolder, parquet, pathList } from '../../duckdb/database.ts';
import { isOfValues, isOutOfMemory } from '../../duckdb/failures.ts';
import { DUCKDB } from '../../hogql/duckdb.ts';
import { duckdbSelect } from '../../hogql/duckdb-select.ts';
import { elementType, isList, isTuple, partTypes, type Type, type WholeQuery } from '../../hogql/expression.ts';
import { readsJson, sortsGroups } from '../../hogql/facts.ts';
import type { Parser } from '../../hogql/parse.ts';
import type { RelationOf } from '../../hogql/print-select.ts';
import { withPropertyColumns } from '../../hogql/property-columns.ts';
import { onlyTellsApart } from '../../hogql/told-apart.ts';
import { eventRows, type HotFile, hotColumn, hotPropertiesOf } from '../../lake/hot-columns.ts';
import { intactFiles } from '../../lake/intact.ts';
import { LAKE_MODELS, type Model } from '../../lake/schema.ts';
import { inWords } from '../../ports/disk-failures.ts';
import { invalid } from '../../ports/errors.ts';
import type { FileStore } from '../../ports/files/files.ts';
import { valuesInWords } from '../../ports/queries/values.ts';
import {
  type CheckedQuestion,
  type LookingWorld,
  lookingWorlds,
  type Moment,
  type WorldFile,
  type WorldFiles,
} from './looking-world.ts';
import { queryFailure, TOO_MANY_ROWS } from './query-failures.ts';
import { type NumberedPersons, OutOfMemory, RESOLVED_COLUMNS, resolvedEvents } from './resolved-events.ts';
import {
  personsOf,
  propertyBy,
  readsOnlyPersonIds,
  relation,
  type Sources,
  type TableDialect,
  tiesOfPersons,
} from './tables.ts';

export interface WorldDatabase {
  world(files: WorldFiles, moment: Moment, options?: WorldUse): LookingWorld;
  /** Gives back memory and disk. */
  close(): Promise<void>;
}

/** What else is known of the questions of a world. */
interface WorldUse {
  /** Is told which files a question reads, and may refuse it. */
  readonly reads?: ((files: readonly WorldFile[]) => void) | undefined;
  /** Is told what failed of what is kept of files, where an answer was found without it. */
  readonly warn?: ((error: unknown) => void) | undefined;
  /** Others are asked of the same files, before these or after them. Default: that is seen when they are. */
  readonly isRepeated?: boolean;
}

interface WorldOptions extends DatabaseLimits {
  readonly lake: Pick<FileStore, 'address' | 'root'>;
  readonly parser?: Parser;
  /** Where it is kept, for processes that start later, what the program's own questions are parsed to. Default: nowhere. */
  readonly parsed?: Pick<FileStore, 'read' | 'write'>;
}

const DUCKDB_TABLES: TableDialect = {
  argMin: (of, by) => `arg_min(${of}, ${by})`,
  argMax: (of, by) => `arg_max(${of}, ${by})`,
  sortedList: (of) => `list(${of} ORDER BY ${of})`,
  slash: '//',
  property: propertyBy(DUCKDB),
};

/** What a kind folds is held in memory: so many values, and so many characters of text. */
const MAX_VALUES = 5_000_000;
const MAX_CHARACTERS = 100_000_000;

/** Whether what is asked of a table is of resolved events. */
const isOfResolved = (table: string, columns: ReadonlySet<string>): boolean =>
  table === 'events' && [...columns].every((column) => RESOLVED_COLUMNS.has(column));

/** Files whose columns are kept. */
const MAX_KNOWN = 50_000;

/** Returns what makes worlds. It opens DuckDB when it is first asked something. */
export function worldDatabase({ lake, parser, parsed, ...limits }: WorldOptions): WorldDatabase {
  const folder = limits.tempDirectory ?? ownFolder();
  let database: Promise<DuckDBInstance> | undefined;
  const isIntact = intactFiles();
  const lookingWorld = lookingWorlds(parser, parsed);

  const connected: Connected = async (work) => {
    // Under its name a file of the lake never becomes another, and each is found intact before it is read.
    database ??= openDatabase({ ...limits, tempDirectory: folder, places: [lake.root], keepsMetadata: true });
    const connection = await (await database).connect();
    try {
      return await work(connection);
    } catch (error) {
      throw explained(error);
    } finally {
      connection.closeSync();
    }
  };

  /** Returns where the files lie, as they were written. */
  const opened = async (files: readonly WorldFile[]): Promise<string[]> => {
    const paths = files.map(({ path }) => lake.address(path));
    for (const [n, file] of files.entries()) await isIntact({ ...file, local: paths[n] as string });
    return paths;
  };

  const personRowsOf = async (files: readonly WorldFile[]): Promise<string> =>
    files.length === 0 ? nothing('persons') : parquet(await opened(files));

  const hotFilesOf = hotFiles(connected, opened);
  let tiesOf = keptTies(connected, personRowsOf);
  let resolved = resolvedEvents(connected);

  /** Answers a question out of the files that it reads, or of what is kept of them. */
  const answerQuestion = async (
    { checked, at, tables, isTied, hasPersons, hasEvents, events, ...of }: CheckedQuestion,
    { reads, warn, isRepeated = false }: WorldUse,
  ): Promise<unknown[][]> => {
    reads?.(of.reads);
    const sourcesOf = async (ties: () => Promise<string>): Promise<Sources> => {
      const eventFiles = hasEvents ? await hotFilesOf(events) : [];
      const hot = new Set(eventFiles.flatMap((file) => [...file.hot]));
      return {
        events: (columns) => (eventFiles.length === 0 ? nothing('events') : eventRows(eventFiles, columns)),
        columnOf: (property) => (hot.has(property) ? hotColumn(property) : undefined),
        ties: isTied ? await ties() : '',
        persons: hasPersons ? personsOf(await personRowsOf(of.persons), DUCKDB_TABLES) : '',
      };
    };
    const textTies = () => tiesOf(of.persons);
    const answered = async (query: WholeQuery, relationOf: RelationOf): Promise<unknown[][]> => {
      const sql = duckdbSelect(query, relationOf, at);
      const types = checked.columns.map(({ type }) => type);
      const isShort = of.isSmall || types.every((type) => SHORT.has(type));
      return connected((connection) => all(connection, sql, types, isShort));
    };
    const fromFiles = async (numbered?: NumberedPersons): Promise<unknown[][]> => {
      const sources = await sourcesOf(numbered === undefined ? textTies : async () => numbered.ties);
      const { columnOf } = sources;
      const query = withPropertyColumns(checked.query, { table: 'events', document: 'properties', columnOf });
      return answered(query, (table, columns) =>
        relation(table, columns, { ...sources, personOf: numbered?.personOf }, DUCKDB_TABLES),
      );
    };
    if (events.length === 0) return fromFiles();
    const looked = {
      paths: [...events, ...of.persons].map(({ path }) => path),
      rows: async () => {
        const { events: eventsWith, ties } = await sourcesOf(textTies);
        const paths = pathList(events.map(({ path }) => lake.address(path)));
        return {
          events: eventsWith(new Set(['event', 'timestamp_us', 'distinct_id', 'person_id'])),
          ties,
          count: `SELECT sum(num_rows) FROM parquet_file_metadata(${paths})`,
        };
      },
      warn,
    };
    return resolved.during(looked, { ...asksOf(checked.query, tables, isTied), isRepeated }, (found) =>
      found !== undefined && 'events' in found
        ? answered(checked.query, () => found.events)
        : fromFiles(found?.persons),
    );
  };

  return {
    world: (files, moment, use = {}) => lookingWorld(files, moment, (question) => answerQuestion(question, use)),
    close: async () => {
      (await database)?.closeSync();
      database = undefined;
      tiesOf = keptTies(connected, personRowsOf);
      resolved = resolvedEvents(connected);
      if (limits.tempDirectory === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns what a question asks of events whose persons are resolved. */
const asksOf = (query: WholeQuery, tables: CheckedQuestion['tables'], isTied: boolean) => ({
  isTied,
  // What takes a text for JSON takes a value of a type that lists texts for one that is to be written as JSON.
  isResolved: tables.every(([table, columns]) => isOfResolved(table, columns)) && !readsJson(query),
  isNumbered:
    isTied &&
    tables.every(([table, columns]) => readsOnlyPersonIds(table, columns)) &&
    onlyTellsApart(query, 'events', 'person_id'),
  isSorted: sortsGroups(query),
});

type Connected = <T>(work: (connection: DuckDBConnection) => Promise<T>) => Promise<T>;

/** Returns what tells which properties have columns in files, and remembers it; no file ever changes. */
function hotFiles(connected: Connected, opened: (files: readonly WorldFile[]) => Promise<string[]>) {
  const known = new Map<string, ReadonlySet<string>>();
  return async (files: readonly WorldFile[]): Promise<HotFile[]> => {
    const paths = await opened(files);
    const unknown = paths.filter((path) => !known.has(path));
    if (known.size + unknown.length > MAX_KNOWN) known.clear();
    const wanted = paths.filter((path) => !known.has(path));
    if (wanted.length > 0)
      for (const [path, hot] of await connected((connection) => hotPropertiesOf(connection, wanted)))
        known.set(path, hot);
    return paths.map((path) => ({ path, hot: known.get(path) ?? new Set() }));
  };
}

/**
 * Returns what makes a table of the ties of some files, and tells its name. The last one is kept: questions of one answer,
 * and answers of one dashboard, ask for the same.
 */
function keptTies(connected: Connected, personRowsOf: (files: readonly WorldFile[]) => Promise<string>) {
  let ties: { readonly name: string; readonly made: Promise<void> } | undefined;
  return async (files: readonly WorldFile[]): Promise<string> => {
    const digest = hash('sha256', files.map(({ path }) => path).join('\n'));
    const name = `ties_${digest.slice(0, 32)}`;
    if (ties?.name !== name) {
      const before = ties;
      const made = personRowsOf(files).then((rows) =>
        connected(async (connection) => {
          await before?.made.catch(() => {});
          if (before !== undefined) await connection.run(`DROP TABLE IF EXISTS ${before.name}`);
          await connection.run(`CREATE OR REPLACE TABLE ${name} AS ${tiesOfPersons(rows, DUCKDB_TABLES)}`);
        }),
      );
      ties = { name, made };
      made.catch(() => {
        if (ties?.name === name) ties = undefined;
      });
    }
    await ties?.made;
    return name;
  };
}

/** Rows of a model, of which there are none. */
const nothing = (model: Model): string =>
  `(SELECT ${LAKE_MODELS[model].columns.map(({ name, type }) => `NULL::${type} AS ${name}`).join(', ')} WHERE false)`;

async function all(
  connection: DuckDBConnection,
  sql: string,
  types: readonly Type[],
  isShort: boolean,
): Promise<unknown[][]> {
  const found: unknown[][] = [];
  const readers = types.map(readerOf);
  let [values, characters] = [0, 0];
  const measured = (value: unknown): unknown => {
    if (typeof value === 'string') characters += value.length;
    else if (Array.isArray(value)) {
      values += value.length;
      value.forEach(measured);
    }
    return value;
  };
  // What is streamed is planned twice, so that a result of which it is known that it is short comes at once.
  const result = isShort ? await connection.run(sql) : await connection.stream(sql);
  for await (const chunk of result) {
    for (const row of chunk.getRows()) found.push(row.map((value, n) => measured(readers[n]?.(value) ?? null)));
    values += chunk.rowCount * types.length;
    if (values > MAX_VALUES || characters > MAX_CHARACTERS) invalid('query', TOO_MANY_ROWS);
  }
  return found;
}

/** Types whose values are of one size: rows of them are numbers, which are few. */
const SHORT: ReadonlySet<Type> = new Set(['integer', 'float', 'boolean', 'instant', 'date']);

type Read = (value: DuckDBValue) => unknown;

/** How a value of a type comes out of DuckDB; null is null. A tuple is a list of its parts. */
function readerOf(type: Type): Read {
  if (isTuple(type)) {
    const parts = partTypes(type).map(readerOf);
    return (tuple) =>
      tuple instanceof DuckDBStructValue ? parts.map((read, n) => read(tuple.entries[`f${n + 1}`] ?? null)) : null;
  }
  if (isList(type)) {
    const one = readerOf(elementType(type));
    return (list) =>
      list instanceof DuckDBListValue ? list.items.map((item) => (item === null ? null : one(item))) : null;
  }
  if (type === 'integer')
    return (value) => {
      const number = Number(value);
      return value === null ? null : Number.isSafeInteger(number) ? number : String(value);
    };
  if (type === 'instant' || type === 'date') return (value) => (value === null ? null : Number(value) / 1000);
  return (value) => value;
}

/** What the values of a caller's query may lead to. */
function explained(thrown: unknown): unknown {
  const error = inWords(thrown);
  if (isOutOfMemory(error)) return new OutOfMemory();
  return isOfValues(error) ? queryFailure(valuesInWords(messageOf(error))) : error;
}
