/** The connection checks of databases that speak PostgreSQL's protocol, in the order in which they make sense. */
import { Permanent } from '../../../ports/errors.ts';
import type { CheckStep, Delivery } from '../destination.ts';
import type { DatabaseConfig } from './config.ts';
import { stateOf } from './failure.ts';
import { type Account, connectTo, openSession, type Session } from './session.ts';
import { quoted, quotedList } from './sql-identifier.ts';
import type { TableDialect } from './table.ts';

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

/** Has the rights to add rows looked at, which is before rows are. */
export const insertNothing = (session: Session, table: string, names: readonly string[]): Promise<unknown> =>
  session.query(`INSERT INTO ${table} (${quotedList(names)}) SELECT ${quotedList(names)} FROM ${table} WHERE 1 = 0`);

/** A delivery that is only tried, without rows. */
export type Trial<C extends DatabaseConfig> = Pick<Delivery<C>, 'config' | 'model' | 'columns'>;

/** `tryOut` does, in a transaction that is rolled back, all that deliveries do to tables. */
export function databaseSteps<C extends DatabaseConfig>(
  account: (config: C) => Account,
  dialect: (config: C) => TableDialect,
  tryOut: (session: Session, trial: Trial<C>) => Promise<unknown>,
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
        'Ensure that the tables have what the export needs or can be given it, and that the user may do all that ' +
        'deliveries and their repeats do. Nothing of it stays.',
      run: (config, outbound, reach, signal, planned) =>
        inSessionOf(account(config), { outbound, reach, signal }, async (session) => {
          const trial = { config, ...(await planned()) };
          await session.query('BEGIN');
          await tryOut(session, trial);
          await session.query('ROLLBACK');
        }),
    },
  ];
}
