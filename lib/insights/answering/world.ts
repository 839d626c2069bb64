/** The world of insights over DuckDB: HogQL over the lake's files, persons resolved through merges. */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import {
  type DuckDBConnection,
  type DuckDBInstance,
  DuckDBListValue,
  DuckDBStructValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import { type DatabaseLimits, openDatabase, ownFolder, parquet, pathList } from '../../duckdb/database.ts';
import { duckdbSelect } from '../../hogql/duckdb-select.ts';
import { elementType, isList, isTuple, partTypes, type Type, type WholeQuery } from '../../hogql/expression.ts';
import { hogqlParser, type Parser } from '../../hogql/parse.ts';
import { filled } from '../../hogql/placeholders.ts';
import type { RelationOf } from '../../hogql/print-select.ts';
import { withPropertyColumns } from '../../hogql/property-columns.ts';
import { lineAndColumn, Refusal, withoutPlaces } from '../../hogql/refusal.ts';
import { checkedSelect } from '../../hogql/select.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import { hogqlText } from '../../hogql/text.ts';
import { constant } from '../../hogql/write.ts';
import { eventRows, type HotFile, hotColumn, hotPropertiesOf } from '../../lake/hot-columns.ts';
import { intactFiles, type Written } from '../../lake/intact.ts';
import { LAKE_MODELS, type Model } from '../../lake/schema.ts';
import { inWords } from '../../ports/disk-failures.ts';
import { invalid, messageOf } from '../../ports/errors.ts';
import type { FileStore } from '../../ports/files/files.ts';
import { DAY_MS } from '../../ports/units.ts';
import type { Question, Rows, World } from '../kinds/kind.ts';
import { RESOLVED_COLUMNS, resolvedEvents } from './resolved-events.ts';
import { INSIGHT_TABLES, readsSessions, readsTies, relation, type Sources } from './tables.ts';

/** A file of the lake. The timestamps of its rows are milliseconds since 1970, inclusive. */
export interface WorldFile extends Partial<Written> {
  readonly path: string;
  readonly min_timestamp: number;
  readonly max_timestamp: number;
}

/** All files of a project, by model. */
export type WorldFiles = Readonly<Record<Model, readonly WorldFile[]>>;

/** Of a world what is no file. */
export type Moment = Pick<World, 'now' | 'timezone' | 'weekStartDay' | 'testAccountFilters'>;

/** What was looked at for an answer, and thus what can change it. */
export interface Looked {
  /** Timestamps of events, milliseconds since 1970, inclusive; null: without an end. */
  readonly events: readonly { readonly from: number | null; readonly to: number | null }[];
  /** Whose distinct_ids are, or what persons are like. */
  readonly persons: boolean;
  /** Now itself, so that it means something else a moment later. */
  readonly now: boolean;
  /** Properties of events that were read out of files, each once. */
  readonly properties?: readonly string[];
  /** The first question, as text. */
  readonly hogql: string | null;
}

export interface LookingWorld extends World {
  looked(): Looked;
}

export interface WorldDatabase {
  /** A world over these files. `reads` is told which of them a question reads, and may refuse it. */
  world(files: WorldFiles, moment: Moment, reads?: (files: readonly WorldFile[]) => void): LookingWorld;
  /** Gives back memory and disk. */
  close(): Promise<void>;
}

interface WorldOptions extends DatabaseLimits {
  readonly lake: Pick<FileStore, 'address' | 'root'>;
  readonly parser?: Parser;
}

/** What a kind folds is held in memory: so many values, and so many characters of text. */
const MAX_VALUES = 5_000_000;
const MAX_CHARACTERS = 100_000_000;

/** So many properties are told as read. */
const MAX_PROPERTIES = 50;

/** A session lasts a day at most, as SDKs make them. */
const LONGEST_SESSION_MS = DAY_MS;

/** Parsed texts that are kept; those of the program are fewer. */
const MAX_PARSED = 200;

/** Files whose columns are kept. */
const MAX_KNOWN = 50_000;

/** Returns what makes worlds. It opens DuckDB when it is first asked something. */
export function worldDatabase({ lake, parser = hogqlParser(), ...limits }: WorldOptions): WorldDatabase {
  const folder = limits.tempDirectory ?? ownFolder();
  let database: Promise<DuckDBInstance> | undefined;
  const isIntact = intactFiles();
  const parsed = new Map<string, Promise<Syntax>>();

  const syntaxOf = (hogql: string): Promise<Syntax> => {
    const known = parsed.get(hogql);
    if (known !== undefined) return known;
    if (parsed.size >= MAX_PARSED) parsed.clear();
    const made = parser.query(hogql);
    parsed.set(hogql, made);
    return made;
  };

  const connected = async <T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> => {
    database ??= openDatabase({ ...limits, tempDirectory: folder, places: [lake.root] });
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

  /** Which properties have columns in files that were looked at; no file ever changes. */
  const known = new Map<string, ReadonlySet<string>>();

  const hotFilesOf = async (files: readonly WorldFile[]): Promise<HotFile[]> => {
    const paths = await opened(files);
    const unknown = paths.filter((path) => !known.has(path));
    if (known.size + unknown.length > MAX_KNOWN) known.clear();
    const wanted = paths.filter((path) => !known.has(path));
    if (wanted.length > 0)
      for (const [path, hot] of await connected((connection) => hotPropertiesOf(connection, wanted)))
        known.set(path, hot);
    return paths.map((path) => ({ path, hot: known.get(path) ?? new Set() }));
  };

  /** The one table of ties that is kept: questions of one answer, and answers of one dashboard, ask for the same. */
  let ties: { readonly name: string; readonly made: Promise<void> } | undefined;

  const tiesOf = async (files: readonly WorldFile[]): Promise<string> => {
    const digest = createHash('sha256')
      .update(files.map(({ path }) => path).join('\n'))
      .digest('hex');
    const name = `ties_${digest.slice(0, 32)}`;
    if (ties?.name !== name) {
      const before = ties;
      const made = personRowsOf(files).then((rows) =>
        connected(async (connection) => {
          await before?.made.catch(() => {});
          if (before !== undefined) await connection.run(`DROP TABLE IF EXISTS ${before.name}`);
          await connection.run(`CREATE OR REPLACE TABLE ${name} AS
            SELECT distinct_id, arg_max(person_id, inserted_us) AS person_id,
              arg_max(created_us, inserted_us) AS person_created_us
            FROM ${rows} GROUP BY distinct_id`);
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

  let resolved = resolvedEvents(connected);

  return {
    world: (files, { now, ...moment }, reads) => {
      const looks: Looked['events'][number][] = [];
      const properties = new Set<string>();
      let [persons, isNow, hogql]: [boolean, boolean, string | null] = [false, false, null];

      const rows = async (question: Question): Promise<Rows> => {
        const { limit } = question;
        const { timezone: zone, weekStartDay } = moment;
        const { syntax, checked, given } = await understood(async () => {
          const syntax = filled(await syntaxOf(question.hogql), question.values ?? {});
          const given = limit === undefined ? undefined : Math.min(ownLimit(syntax) ?? limit.otherwise, limit.most);
          const asked = given === undefined ? syntax : { ...syntax, limit: constant(given + 1) };
          return { syntax, given, checked: checkedSelect(asked, { tables: INSIGHT_TABLES, zone, weekStartDay }) };
        }, limit && question.hogql);
        hogql ??= hogqlText(syntax);
        isNow ||= JSON.stringify(checked.query).includes('"now":true');
        const at = BigInt(Math.floor(now * 1000));
        const tables: [table: string, columns: ReadonlySet<string>][] = [];
        duckdbSelect(checked.query, (table, columns) => (tables.push([table, columns]), table), at);
        const isTied = tables.some(([table, columns]) => readsTies(table, columns));
        const hasPersons = tables.some(([table]) => table === 'persons');
        const hasEvents = tables.some(([table]) => table !== 'persons');
        persons ||= isTied || hasPersons;
        const margin = tables.some(([table, columns]) => readsSessions(table, columns)) ? LONGEST_SESSION_MS : 0;
        const from = question.from === undefined ? -Infinity : question.from - margin;
        const to = question.to === undefined ? Infinity : question.to + margin;
        if (hasEvents) looks.push({ from: finite(from), to: finite(to) });
        const chosen = files.events.filter((file) => file.max_timestamp >= from && file.min_timestamp <= to);
        reads?.([...(hasEvents ? chosen : []), ...(isTied || hasPersons ? files.persons : [])]);
        const sourcesOf = async (withTies: boolean): Promise<Sources> => {
          const eventFiles = hasEvents ? await hotFilesOf(chosen) : [];
          return {
            events: (columns) => (eventFiles.length === 0 ? nothing('events') : eventRows(eventFiles, columns)),
            hot: new Set(eventFiles.flatMap((file) => [...file.hot])),
            ties: withTies ? await tiesOf(files.persons) : '',
            persons: hasPersons ? personsOf(await personRowsOf(files.persons)) : '',
          };
        };
        const answered = async (query: WholeQuery, relationOf: RelationOf): Promise<unknown[][]> => {
          const sql = duckdbSelect(query, relationOf, at);
          const types = checked.columns.map(({ type }) => type);
          return connected((connection) => all(connection, sql, types));
        };
        const fromFiles = async (): Promise<unknown[][]> => {
          const sources = await sourcesOf(isTied);
          const query = withPropertyColumns(checked.query, {
            table: 'events',
            document: 'properties',
            columnOf: (property) => {
              if (properties.size < MAX_PROPERTIES) properties.add(property);
              return sources.hot.has(property) ? hotColumn(property) : undefined;
            },
          });
          return answered(query, (table, columns) => relation(table, columns, sources));
        };
        const isOfResolved = tables.every(
          ([table, columns]) => table === 'events' && [...columns].every((column) => RESOLVED_COLUMNS.has(column)),
        );
        const looked = {
          paths: [...chosen, ...files.persons].map(({ path }) => path),
          rows: async () => ({
            sql: relation('events', RESOLVED_COLUMNS, await sourcesOf(true)),
            count: `SELECT sum(num_rows) FROM parquet_file_metadata(${pathList(chosen.map(({ path }) => lake.address(path)))})`,
          }),
          isTied,
        };
        const found =
          isOfResolved && chosen.length > 0
            ? await resolved.during(looked, (table) =>
                table === undefined ? fromFiles() : answered(checked.query, () => table),
              )
            : await fromFiles();
        return {
          columns: checked.columns.map(({ name }) => name),
          types: checked.columns.map(({ clickhouse }) => clickhouse),
          rows: given === undefined ? found : found.slice(0, given),
          ...(given === undefined ? {} : { limit: given, hasMore: found.length > given }),
        };
      };

      return {
        now,
        ...moment,
        rows,
        expression: (text) =>
          understood(async () => {
            const [syntax] = await parser.expressions([text]);
            return withoutPlaces(syntax as Syntax);
          }, text),
        looked: () => ({ events: looks, persons, now: isNow, properties: [...properties], hogql }),
      };
    },
    close: async () => {
      (await database)?.closeSync();
      database = undefined;
      ties = undefined;
      resolved = resolvedEvents(connected);
      if (limits.tempDirectory === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the LIMIT that a query has, where it is a number. */
function ownLimit(syntax: Syntax): number | undefined {
  const limit = 'limit' in syntax ? (syntax.limit as { readonly value?: { readonly number?: string } } | null) : null;
  const number = Number(limit?.value?.number);
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

const finite = (instant: number): number | null => (Number.isFinite(instant) ? instant : null);

/** Rows of a model, of which there are none. */
const nothing = (model: Model): string =>
  `(SELECT ${LAKE_MODELS[model].columns.map(({ name, type }) => `NULL::${type} AS ${name}`).join(', ')} WHERE false)`;

const newest = (value: string): string => `arg_max(${value}, inserted_us)`;

/** SQL of the persons that are there. What is not read of it, DuckDB leaves out. */
function personsOf(rows: string): string {
  return `(SELECT person_id, min(created_us) AS created_us, arg_max(properties, person_version) AS properties,
      bool_or(is_identified) AS is_identified, list(distinct_id ORDER BY distinct_id) AS distinct_ids
    FROM (
      SELECT distinct_id, ${newest('person_id')} AS person_id, ${newest('created_us')} AS created_us,
        ${newest('properties')} AS properties, ${newest('person_version')} AS person_version,
        ${newest('coalesce(is_identified, false)')} AS is_identified, ${newest('is_deleted')} AS is_deleted
      FROM ${rows} GROUP BY distinct_id
    ) WHERE NOT is_deleted GROUP BY person_id)`;
}

/** Throws the 400 of what a caller wrote and is not supported: with the place in `text`, if that is theirs. */
async function understood<T>(work: () => Promise<T>, text?: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { message, place } = error;
    return invalid('query', text && place ? `${message} (${lineAndColumn(text, place)})` : message);
  }
}

async function all(connection: DuckDBConnection, sql: string, types: readonly Type[]): Promise<unknown[][]> {
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
  for await (const chunk of await connection.stream(sql)) {
    for (const row of chunk.getRows()) found.push(row.map((value, n) => measured(readers[n]?.(value) ?? null)));
    values += chunk.rowCount * types.length;
    if (values > MAX_VALUES || characters > MAX_CHARACTERS)
      invalid(
        'query',
        'The query gives more rows than one answer can be made of. Ask for less: a shorter time, or a filter.',
      );
  }
  return found;
}

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
  const message = messageOf(error);
  if (message.startsWith('Out of Memory'))
    return asFailure('The query takes more memory than one query may have. Ask for less: a shorter time, or a filter.');
  if (/^(Out of Range|Conversion|Invalid Input) Error/.test(message))
    return asFailure(`The query cannot be computed: ${message.split('\n', 1)[0]?.slice(0, 300)}`);
  return error;
}

function asFailure(detail: string): unknown {
  try {
    return invalid('query', detail);
  } catch (failure) {
    return failure;
  }
}
