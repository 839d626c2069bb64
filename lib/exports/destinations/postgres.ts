import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { Transient } from '../../ports/errors.ts';
import { checkDatabaseConfig, DATABASE_KEYS } from './databases/config.ts';
import {
  intervalName,
  type LedgerEntry,
  noteDelivery,
  noteNothing,
  type PriorDelivery,
  prepareLedger,
  priorDelivery,
  tableName,
  withUuid,
} from './databases/ledger.ts';
import { mergeEvents, PERSON_KEY, TEMPORARY_TABLE, upsertPersons } from './databases/merge.ts';
import type { Session } from './databases/session.ts';
import { commitTransaction, inSession } from './databases/session-delivery.ts';
import { quotedList, tableOf } from './databases/sql-identifier.ts';
import { databaseSteps, insertNothing, type Trial } from './databases/steps.ts';
import {
  defaultColumns,
  namesOf,
  prepareTable,
  type TableColumn,
  type TableDialect,
  tableColumns,
  typesOf,
} from './databases/table.ts';
import type { Delivery, Destination, Receipt } from './destination.ts';

const PostgresConfig = z.object({
  ...DATABASE_KEYS,
  port: z.int().default(5432),
  has_self_signed_cert: z.boolean().default(false),
});

type PostgresConfig = z.infer<typeof PostgresConfig>;

const COLUMNS = defaultColumns({ name: 'VARCHAR(200)', text: 'TEXT', json: 'JSONB', elements: 'JSONB' });

/** How long a statement waits for what another one has locked. */
const LOCK_TIMEOUT = '30s';

const DIALECT: TableDialect = {
  types: typesOf('TEXT', 'JSONB'),
  folded: (name) => name,
  // Statements that are sent together are one transaction.
  beforeChange: `SELECT pg_catalog.set_config('lock_timeout', '${LOCK_TIMEOUT}', true); `,
  now: 'now()',
  maxNameBytes: 63,
};

/**
 * A table of a PostgreSQL database. `deliver` sends the rows within a transaction that it leaves open; `commit` commits
 * it. Events go straight into the table, with a note in the ledger: an interval that this run has delivered is not delivered
 * again, and where another run has, rows are merged. Persons are merged by key and version.
 */
export const postgres: Destination<PostgresConfig, Receipt, Session> = {
  type: 'Postgres',
  config: PostgresConfig,
  secrets: ['user', 'password'],
  addresses: ['host', 'port'],
  unproved: ['has_self_signed_cert'],
  check: (config, _model, reach) => checkDatabaseConfig(config, DIALECT.maxNameBytes, reach),
  steps: databaseSteps<PostgresConfig>(
    (config) => config,
    () => DIALECT,
    tryOut,
  ),
  ...inSession<PostgresConfig>({
    account: (config) => config,
    prepare: (session, delivery) =>
      delivery.model === 'persons' ? preparePersons(session, delivery) : prepareEvents(session, delivery),
    finish: commitTransaction,
  }),
};

/**
 * What a transaction is set to, where the server knows the setting. Nothing of the role's own ends it; a client that
 * lies still or has vanished does not hold its locks for long; and nobody waits for another's forever.
 */
const TRANSACTION_SETTINGS: Readonly<Record<string, string>> = {
  statement_timeout: '0',
  transaction_timeout: '0',
  lock_timeout: LOCK_TIMEOUT,
  idle_in_transaction_session_timeout: '60s',
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  TimeZone: 'UTC',
};

async function begin(session: Session): Promise<void> {
  await session.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
  const values = Object.entries(TRANSACTION_SETTINGS).map(([name, value]) => `('${name}', '${value}')`);
  await session.query(
    `SELECT set_config(known.name, wanted.value, true)
      FROM pg_catalog.pg_settings known JOIN (VALUES ${values.join(', ')}) wanted (name, value) USING (name)`,
  );
}

/** Makes the tables ready for a delivery, and returns its columns. */
async function prepareTables(session: Session, trial: Trial<PostgresConfig>): Promise<TableColumn[]> {
  const { config, model } = trial;
  const columns = tableColumns(trial, COLUMNS[model], DIALECT);
  if (model === 'events') await prepareLedger(session, config, DIALECT);
  await prepareTable(session, config, columns, model === 'persons' ? PERSON_KEY : [], DIALECT);
  return columns;
}

async function tryOut(session: Session, trial: Trial<PostgresConfig>): Promise<void> {
  const { config, model } = trial;
  const columns = await prepareTables(session, trial);
  await makeTemporaryTable(session, config, columns);
  if (model === 'persons') return upsertPersons(session, config, columns);
  await insertNothing(session, tableOf(config), namesOf(columns));
  await noteNothing(session, config, DIALECT);
}

/** Has whoever names the same wait for the transaction. */
const lock = (session: Session, name: string): Promise<unknown> =>
  session.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);

/**
 * Has whoever is about to note a delivery into the table wait for the transaction. Throws `Transient` when the ledger does
 * not say any more what it said: others have brought in rows of the same time, which this delivery has not seen.
 */
async function lockUnchanged(session: Session, entry: LedgerEntry, prior: PriorDelivery): Promise<void> {
  await lock(session, tableName(entry));
  if (isDeepStrictEqual(await priorDelivery(session, entry), prior)) return;
  throw new Transient('Another delivery has meanwhile brought events of the same time into the table.', {
    isOwn: true,
  });
}

async function prepareEvents(session: Session, delivery: Delivery<PostgresConfig>): Promise<number> {
  const { config } = delivery;
  const columns = await prepareTables(session, delivery);
  const entry = withUuid(delivery, columns, DIALECT);
  await begin(session);
  // Two deliveries of one interval do not send its rows twice.
  await lock(session, intervalName(entry));
  const prior = await priorDelivery(session, entry);
  if (prior.is === 'delivered') return 0;
  const isFresh = prior.is === 'fresh';
  if (!isFresh) await makeTemporaryTable(session, config, columns);
  const target = isFresh ? tableOf(config) : TEMPORARY_TABLE;
  const { bytes, sent, taken } = await copy(session, delivery, columns, target);
  if (taken < sent) {
    delivery.say('WARNING', `${target} took ${taken} of ${sent} rows: a trigger of it leaves rows out, or moves them.`);
  }
  if (!isFresh) await mergeEvents(session, entry, columns, sent, prior);
  await lockUnchanged(session, entry, prior);
  await noteDelivery(session, entry, sent, DIALECT);
  return bytes;
}

async function preparePersons(session: Session, delivery: Delivery<PostgresConfig>): Promise<number> {
  const { config } = delivery;
  const columns = await prepareTables(session, delivery);
  await begin(session);
  await makeTemporaryTable(session, config, columns);
  const { bytes } = await copy(session, delivery, columns, TEMPORARY_TABLE);
  await upsertPersons(session, config, columns);
  return bytes;
}

/** Makes a temporary table with the types of the customer's own, without its rules. It goes with the transaction. */
async function makeTemporaryTable(session: Session, config: PostgresConfig, columns: readonly TableColumn[]) {
  const names = quotedList(namesOf(columns));
  await session.query(
    `CREATE TEMPORARY TABLE ${TEMPORARY_TABLE} ON COMMIT DROP AS SELECT ${names} FROM ${tableOf(config)} WITH NO DATA`,
  );
}

const copy = (
  session: Session,
  delivery: Delivery<PostgresConfig>,
  columns: readonly TableColumn[],
  target: string,
): ReturnType<Session['copyIn']> =>
  session.copyIn(
    `COPY ${target} (${quotedList(namesOf(columns))}) FROM STDIN`,
    delivery.rows({ format: 'CopyText', columns }),
  );
