/** The ledger of deliveries of events: a table of the customer's schema, by which a second delivery knows the first. */
import type { Interval } from '../../../lake/intervals.ts';
import type { Delivery } from '../destination.ts';
import { LEDGER } from './config.ts';
import type { AnswerRow, Session } from './session.ts';
import { qualified, quotedList } from './sql-identifier.ts';
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
];

export const prepareLedger = (session: Session, { schema }: TableConfig, dialect: TableDialect): Promise<void> =>
  prepareTable(
    session,
    { schema, table_name: LEDGER, use_automatic_schema_evolution: false },
    LEDGER_COLUMNS,
    LEDGER_KEY,
    dialect,
  );

/** What the ledger says of an interval before it is delivered. */
export type PriorDelivery =
  /** This run has delivered it. */
  | { readonly is: 'delivered' }
  /** Nobody has. */
  | { readonly is: 'fresh' }
  /** Other runs have: into exactly these bounds so many rows (null: into other bounds), so rows must be merged. */
  | { readonly is: 'overlapping'; readonly records: number | null };

type Entry = Pick<Delivery<TableConfig>, 'exportId' | 'runId' | 'interval' | 'config'>;

const instant = (at: number): string => new Date(at).toISOString();

const intervalValues = ({ start, end }: Interval): string[] => [instant(start), instant(end)];

const keyValues = ({ exportId, config, interval }: Entry): string[] => [
  exportId,
  config.table_name,
  ...intervalValues(interval),
];

/** Returns the ledger's table. */
export const ledgerOf = ({ schema }: Pick<TableConfig, 'schema'>): string => qualified(schema, LEDGER);

/**
 * Claims the interval for a run, within its transaction, and returns what the ledger said of it. Another transaction that
 * claims the same one waits until this one has ended, on the row that both write.
 */
export async function claimInterval(session: Session, entry: Entry): Promise<PriorDelivery> {
  const { count } = await session.query(
    `INSERT INTO ${ledgerOf(entry.config)} (${quotedList(namesOf(LEDGER_COLUMNS))})
      VALUES ($1, $2, $3::timestamptz, $4::timestamptz, $5, 0, now())
      ON CONFLICT (${quotedList(LEDGER_KEY)}) DO NOTHING`,
    [...keyValues(entry), entry.runId],
  );
  return priorIn(await notes(session, entry, 'FOR UPDATE'), entry, count === 1);
}

/** Returns what the ledger says, to who has locked it, or wants to know no more than how it was just now. */
export const priorDelivery = async (session: Session, entry: Entry): Promise<PriorDelivery> =>
  priorIn(await notes(session, entry), entry);

/** Returns the notes on deliveries that touch the interval. */
async function notes(session: Session, entry: Entry, lock = ''): Promise<readonly AnswerRow[]> {
  const { rows } = await session.query(
    `SELECT run_id, records,
        CASE WHEN interval_start = $3::timestamptz AND interval_end = $4::timestamptz THEN 'same' END AS bounds
      FROM ${ledgerOf(entry.config)}
      WHERE batch_export_id = $1 AND table_name = $2
        AND interval_start < $4::timestamptz AND interval_end > $3::timestamptz
      ${lock}`,
    keyValues(entry),
  );
  return rows;
}

/** Returns what notes say of an interval. `isNew`: the note of these very bounds is the claim itself. */
function priorIn(found: readonly AnswerRow[], { runId }: Entry, isNew = false): PriorDelivery {
  const earlier = found.filter(({ bounds }) => bounds === null || !isNew);
  const same = earlier.find(({ bounds }) => bounds !== null);
  if (same?.['run_id'] === runId) return { is: 'delivered' };
  if (earlier.length === 0) return { is: 'fresh' };
  return { is: 'overlapping', records: same === undefined ? null : Number(same['records']) };
}

/** Notes what this run delivered, in place of an earlier note of the same interval. */
export async function noteDelivery(session: Session, entry: Entry, records: number, { now }: TableDialect) {
  const ledger = ledgerOf(entry.config);
  const values = [...keyValues(entry), entry.runId, String(records)];
  const { count } = await session.query(
    `UPDATE ${ledger} SET run_id = $5, records = $6::bigint, delivered_at = ${now}
      WHERE batch_export_id = $1 AND table_name = $2
        AND interval_start = $3::timestamptz AND interval_end = $4::timestamptz`,
    values,
  );
  if (count > 0) return;
  await session.query(
    `INSERT INTO ${ledger} (${quotedList(namesOf(LEDGER_COLUMNS))})
      VALUES ($1, $2, $3::timestamptz, $4::timestamptz, $5, $6::bigint, ${now})`,
    values,
  );
}
