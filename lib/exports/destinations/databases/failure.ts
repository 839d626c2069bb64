/** What an error of a PostgreSQL or Redshift server means to a person: what, where, what to do. */
import type { DatabaseError } from 'pg';
import { Permanent, Transient } from '../../../ports/errors.ts';
import { connectionFailure } from '../../../ports/outbound/outbound.ts';
import { ledgerOf } from './config.ts';
import { quoted, tableOf } from './sql-identifier.ts';

/** The table that an error is about, and how it is reached. */
export interface TableAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly schema: string;
  readonly table_name: string;
}

type Advice = (place: TableAddress, error: DatabaseError) => string;

export const serverOf = ({ host, port }: Pick<TableAddress, 'host' | 'port'>): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

const databaseOf = (place: TableAddress): string => `database '${place.database}' at ${serverOf(place)}`;

/** Returns the column that an error names: by itself, or as the place in COPY's input. Never the value. */
const columnOf = ({ column, where }: DatabaseError): string | undefined =>
  column ?? /^COPY [^]*, line \d+, column ([^:]+)/.exec(where ?? '')?.[1];

/** Returns which row of the interval it was, from 1. */
const lineOf = ({ where }: DatabaseError): string => {
  const line = /^COPY [^]*, line (\d+)/.exec(where ?? '')?.[1];
  return line === undefined ? '' : ` (row ${line} of the interval)`;
};

const aboutColumn = (place: TableAddress, error: DatabaseError): string => {
  const column = columnOf(error);
  return `${column === undefined ? 'a column' : `column ${quoted(column)}`} of ${tableOf(place)}${lineOf(error)}`;
};

const refused: Advice = (place, error) =>
  `The server at ${serverOf(place)} refused the user: ${error.message}. Correct user and password, and see that the ` +
  `server lets this user into database '${place.database}' from here (pg_hba.conf).`;

const misfit: Advice = (place, error) =>
  `A value does not fit ${aboutColumn(place, error)}: ${error.message}. Change the type of the column, or what the ` +
  'export puts into it.';

const tooLong: Advice = (place, error) => {
  const column = columnOf(error);
  const cure =
    column === undefined
      ? 'Make the column wider.'
      : `Make it wider: ALTER TABLE ${tableOf(place)} ALTER COLUMN ${quoted(column)} TYPE TEXT (Redshift: VARCHAR(65535)).`;
  return `A value is too long for ${aboutColumn(place, error)}: ${error.message}. ${cure}`;
};

const violated: Advice = (place, error) =>
  `A row breaks a rule of ${tableOf(place)}${lineOf(error)}: ${error.message}. Remove the rule` +
  `${error.constraint === undefined ? '' : ` ${quoted(error.constraint)}`}, or the rows that are in its way.`;

const onlyReads: Advice = (place, { message }) =>
  `The server at ${serverOf(place)} only reads: ${message}. Use the address of the primary server.`;

const generated: Advice = (place, { message }) =>
  `${tableOf(place)} does not take a column of the export: ${message}. Make it a plain column of the table.`;

/** What to do about errors that only a person can mend, by SQLSTATE. */
const MENDABLE: ReadonlyMap<string, Advice> = new Map<string, Advice>([
  ['28P01', refused],
  ['28000', refused],
  ['3D000', (place) => `There is no ${databaseOf(place)}. Create it, or correct database.`],
  [
    '3F000',
    (place) =>
      `There is no schema ${quoted(place.schema)} in ${databaseOf(place)}. Create it ` +
      `(CREATE SCHEMA ${quoted(place.schema)}), or correct schema.`,
  ],
  [
    '42501',
    (place, { message }) =>
      `The user lacks a right in ${databaseOf(place)}: ${message}. Grant it: USAGE and CREATE on schema ` +
      `${quoted(place.schema)}; SELECT, INSERT and UPDATE on ${tableOf(place)} and ` +
      `${ledgerOf(place)}; TEMPORARY on the database.`,
  ],
  [
    '42P10',
    // COPY answers with the same code that it takes no generated column. In German it is ON-CONFLICT.
    (place, error) =>
      /ON.CONFLICT/.test(error.message)
        ? `${tableOf(place)} has no unique key by which persons could be merged. Give it one: ALTER TABLE ` +
          `${tableOf(place)} ADD PRIMARY KEY ("team_id", "distinct_id").`
        : generated(place, error),
  ],
  ['428C9', generated],
  [
    '42809',
    (place, { message }) =>
      `${tableOf(place)} cannot take rows: ${message}. Name a table, or a name that is free, in table_name.`,
  ],
  [
    '42703',
    (place, { message }) =>
      `A table is not as this service made it: ${message}. If ${ledgerOf(place)} ` +
      'is a table of your own, choose another schema.',
  ],
  [
    '54000',
    (place, { message }) =>
      `A value is too large for an index of ${tableOf(place)}: ${message}. Remove the index, if it is your own. The key ` +
      'of a table of persons holds distinct_ids of 2,700 bytes; imports take none of more than 400 characters.',
  ],
  ['22001', tooLong],
  [
    '23502',
    (place, error) =>
      `${aboutColumn(place, error)} must not be empty, and the export has no value for it: give the column a ` +
      'default, or allow NULL.',
  ],
  ['23503', violated],
  ['23505', violated],
  ['23514', violated],
  ['23P01', violated],
]);

/**
 * Errors that pass: of the connection, conflicts (40), lack of resources (53), an operator's doing (57), of the system
 * (58), a lock that another holds, a transaction that lay still, a table that somebody removed meanwhile.
 */
const PASSING = /^(08|40|53|57|58)|^(55P03|55006|25P03|25P04|42P01)$/;

/**
 * Returns whether a server only reads. That passes where an address leads to a standby until a failover is over. Such a
 * one answers to a transaction that is to write with a code of much else.
 */
const isReadOnly = (code: string, message: string): boolean =>
  code === '25006' || (code === '0A000' && message.includes('during recovery'));

/** What nearly all errors of Redshift have, and of poolers of connections, such as Supabase's. */
const INTERNAL = 'XX000';

/** Errors that pass at Redshift: a conflict of transactions, and a full disk. */
const REDSHIFT_PASSING = /^(1023\b|serializable isolation violation|disk full)/i;

const isDatabaseError = (error: unknown): error is DatabaseError => error instanceof Error && 'severity' in error;

/** Returns the SQLSTATE of an error, explained or not; undefined when it is no error of the server. */
export function stateOf(error: unknown): string | undefined {
  const origin = error instanceof Permanent || error instanceof Transient ? error.cause : error;
  return isDatabaseError(origin) ? origin.code : undefined;
}

/** Returns `Permanent` or `Transient`, with a text for the user. The user's name is a secret, and is not in it. */
export function explained(error: unknown, place: TableAddress): Permanent | Transient {
  if (error instanceof Permanent || error instanceof Transient) return error;
  if (!isDatabaseError(error)) return connectionFailure(error, serverOf(place));
  const { code = '', message, severity } = error;
  const cause = { cause: error };
  const without = (text: string): string => text.replaceAll(`"${place.user}"`, 'of this export');
  const about = Object.assign(Object.create(error) as DatabaseError, { message: without(message) });
  if (isReadOnly(code, message)) return new Transient(onlyReads(place, about), cause);
  const advice = MENDABLE.get(code);
  if (advice !== undefined) return new Permanent(advice(place, about), cause);
  const answer = `The server at ${serverOf(place)} answered: ${about.message} (${code})`;
  // A fatal one ends the connection: a pooler has none left, or does not reach the server behind it.
  const isPassing =
    PASSING.test(code) || (code === INTERNAL && (severity === 'FATAL' || REDSHIFT_PASSING.test(message)));
  if (isPassing) return new Transient(`${answer}.`, cause);
  if (code.startsWith('22')) return new Permanent(misfit(place, about), cause);
  return new Permanent(`${answer}, when rows were to go into ${tableOf(place)}. Mend that, and run it again.`, cause);
}
