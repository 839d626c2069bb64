/** Brings rows that wait in a temporary table into a customer's table, when some may be there already. */
import { Permanent } from '../../../ports/errors.ts';
import type { Column } from '../../../warehouse/columns.ts';
import type { Delivery } from '../destination.ts';
import { ledgerOf } from './config.ts';
import type { LedgerEntry, Note, PriorDelivery } from './ledger.ts';
import type { Session } from './session.ts';
import { quoted, quotedList, tableOf } from './sql-identifier.ts';
import { namesOf, type TableConfig } from './table.ts';

/** The temporary table of a session, which has one delivery at a time. */
export const TEMPORARY_TABLE = 'batch_export_rows';

type Overlapping = Extract<PriorDelivery, { is: 'overlapping' }>;

/** Returns what a person who reads the log may want to know of a merge. */
const mergeText = ({ notes }: Overlapping, records: number, added: number): string => {
  const before = notes.some(({ isOwn }) => isOwn)
    ? 'This interval was delivered before'
    : 'Another batch export has delivered into the table in this interval';
  return `${before}: of ${records} rows ${added} were new, the others are in the table already.`;
};

/**
 * Adds the events that wait and are not in the table yet. Which is which, the uuid tells, with the name, the distinct_id and
 * the timestamp where the export has these, among rows of the project and of the same span of timestamps, or without
 * any. Rows that this export delivered without uuids, or with them in another column, cannot be merged: `Permanent` is
 * thrown; but where those that wait have none and were as many before, nothing is added. Rows of other exports that
 * cannot be compared are a warning only.
 */
export async function mergeEvents(
  session: Session,
  entry: LedgerEntry & Pick<Delivery, 'say'>,
  columns: readonly Column[],
  records: number,
  before: Overlapping,
): Promise<void> {
  const table = tableOf(entry.config);
  const isUnlike = ({ uuid }: Note): boolean => entry.uuid === null || (uuid !== entry.uuid && uuid !== '');
  const own = before.notes.filter(({ isOwn }) => isOwn);
  const hindrance = own.find(isUnlike);
  if (hindrance !== undefined) return entry.say('WARNING', unmerged(entry, own, hindrance, records));
  // None of its own is.
  if (before.notes.some(isUnlike)) {
    entry.say(
      'WARNING',
      `Another batch export has delivered this interval into ${table}, and without uuid in the same column of both ` +
        'nobody can tell which rows are the same: some may be in the table twice. Let each export have its own table.',
    );
  }
  const { count } = await session.query(additionText(entry, columns, table));
  if (entry.uuid !== null) entry.say('INFO', mergeText(before, records, count));
}

/** Returns the warning that nothing is added, or throws `Permanent` where that would be wrong. */
function unmerged({ uuid, config, interval }: LedgerEntry, own: readonly Note[], there: Note, records: number): string {
  const table = tableOf(config);
  const range = `${new Date(interval.start).toISOString()} to ${new Date(interval.end).toISOString()}`;
  const known = there.uuid === null ? '' : `, or add uuid to the query${there.uuid && ` as ${quoted(there.uuid)}`}`;
  const cure = `To deliver it again, remove its rows from ${table} and its line from ${ledgerOf(config)}${known}.`;
  const before = `The interval ${range} was delivered into ${table} before`;
  const rest = `nobody can tell which of them are there already. ${cure}`;
  if (uuid !== null) {
    throw new Permanent(
      `${before}, ${there.uuid ? `with uuid as ${quoted(there.uuid)}` : 'without uuid'}, so that ${rest}`,
    );
  }
  if (own.find(({ isSame }) => isSame)?.records !== records) {
    throw new Permanent(`${before}, with other rows, and without uuid ${rest}`);
  }
  return `The interval ${range} was delivered before, with as many rows: nothing was added. ${cure}`;
}

/** The fields that say which of the events of one uuid a row is, beside that. */
const TELLING = ['event', 'distinct_id', 'timestamp'];

/** Returns the statement that adds the rows that wait and, if they have uuids, are none of the project's in the table. */
function additionText({ teamId }: LedgerEntry, columns: readonly Column[], table: string): string {
  const named = (field: string): string | undefined => columns.find((column) => column.field === field)?.name;
  const [uuid, timestamp, team] = [named('uuid'), named('timestamp'), named('team_id')];
  const names = namesOf(columns);
  const addition = `INSERT INTO ${table} (${quotedList(names)})
      SELECT ${names.map((name) => `waiting.${quoted(name)}`).join(', ')} FROM ${TEMPORARY_TABLE} AS waiting`;
  if (uuid === undefined) return addition;
  // A column that came later has no value in rows from before.
  const limits = [
    ...(team === undefined ? [] : [`(${quoted(team)} = '${teamId}' OR ${quoted(team)} IS NULL)`]),
    ...(timestamp === undefined
      ? []
      : [
          `(${quoted(timestamp)} >= (SELECT min(${quoted(timestamp)}) FROM ${TEMPORARY_TABLE})
          AND ${quoted(timestamp)} <= (SELECT max(${quoted(timestamp)}) FROM ${TEMPORARY_TABLE})
          OR ${quoted(timestamp)} IS NULL)`,
        ]),
  ];
  const where = limits.length === 0 ? '' : `WHERE ${limits.join(' AND ')}`;
  const telling = TELLING.map(named).filter((name) => name !== undefined);
  const known = [`${quoted(uuid)} AS known`, ...telling.map((name, n) => `${quoted(name)} AS known_${n}`)];
  // The uuids alone join, by hash; the others are compared where these are equal.
  const isSame = [
    `there.known = waiting.${quoted(uuid)}`,
    ...telling.map((name, n) => `(there.known_${n} IS NULL OR there.known_${n} = waiting.${quoted(name)})`),
  ];
  return `${addition}
      LEFT JOIN (SELECT ${known.join(', ')} FROM ${table} ${where}) AS there ON ${isSame.join(' AND ')}
      WHERE there.known IS NULL`;
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
    `INSERT INTO ${tableOf(config)} AS there (${quotedList(names)})
      SELECT ${quotedList(names)} FROM ${TEMPORARY_TABLE} ORDER BY ${quotedList(PERSON_KEY)}
      ON CONFLICT (${quotedList(PERSON_KEY)}) DO UPDATE
      SET ${changes.map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(', ')}
      WHERE ${PERSON_VERSIONS.map((name) => `excluded.${quoted(name)} > there.${quoted(name)}`).join(' OR ')}`,
  );
}

/** Does the same where keys are not enforced: under a lock, removes older versions and adds all that is not there. */
export async function mergePersons(session: Session, config: TableConfig, columns: readonly Column[]): Promise<void> {
  const table = tableOf(config);
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
