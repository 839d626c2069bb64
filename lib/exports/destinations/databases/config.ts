/** What the configs of databases that speak PostgreSQL's protocol have in common. */
import * as z from 'zod';
import { checkHost } from '../../../ports/outbound/outbound.ts';
import type { Reach } from '../destination.ts';
import { checkFilled, refuseConfig } from '../refusal.ts';
import { qualified } from './sql-identifier.ts';

export const DATABASE_KEYS = {
  user: z.string(),
  password: z.string(),
  host: z.string(),
  database: z.string(),
  schema: z.string().default('public'),
  table_name: z.string().default('events'),
  /** A table that lacks a column is given it; else that is an error. */
  use_automatic_schema_evolution: z.boolean().default(false),
};

const DatabaseConfig = z.object({ ...DATABASE_KEYS, port: z.int() });

export type DatabaseConfig = z.infer<typeof DatabaseConfig>;

const TEXTS = ['user', 'password', 'host', 'database', 'schema', 'table_name'] as const;

/** Throws a `Failure` for what can be no database, or may not be reached. `maxNameBytes`: the limit of identifiers. */
export function checkDatabaseConfig(config: DatabaseConfig, maxNameBytes: number, reach: Reach): void {
  checkFilled(config, TEXTS);
  for (const key of TEXTS) {
    if (config[key].includes('\0') || !config[key].isWellFormed()) {
      refuseConfig(`${key} is not valid Unicode text without NUL.`);
    }
  }
  if (config.port < 1 || config.port > 65_535) refuseConfig('port must be a number from 1 to 65535.');
  checkHost(config.host, reach);
  for (const key of ['database', 'schema', 'table_name'] as const) {
    if (Buffer.byteLength(config[key]) > maxNameBytes) {
      refuseConfig(`${key} is too long: a name may have ${maxNameBytes} bytes.`);
    }
  }
  if (config.table_name.toLowerCase() === LEDGER) {
    refuseConfig(`table_name may not be '${LEDGER}': deliveries are noted in that table.`);
  }
}

export const LEDGER = 'batch_export_deliveries';

/** Returns the ledger's table. */
export const ledgerOf = ({ schema }: Pick<DatabaseConfig, 'schema'>): string => qualified(schema, LEDGER);
