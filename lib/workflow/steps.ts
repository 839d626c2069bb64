import type { Need } from '../ports/needs.ts';

/** A port that a step touches. `converter` is the warehouse that also forms bytes; `warehouse` only writes queries. */
export type StepNeed =
  | Need
  | 'warehouse'
  | 'converter'
  | 'compactor'
  | 'personDeletions'
  | 'inbox'
  | 'landing'
  | 'events'
  | 'mail'
  | 'lakeWorker'
  | 'queryRunner';

/** The things that a step does with executions and files. With the table and with secrets all do the same. */
export interface StepUses {
  readonly workflow?: readonly ('look' | 'stop')[];
  readonly runFiles?: readonly FileUse[];
  readonly lake?: readonly FileUse[];
}

/** `write-parts`: also writes files of more than 5 MB, which are sent in parts and taken back when one fails. */
export type FileUse = 'read' | 'write' | 'write-parts' | 'remove';

/**
 * One step, declared once and read by the state machines, the service of one machine and the stack on AWS. Its name is
 * the file below `functions/steps/`, without its ending, and what a definition calls `${name}`.
 */
export interface StepRow {
  /** The longest that it may take, in seconds. Lambda's own limit is 900. */
  readonly timeout: number;
  /** In MB; processor time is in proportion, a whole core at 1,769. */
  readonly memory: number;
  readonly needs: readonly StepNeed[];
  readonly uses?: StepUses;
}

/** A step that settles runs: it may have to finish a commit, or to remove what was prepared. */
const SETTLES = {
  timeout: 300,
  memory: 512,
  needs: ['warehouse', 'runFiles', 'vault', 'outbound'],
  uses: { runFiles: ['read', 'remove'] },
} as const satisfies StepRow;

/**
 * Every step. All but `execution-ended` are called by a state machine; that one is called when an execution did not
 * succeed. Those that read and write the table and move files take minutes at the very most.
 */
export const STEPS = {
  // It also finishes a batch of the lake whose importer died: its files are copied to their places and removed.
  'begin-run': {
    timeout: 300,
    memory: 512,
    needs: [...SETTLES.needs, 'workflow', 'lake', 'compiler'],
    uses: {
      workflow: ['look', 'stop'],
      runFiles: ['read', 'write', 'write-parts'],
      lake: ['read', 'write', 'remove'],
    },
  },
  // DuckDB's 400 MB of rows and Node's share, at more than two cores, for as long as Lambda gives.
  'send-interval': {
    timeout: 900,
    memory: 4096,
    needs: ['converter', 'runFiles', 'vault', 'outbound'],
    uses: { runFiles: ['read', 'write', 'remove'] },
  },
  'finish-run': SETTLES,
  'prepare-backfill': { timeout: 300, memory: 512, needs: [] },
  'close-backfill': { timeout: 300, memory: 512, needs: [] },
  // It walks for 10 minutes, then ends by itself; 2 more are for its last call.
  purge: {
    timeout: 720,
    memory: 512,
    needs: ['workflow', 'runFiles', 'lake', 'imports'],
    uses: { workflow: ['stop'], runFiles: ['read', 'remove'], lake: ['read', 'remove'] },
  },
  // It joins files for 10 minutes, and the last of them may take some more. Most is DuckDB's and the files' copies.
  'compact-lake': {
    timeout: 900,
    memory: 2048,
    needs: ['compactor', 'lake'],
    uses: { lake: ['read', 'write', 'write-parts', 'remove'] },
  },
  // It rewrites files for 10 minutes; those of persons, the last, may take some more. Most is DuckDB's and a file's copies.
  'delete-persons': {
    timeout: 900,
    memory: 3008,
    needs: ['personDeletions', 'lake'],
    uses: { lake: ['read', 'write', 'write-parts', 'remove'] },
  },
  // It lands for 10 minutes, and the last of it may take some more. DuckDB's memory, that of 64 MB of requests, and copies.
  'land-inbox': {
    timeout: 900,
    memory: 3008,
    needs: ['landing', 'inbox', 'lake'],
    uses: { lake: ['read', 'write', 'write-parts', 'remove'] },
  },
  // It waits at most 50 s for a webhook.
  'send-notice': { timeout: 60, memory: 512, needs: ['vault', 'outbound', 'events'] },
  // It waits for an answer, which takes at most 5 minutes once it has its turn; without one it comes again.
  'check-alert': { timeout: 360, memory: 512, needs: ['answers'] },
  // As many answers as a dashboard has insights; what was answered is kept, so a repetition goes on from there.
  'compose-subscription': { timeout: 900, memory: 512, needs: ['answers', 'pictures'] },
  // It waits at most 50 s for a webhook, or for a mail server, after half a minute at most for pictures.
  'send-message': { timeout: 90, memory: 512, needs: ['vault', 'outbound', 'mail', 'pictures'] },
  'execution-ended': SETTLES,
} as const satisfies Readonly<Record<string, StepRow>>;

export type StepName = keyof typeof STEPS;

/** A machine waits this much longer for a step than its own limit: an old attempt is dead before the next begins. */
export const GRACE_SECONDS = 30;
