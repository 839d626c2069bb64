/** The connection checks of databases that speak PostgreSQL's protocol, in the order in which they make sense. */
import { Permanent } from '../../../ports/errors.ts';
import type { CheckStep } from '../destination.ts';
import { type DatabaseConfig, LEDGER } from './config.ts';
import { stateOf } from './failure.ts';
import { prepareLedger } from './ledger.ts';
import { type Account, connectTo, openSession, type Session } from './session.ts';
import { qualified, quoted, quotedList } from './sql-identifier.ts';
import { columnsOf, namesOf, prepareTable, type TableColumn, type TableDialect } from './table.ts';

/** SQLSTATEs of a database that is not there, or may not be entered: by then the password was right. */
const AFTER_LOGIN: ReadonlySet<string | undefined> = new Set(['3D000', '42501']);

/** Does some work in a session of its own, which ends with it. */
export async function inSessionOf(
  account: Account,
  way: Parameters<typeof openSession>[1],
  work: (session: Session) => Promise<unknown>,
): Promise<void> {
  const session = await openSession(account, way);
  try {
    await work(session);
  } finally {
    await session.end();
  }
}

/** Has the user's rights looked at, which is before rows are. No names: all columns. */
async function insertNothing(session: Session, table: string, names: readonly string[]): Promise<void> {
  const [into, from] = names.length === 0 ? ['', '*'] : [` (${quotedList(names)})`, quotedList(names)];
  await session.query(`INSERT INTO ${table}${into} SELECT ${from} FROM ${table} WHERE 1 = 0`);
}

export function databaseSteps<C extends DatabaseConfig>(
  account: (config: C) => Account,
  columns: (config: C) => readonly TableColumn[],
  dialect: (config: C) => TableDialect,
): readonly CheckStep<C>[] {
  return [
    {
      name: 'Reach the server',
      description: 'Ensure that the host has an address that may be reached, and that a server there accepts us.',
      async run(config, outbound, reach, signal) {
        (await connectTo(account(config), { outbound, reach, signal })).destroy();
      },
    },
    {
      name: 'Log in',
      description: 'Ensure that the server knows the user, and takes the password.',
      async run(config, outbound, reach, signal) {
        try {
          await inSessionOf(account(config), { outbound, reach, signal }, async () => {});
        } catch (error) {
          if (!AFTER_LOGIN.has(stateOf(error))) throw error;
        }
      },
    },
    {
      name: 'Find database and schema',
      description: 'Ensure that the database and the schema exist, and that the user may use them.',
      run: (config, outbound, reach, signal) =>
        inSessionOf(account(config), { outbound, reach, signal }, async (session) => {
          const { schema, database } = config;
          const { rows } = await session.query(
            "SELECT has_schema_privilege(nspname, 'USAGE') AS usable FROM pg_catalog.pg_namespace WHERE nspname = $1",
            [dialect(config).folded(schema)],
          );
          const where = `schema ${quoted(schema)} in database '${database}'`;
          const create = `CREATE SCHEMA ${quoted(schema)}`;
          if (rows.length === 0) throw new Permanent(`There is no ${where}. Create it (${create}), or correct schema.`);
          if (rows[0]?.['usable'] !== 't') {
            throw new Permanent(`The user may not use ${where}: GRANT USAGE, CREATE ON SCHEMA ${quoted(schema)}.`);
          }
        }),
    },
    {
      name: 'Write into the table',
      description:
        'Ensure that the user may make the tables that are missing and insert into those that are there. Nothing of it ' +
        'stays.',
      run: (config, outbound, reach, signal) =>
        inSessionOf(account(config), { outbound, reach, signal }, async (session) => {
          const { schema, table_name } = config;
          await session.query('BEGIN');
          await prepareLedger(session, config, dialect(config));
          const there = await columnsOf(session, schema, table_name, dialect(config));
          if (there.length === 0) await prepareTable(session, config, columns(config), [], dialect(config));
          // A column of the customer's own may take no value, as GENERATED ALWAYS does not.
          const ours = namesOf(columns(config)).filter((name) => there.includes(dialect(config).folded(name)));
          await insertNothing(session, qualified(schema, LEDGER), []);
          await insertNothing(session, qualified(schema, table_name), ours);
          await session.query('ROLLBACK');
        }),
    },
  ];
}
