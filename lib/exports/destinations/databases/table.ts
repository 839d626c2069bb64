/** A customer's table: its columns, and how it is made when it is missing. */
import type { Model } from '../../../lake/schema.ts';
import { Permanent } from '../../../ports/errors.ts';
import type { Column, ColumnType } from '../../../warehouse/columns.ts';
import type { Delivery } from '../destination.ts';
import type { DatabaseConfig } from './config.ts';
import { stateOf } from './failure.ts';
import type { Session } from './session.ts';
import { quoted, quotedList, tableOf } from './sql-identifier.ts';

/** A column with a type of the database. */
export interface TableColumn extends Column {
  readonly sqlType: string;
}

/** Returns a column named like its field. */
const column = (name: string, type: ColumnType, sqlType: string): TableColumn => ({ name, type, field: name, sqlType });

/** What a database calls texts of 200 characters (those that capture cuts, and `ip`), texts without a limit, JSON, and lists of elements. */
interface DefaultTypes {
  readonly name: string;
  readonly text: string;
  readonly json: string;
  readonly elements: string;
}

/** Returns a table's default columns. */
export const defaultColumns = ({
  name,
  text,
  json,
  elements,
}: DefaultTypes): Readonly<Record<Model, readonly TableColumn[]>> => ({
  events: [
    column('uuid', 'text', 'VARCHAR(200)'),
    column('event', 'text', name),
    column('properties', 'json', json),
    column('elements', 'json', elements),
    column('set', 'json', json),
    column('set_once', 'json', json),
    column('distinct_id', 'text', name),
    column('team_id', 'integer', 'INTEGER'),
    column('ip', 'text', name),
    column('site_url', 'text', 'VARCHAR(200)'),
    column('timestamp', 'instant', 'TIMESTAMPTZ'),
    column('person_id', 'text', 'VARCHAR(200)'),
    column('person_properties', 'json', json),
  ],
  persons: [
    column('team_id', 'integer', 'INTEGER'),
    column('distinct_id', 'text', text),
    column('person_id', 'text', text),
    column('properties', 'json', json),
    // Versions are instants in microseconds.
    column('person_distinct_id_version', 'integer', 'BIGINT'),
    column('person_version', 'integer', 'BIGINT'),
    column('created_at', 'instant', 'TIMESTAMPTZ'),
    column('is_deleted', 'boolean', 'BOOLEAN'),
  ],
});

/** Returns the types of a query's own columns, with what a database calls texts and JSON. */
export const typesOf = (text: string, json: string): TableDialect['types'] => ({
  text,
  json,
  integer: 'BIGINT',
  float: 'DOUBLE PRECISION',
  boolean: 'BOOLEAN',
  instant: 'TIMESTAMPTZ',
  texts: json,
});

/** What PostgreSQL and Redshift call differently. */
export interface TableDialect {
  /** Types of a query's own columns. */
  readonly types: Readonly<Record<ColumnType, string>>;
  /** Returns a name as the catalog holds it, though it was quoted. */
  readonly folded: (name: string) => string;
  /**
   * Stands before a change of the customer's table, in the transaction of that: while it waits for whoever reads the
   * table, everybody else waits behind it, so it must not wait for long.
   */
  readonly beforeChange: string;
  /** The time, as an expression. */
  readonly now: string;
  /** The bytes of the longest name; more are cut off, silently. */
  readonly maxNameBytes: number;
}

/** Columns that every table of PostgreSQL and Redshift has. */
const SYSTEM_COLUMNS: ReadonlySet<string> = new Set(['tableoid', 'ctid', 'xmin', 'cmin', 'xmax', 'cmax']);

/** Throws `Permanent` for a name that no column of a table can have. */
function checkNames(names: readonly string[], { folded, maxNameBytes }: TableDialect): void {
  for (const name of names) {
    const bytes = Buffer.byteLength(name);
    if (bytes > maxNameBytes) {
      const limit = `the name of the column has ${bytes} bytes, and the database takes ${maxNameBytes}`;
      throw new Permanent(`${quoted(name)}: ${limit}. Give it a shorter alias in hogql_query.`);
    }
    if (SYSTEM_COLUMNS.has(folded(name))) {
      throw new Permanent(`${quoted(name)} is a column of PostgreSQL's own. Give it another alias in hogql_query.`);
    }
  }
}

/**
 * Returns the columns of a delivery, each with its type: those of the model, or of the export's query. Throws
 * `Permanent` when one has a name that no table takes.
 */
export function tableColumns(
  { columns }: Pick<Delivery, 'columns'>,
  defaults: readonly TableColumn[],
  dialect: TableDialect,
): TableColumn[] {
  const typed = new Map<Column, TableColumn>(defaults.map((column) => [column, column]));
  const chosen = columns(defaults);
  checkNames(namesOf(chosen), dialect);
  return chosen.map((column) => typed.get(column) ?? { ...column, sqlType: dialect.types[column.type] });
}

type SqlColumn = Pick<TableColumn, 'name' | 'sqlType'>;

export const namesOf = (columns: readonly Pick<Column, 'name'>[]): string[] => columns.map(({ name }) => name);

const definitionOf = ({ name, sqlType }: SqlColumn): string => `${quoted(name)} ${sqlType}`;

export type TableConfig = Pick<DatabaseConfig, 'schema' | 'table_name' | 'use_automatic_schema_evolution'>;

/** SQLSTATEs of a table or column that somebody made at the same moment. */
const MADE_MEANWHILE: ReadonlySet<string | undefined> = new Set(['23505', '42P07', '42701', '42710']);

async function make(session: Session, statement: string): Promise<void> {
  try {
    await session.query(statement);
  } catch (error) {
    if (!MADE_MEANWHILE.has(stateOf(error))) throw error;
  }
}

/** What of the catalog's kinds is a table: plain, partitioned, foreign. */
const TABLES: ReadonlySet<string | null | undefined> = new Set(['r', 'p', 'f']);

/** Returns the names of a table's columns, and whether it is a table; undefined when there is nothing of the name. */
async function found(session: Session, schema: string, table: string, { folded }: TableDialect) {
  const { rows } = await session.query(
    `SELECT a.attname AS name, c.relkind AS kind
      FROM pg_catalog.pg_attribute a
      JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind <> 'i' AND a.attnum > 0 AND NOT a.attisdropped`,
    [folded(schema), folded(table)],
  );
  if (rows.length === 0) return undefined;
  return { names: rows.map(({ name }) => name ?? ''), isTable: TABLES.has(rows[0]?.['kind']) };
}

/**
 * Makes the table with these columns (and unique key) when there is none. A table that lacks a column is given it when
 * the config says so; else `Permanent` is thrown, with the statement that would add it.
 */
export async function prepareTable(
  session: Session,
  config: TableConfig,
  columns: readonly SqlColumn[],
  key: readonly string[],
  dialect: TableDialect,
): Promise<void> {
  const { schema, table_name, use_automatic_schema_evolution: isEvolving } = config;
  const table = tableOf(config);
  const there = await found(session, schema, table_name, dialect);
  if (there === undefined) {
    const rules = key.length === 0 ? [] : [`PRIMARY KEY (${quotedList(key)})`];
    const lines = [...columns.map(definitionOf), ...rules];
    return make(session, `CREATE TABLE IF NOT EXISTS ${table} (${lines.join(', ')})`);
  }
  const missing = columns.filter(({ name }) => !there.names.includes(dialect.folded(name)));
  const additions = missing.map((column) => `ALTER TABLE ${table} ADD COLUMN ${definitionOf(column)}`);
  const lack = `lacks ${missing.length === 1 ? 'the column' : 'the columns'} ${quotedList(namesOf(missing))}`;
  if (missing.length > 0 && !there.isTable) {
    throw new Permanent(`${table} is a view, and ${lack}. Name a table, or a name that is free, in table_name.`);
  }
  const lacking = (cure: string): Permanent =>
    new Permanent(`Table ${table} ${lack}. Add them (${additions.join('; ')})${cure}.`);
  if (!isEvolving && additions.length > 0) throw lacking(', or set use_automatic_schema_evolution to true');
  for (const addition of additions) {
    await make(session, dialect.beforeChange + addition).catch((error: unknown) => {
      throw stateOf(error) === '42501' ? lacking(': only the owner of the table may') : error;
    });
  }
}
