/** Brings rows that wait in a temporary table into a customer's table, when some may be there already. */
import { Permanent } from '../../../ports/errors.ts';
import type { Column } from '../../../warehouse/columns.ts';
import type { Delivery } from '../destination.ts';
import { LEDGER } from './config.ts';
import type { PriorDelivery } from './ledger.ts';
import type { Session } from './session.ts';
import { qualified, quoted, quotedList } from './sql-identifier.ts';
import { namesOf, type TableConfig } from './table.ts';

/** The temporary table of a session, which has one delivery at a time. */
export const TEMPORARY_TABLE = 'batch_export_rows';

/** Returns what a person who reads the log may want to know of a merge. */
const mergeText = (records: number, added: number): string =>
  `This interval was delivered before: of ${records} rows ${added} were new, the others are in the table already.`;

/**
 * Adds the events that wait and are not in the table yet. Which is which, the uuid tells, among rows of the same span
 * of timestamps. A query without uuid cannot be merged: then nothing is added if as many rows were delivered before,
 * and `Permanent` is thrown if they were not as many.
 */
export async function mergeEvents(
  session: Session,
  { config, say, interval }: Pick<Delivery<TableConfig>, 'config' | 'say' | 'interval'>,
  columns: readonly Column[],
  records: number,
  before: Extract<PriorDelivery, { is: 'overlapping' }>,
): Promise<void> {
  const named = (field: string): string | undefined => columns.find((column) => column.field === field)?.name;
  const [uuid, timestamp] = [named('uuid'), named('timestamp')];
  const table = qualified(config.schema, config.table_name);
  if (uuid === undefined) {
    const range = `${new Date(interval.start).toISOString()} to ${new Date(interval.end).toISOString()}`;
    const cure =
      `To deliver it again, remove its rows from ${table} and its line from ${qualified(config.schema, LEDGER)}, or ` +
      'add uuid to the query.';
    if (before.records === records) {
      say('WARNING', `The interval ${range} was delivered before, with as many rows: nothing was added. ${cure}`);
      return;
    }
    throw new Permanent(
      `The interval ${range} was delivered into ${table} before, with other rows, and without uuid nobody can tell ` +
        `which of them are there already. ${cure}`,
    );
  }
  const span =
    timestamp === undefined
      ? ''
      : `WHERE ${quoted(timestamp)} >= (SELECT min(${quoted(timestamp)}) FROM ${TEMPORARY_TABLE})
          AND ${quoted(timestamp)} <= (SELECT max(${quoted(timestamp)}) FROM ${TEMPORARY_TABLE})`;
  const names = namesOf(columns);
  const { count } = await session.query(
    `INSERT INTO ${table} (${quotedList(names)})
      SELECT ${names.map((name) => `waiting.${quoted(name)}`).join(', ')}
      FROM ${TEMPORARY_TABLE} AS waiting
      LEFT JOIN (SELECT ${quoted(uuid)} AS known FROM ${table} ${span}) AS there ON there.known = waiting.${quoted(uuid)}
      WHERE there.known IS NULL`,
  );
  say('INFO', mergeText(records, count));
}

/** The primary key of a table of persons, by which they are merged. */
export const PERSON_KEY: readonly string[] = ['team_id', 'distinct_id'];

const PERSON_VERSIONS = ['person_version', 'person_distinct_id_version'];

/** Lets persons that wait replace those in the table of which an older version is there. */
export async function upsertPersons(session: Session, config: TableConfig, columns: readonly Column[]): Promise<void> {
  const names = namesOf(columns);
  const changes = names.filter((name) => !PERSON_KEY.includes(name));
  await session.query(
    // In the order of the key, so that two deliveries never wait for one another.
    `INSERT INTO ${qualified(config.schema, config.table_name)} AS there (${quotedList(names)})
      SELECT ${quotedList(names)} FROM ${TEMPORARY_TABLE} ORDER BY ${quotedList(PERSON_KEY)}
      ON CONFLICT (${quotedList(PERSON_KEY)}) DO UPDATE
      SET ${changes.map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(', ')}
      WHERE ${PERSON_VERSIONS.map((name) => `excluded.${quoted(name)} > there.${quoted(name)}`).join(' OR ')}`,
  );
}

/** Does the same where keys are not enforced: under a lock, removes older versions and adds all that is not there. */
export async function mergePersons(session: Session, config: TableConfig, columns: readonly Column[]): Promise<void> {
  const table = qualified(config.schema, config.table_name);
  const names = namesOf(columns);
  const isSame = (there: string): string =>
    PERSON_KEY.map((name) => `${there}.${quoted(name)} = ${TEMPORARY_TABLE}.${quoted(name)}`).join(' AND ');
  const isNewer = PERSON_VERSIONS.map((name) => `${TEMPORARY_TABLE}.${quoted(name)} > ${table}.${quoted(name)}`).join(
    ' OR ',
  );
  await session.query(`DELETE FROM ${table} USING ${TEMPORARY_TABLE} WHERE ${isSame(table)} AND (${isNewer})`);
  await session.query(
    `INSERT INTO ${table} (${quotedList(names)})
      SELECT ${names.map((name) => `${TEMPORARY_TABLE}.${quoted(name)}`).join(', ')}
      FROM ${TEMPORARY_TABLE} LEFT JOIN ${table} AS there ON ${isSame('there')}
      WHERE there.${quoted(PERSON_KEY[0] ?? '')} IS NULL`,
  );
}
