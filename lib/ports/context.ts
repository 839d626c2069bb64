import type { Landing } from '../capture/landing.ts';
import type { Compiler } from '../exports/query/compiler.ts';
import type { Imports } from '../imports/imports.ts';
import type { Answers } from '../insights/answering/answers.ts';
import type { LakeWorker } from '../insights/answering/lake-worker.ts';
import type { QueryRunner } from '../insights/answering/query-orders.ts';
import type { Compactor } from '../lake/compactor.ts';
import type { PersonDeletions } from '../lake/import/person-deletions.ts';
import type { PersonRemoval } from '../lake/import/person-removal.ts';
import type { Pictures } from '../pictures/pictures.ts';
import type { Reader } from '../warehouse/reader.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Turns } from '../workers/turns.ts';
import type { Workflow } from '../workflow/workflow.ts';
import type { Events } from './events/events.ts';
import type { FileStore } from './files/files.ts';
import type { Inbox } from './inbox/inbox.ts';
import type { Log } from './log.ts';
import type { Mail } from './mail/mail.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Outbound } from './outbound/outbound.ts';
import type { Settings } from './settings.ts';
import type { Table } from './table/table.ts';
import type { Vault } from './vault/vault.ts';

/**
 * All that an operation or a step may touch: the ports, the clock, ids and the log. The program (local main, a Lambda
 * entry, a test) makes one and hands it to `handler(context)`; code takes the members that it uses.
 */
export interface Context {
  readonly table: Table;
  readonly workflow: Workflow;
  readonly warehouse: Warehouse;
  /** Who reads single rows of the lake; null where that is not offered. */
  readonly reader: Reader | null;
  /** Who answers queries; null where that is not offered. */
  readonly answers: Answers | null;
  /** Who makes pictures of pages; null where there is no browser. */
  readonly pictures: Pictures | null;
  /** Who deletes persons of the lake. */
  readonly personRemoval: PersonRemoval;
  /** Who deletes those who were asked to be, when a job says so; null on one machine, where the request waits. */
  readonly personDeletions: PersonDeletions | null;
  /** What keeps files that are uploaded to be imported; null where that is not offered. */
  readonly imports: Imports | null;
  /** What was captured and is not in the lake yet; null on one machine, where the service has it to itself. */
  readonly inbox: Inbox | null;
  /** Who lands it when a job says so; null on one machine, where the service lands by itself. */
  readonly landing: Landing | null;
  /** Who reads the lake for other functions; null on one machine, where worker processes do. */
  readonly lakeWorker: LakeWorker | null;
  /** Who answers queries that nobody waits for; null on one machine, where the service does so by itself. */
  readonly queryRunner: QueryRunner | null;
  /** Who joins the lake's small files. */
  readonly compactor: Compactor;
  /** The files that runs keep until they are delivered. */
  readonly runFiles: FileStore;
  /** The lake's files. */
  readonly lake: FileStore;
  readonly vault: Vault;
  /** The way to customers' addresses. */
  readonly outbound: Outbound;
  /** Who carries mail; null where none is sent. */
  readonly mail: Mail | null;
  /** The turns of organizations, and of users, whose destinations are tested; they run work, or reject with `LineFull` at once. */
  readonly testTurns: Pick<Turns, 'run'>;
  /** The compiler of exports' queries and filters. */
  readonly compiler: Compiler;
  /** The bus on which failures are announced; null when there is none. */
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
  /** Aborted when whoever waits for the answer has left. Absent where nobody waits, or nobody can tell. */
  readonly callerLeft?: AbortSignal;
  /** The user who waits for the answer, whose work takes their turn. Absent where nobody waits, or nobody can tell. */
  readonly callerUser?: string;
}
