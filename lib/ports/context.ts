import type { Parser } from '../hogql/parse.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Workflow } from '../workflow/workflow.ts';
import type { Events } from './events/events.ts';
import type { Spool } from './files/files.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Outbound } from './outbound/outbound.ts';
import type { Settings } from './settings.ts';
import type { Table } from './table/table.ts';
import type { Vault } from './vault/vault.ts';

/**
 * What an operation or a step may touch, and nothing else: the ports, the clock, ids and the log. The home (local
 * main, a Lambda entry, a test) makes one and hands it to `handler(context)`; code takes the member it uses.
 */
export interface Context {
  readonly table: Table;
  readonly workflow: Workflow;
  readonly warehouse: Warehouse;
  /** What runs keep until they are delivered. */
  readonly spool: Spool;
  /** The lake's files. */
  readonly lake: Spool;
  readonly vault: Vault;
  /** The door to customers' addresses. */
  readonly outbound: Outbound;
  /** Reads HogQL. */
  readonly parser: Parser;
  /** Where failures are announced; null: there is no bus. */
  readonly events: Events | null;
  /** Now, in milliseconds since 1970. */
  readonly clock: () => number;
  /** A new uuid, ordered by time (version 7). */
  readonly newId: () => string;
  /** `bytes` random bytes; the only source of keys and tokens. */
  readonly random: (bytes: number) => Buffer;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly settings: Settings;
}
