export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The state machines, by name: `lib/workflow/definitions` holds each as data. */
export const MACHINE_NAMES = [
  'export-run',
  'backfill',
  'purge',
  'notice',
  'compaction',
  'landing',
  'deletion',
  'alert',
  'subscription',
  'message',
] as const;
export type MachineName = (typeof MACHINE_NAMES)[number];

export type ExecutionStatus = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';

/** The port to durable executions: Step Functions on AWS, the embedded engine on one machine. */
export interface Workflow {
  /** Starts an execution; a known name (of a running or ended one) starts nothing. Names: 1 to 80 of `A-Za-z0-9_-`. */
  start(machine: MachineName, name: string, input: Json): Promise<void>;
  /** Aborts a running execution and its children; fine when it has ended or was never started. */
  stop(machine: MachineName, name: string, cause: string): Promise<void>;
  /** Returns undefined when there is no execution of this name. */
  status(machine: MachineName, name: string): Promise<ExecutionStatus | undefined>;
  /**
   * Forgets executions that have ended and whose names begin so, a thousand at most. Returns whether there were any.
   * Step Functions forgets them by itself, 90 days after they ended, and not sooner: there it does nothing.
   */
  forget(beginning: string): Promise<boolean>;
}
