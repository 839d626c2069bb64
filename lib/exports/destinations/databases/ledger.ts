/** The ledger of deliveries of events: a table of the customer's schema, by which a second delivery knows the first. */
import type { Interval } from '../../../lake/intervals.ts';
import type { Column } from '../../../warehouse/columns.ts';
import type { Delivery } from '../destination.ts';
import { LEDGER, ledgerOf } from './config.ts';
import type { Session } from './session.ts';
import { quotedList } from './sql-identifier.ts';
import { namesOf, prepareTable, type TableConfig, type TableDialect } from './table.ts';

const LEDGER_KEY = ['batch_export_id', 'table_name', 'interval_start', 'interval_end'];

const LEDGER_COLUMNS = [
  { name: 'batch_export_id', sqlType: 'VARCHAR(36) NOT NULL' },
  // In bytes, Redshift's longest name.
  { name: 'table_name', sqlType: 'VARCHAR(127) NOT NULL' },
  { name: 'interval_start', sqlType: 'TIMESTAMPTZ NOT NULL' },
  { name: 'interval_end', sqlType: 'TIMESTAMPTZ NOT NULL' },
  { name: 'run_id', sqlType: 'VARCHAR(36) NOT NULL' },
  { name: 'records', sqlType: 'BIGINT NOT NULL' },
  { name: 'delivered_at', sqlType: 'TIMESTAMPTZ NOT NULL' },
  // Null: noted before the ledger told of projects.
  { name: 'team_id', sqlType: 'INTEGER' },
  // Where the rows have their uuids. Null: they have none; '': noted before the ledger told of it.
  { name: 'uuid_column', sqlType: "VARCHAR(127) DEFAULT ''" },
];

/** Makes the ledger when there is none, and gives one of an earlier version what it lacks. */
export const prepareLedger = (session: Session, { schema }: TableConfig, dialect: TableDialect): Promise<void> =>
  prepareTable(
    session,
    { schema, table_name: LEDGER, use_automatic_schema_evolution: true },
    LEDGER_COLUMNS,
    LEDGER_KEY,
    dialect,
  );

/** A delivery that touches the interval. */
export interface Note {
  /** It is of the same export. */
  readonly isOwn: boolean;
  readonly runId: string;
  readonly records: number;
  /** Its bounds are those of the interval. */
  readonly isSame: boolean;
  /** The column of the rows' uuids, as the catalog holds it. Null: they have none; '': nobody knows. */
  readonly uuid: string | null;
}

/** What the ledger says of an interval before it is delivered. */
export type PriorDelivery =
  /** This run has delivered it. */
  | { readonly is: 'delivered' }
  /** Nobody has. */
  | { readonly is: 'fresh' }
  /** Other runs have, of this export or of others of its project, so rows must be merged. */
  | { readonly is: 'overlapping'; readonly notes: readonly Note[] };

/** What the ledger notes of a delivery. */
export interface LedgerEntry
  extends Pick<Delivery<TableConfig>, 'exportId' | 'runId' | 'teamId' | 'interval' | 'config'> {
  /** As in a note. */
  readonly uuid: string | null;
}

/** Returns a delivery with what the ledger notes of its columns. */
export function withUuid<D>(
  delivery: D,
  columns: readonly Column[],
  { folded }: TableDialect,
): D & Pick<LedgerEntry, 'uuid'> {
  const uuid = columns.find(({ field }) => field === 'uuid')?.name;
  return { ...delivery, uuid: uuid === undefined ? null : folded(uuid) };
}

const instant = (at: number): string => new Date(at).toISOString();

const intervalValues = ({ start, end }: Interval): [string, string] => [instant(start), instant(end)];

/** What all deliveries into a table have in common, whichever export of the project they are of. */
export const tableName = ({ config, teamId }: LedgerEntry): string =>
  JSON.stringify([config.schema, config.table_name, teamId]);

/** What those of an interval have. */
export const intervalName = (entry: LedgerEntry): string =>
  tableName(entry) + JSON.stringify(intervalValues(entry.interval));

/** Returns what the ledger says, to who keeps others from writing it, or wants to know no more than how it was just now. */
export async function priorDelivery(session: Session, entry: LedgerEntry): Promise<PriorDelivery> {
  const { rows } = await session.query(
    `SELECT batch_export_id, run_id, records, uuid_column,
        CASE WHEN interval_start = $2::timestamptz AND interval_end = $3::timestamptz THEN 'same' END AS bounds
      FROM ${ledgerOf(entry.config)}
      WHERE table_name = $1 AND (team_id = $4::integer OR team_id IS NULL)
        AND interval_start < $3::timestamptz AND interval_end > $2::timestamptz
      ORDER BY batch_export_id, interval_start, interval_end`,
    [entry.config.table_name, ...intervalValues(entry.interval), String(entry.teamId)],
  );
  const notes = rows.map(
    ({ batch_export_id, run_id, records, uuid_column = null, bounds }): Note => ({
      isOwn: batch_export_id === entry.exportId,
      runId: run_id ?? '',
      records: Number(records),
      isSame: bounds !== null,
      uuid: uuid_column,
    }),
  );
  if (notes.length === 0) return { is: 'fresh' };
  if (notes.some(({ isOwn, isSame, runId }) => isOwn && isSame && runId === entry.runId)) return { is: 'delivered' };
  return { is: 'overlapping', notes };
}

/**
 * Notes what this run delivered, in place of an earlier note of the same interval. Where rows have uuids that is kept:
 * rows without any are added to none of these.
 */
export async function noteDelivery(session: Session, entry: LedgerEntry, records: number, { now }: TableDialect) {
  const { exportId, config, interval, runId, teamId, uuid } = entry;
  const key = [exportId, config.table_name, ...intervalValues(interval)];
  const values = [...key, runId, String(records), String(teamId), uuid];
  const ledger = ledgerOf(config);
  const { count } = await session.query(
    `UPDATE ${ledger} SET run_id = $5, records = $6::bigint, delivered_at = ${now}, team_id = $7::integer,
        uuid_column = COALESCE($8, uuid_column)
      WHERE batch_export_id = $1 AND table_name = $2
        AND interval_start = $3::timestamptz AND interval_end = $4::timestamptz`,
    values,
  );
  if (count > 0) return;
  await session.query(
    `INSERT INTO ${ledger} (${quotedList(namesOf(LEDGER_COLUMNS))})
      VALUES ($1, $2, $3::timestamptz, $4::timestamptz, $5, $6::bigint, ${now}, $7::integer, $8)`,
    values,
  );
}

/**
 * Has the rights to ask the ledger and to note a delivery in it looked at. It must be there, and what is noted is of no
 * export: the transaction is to be rolled back.
 */
export async function noteNothing(session: Session, config: TableConfig, dialect: TableDialect): Promise<void> {
  const entry: LedgerEntry = { exportId: '', runId: '', teamId: 0, interval: { start: 0, end: 0 }, config, uuid: null };
  await priorDelivery(session, entry);
  await noteDelivery(session, entry, 0, dialect);
}
