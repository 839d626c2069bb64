/** Finds the jobs that are due, and starts the machines that do them. */

import { messageOf } from '../basics/text.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import type { Context } from '../ports/context.ts';
import { inWords } from '../ports/disk-failures.ts';
import { Transient } from '../ports/errors.ts';
import { keys, places, ranges } from '../ports/table/keys.ts';
import { Refused } from '../ports/table/table.ts';
import { lineOf } from '../workers/turns.ts';
import type { Json, MachineName } from '../workflow/workflow.ts';
import { aboutOf, type JobItem, type JobKind } from './job.ts';

/** Jobs of one tick that are started side by side. */
const AT_ONCE = 20;
/** Jobs that are read at a time. */
const PAGE = 500;
/** How long a tick takes jobs. The next one comes a minute after it began. */
export const TICK_MS = 40 * SECOND_MS;
/**
 * A job that was started this often and is still there waits a day for somebody to look at it. Of notices and
 * messages that are not taken nobody needs to know but their own people; they end after a day by themselves.
 */
const maxAttempts = ({ kind }: JobItem): number => (kind === 'notice' || kind === 'message' ? Infinity : 10);

/**
 * Starts what is due, the oldest first, for TICK_MS; what is left then is the next tick's. Returns how many jobs were
 * started, and when the oldest one had been due. How long that one has waited is recorded before anything is started,
 * so that it is known also of a tick that dies. Throws `Transient` when the disk of the service is in the way, as it then
 * is of all.
 */
export async function tick(context: Context): Promise<{ started: number; oldest: number | null }> {
  const { table, clock } = context;
  const end = clock() + TICK_MS;
  const inLine = lineOf(AT_ONCE);
  let started = 0;
  let oldest: number | null | undefined;
  let after: string | undefined;
  do {
    const page = await table.list(ranges.dueJobs(clock()), { limit: PAGE, after });
    const due = await table.many(page.items);
    const jobs = due.filter((job) => job !== undefined);
    oldest ??= recordOldest(context, jobs);
    let trouble: Transient | undefined;
    const start = async (job: JobItem): Promise<void> => {
      if (trouble !== undefined || clock() >= end) return;
      const result = await startJob(context, job);
      if (result instanceof Transient) trouble = result;
      else if (result) started += 1;
    };
    await Promise.all(jobs.map((job) => inLine(() => start(job))));
    if (trouble !== undefined) throw trouble;
    after = page.cursor;
  } while (after !== undefined && clock() < end);
  return { started, oldest };
}

/** Records how long the oldest of the jobs has waited. Returns when it was due; null when there is none. */
function recordOldest({ clock, metrics }: Context, jobs: readonly JobItem[]): number | null {
  const oldest = jobs.length === 0 ? null : Math.min(...jobs.map(({ due }) => due));
  metrics.record({ OldestDueJob: oldest === null ? 0 : Math.max(0, clock() - oldest) / 1000 });
  return oldest;
}

/**
 * Takes the job and starts its machine. False: somebody else took it, it is parked, or it could not be started. Returns
 * what is in the way on the disk, if that is why.
 */
async function startJob(context: Context, job: JobItem): Promise<boolean | Transient> {
  const log = context.log.with({ job: job.kind, id: job.id });
  try {
    const taken = await take(context, job);
    if (taken === undefined) return false;
    if (taken.attempts > maxAttempts(job)) {
      log.error('job is parked for a day: it was taken ten times and is still there', { attempts: job.attempts });
      context.metrics.record({ JobsParked: 1 }, { job: job.kind, id: job.id });
      return false;
    }
    const { machine, name, input } = executionOf(taken, context.clock());
    try {
      await context.workflow.start(machine, name, input);
    } catch (error) {
      await giveBack(context, job, taken);
      throw error;
    }
    return true;
  } catch (thrown) {
    const error = inWords(thrown);
    if (error instanceof Transient && error !== thrown) return error;
    log.warning('job could not be started; it will be tried again', { reason: messageOf(error) });
    return false;
  }
}

/**
 * Gives back a job whose machine could not be started: nothing was tried, so it is due as it was, and this counts for
 * no attempt. A job that has changed since it was taken stays as it is.
 */
async function giveBack({ table }: Context, { kind, id, due, attempts }: JobItem, taken: JobItem): Promise<void> {
  const set = { due, attempts, ...places.dueAt(due, kind, id) };
  try {
    await table.write([{ change: keys.job(kind, id), set, if: { is: { due: taken.due, attempts: taken.attempts } } }]);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
}

/** Moves the job's due time ahead, so that it comes back unless what it starts removes it or sets a new time. */
async function take(context: Context, job: JobItem): Promise<JobItem | undefined> {
  const now = context.clock();
  if (job.due > now) return undefined;
  const attempts = job.attempts + 1;
  const isParked = attempts > maxAttempts(job);
  const wait = isParked ? DAY_MS : Math.min(2 ** (attempts - 1), 60) * MINUTE_MS;
  const due = now + wait;
  try {
    const set = { due, attempts: isParked ? 0 : attempts, ...places.dueAt(due, job.kind, job.id) };
    await context.table.write([
      { change: keys.job(job.kind, job.id), set, if: { is: { due: job.due, attempts: job.attempts } } },
    ]);
    return { ...job, due, attempts };
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

type Execution = { readonly machine: MachineName; readonly name: string; readonly input: Json };

/** What a job of each kind starts. */
const EXECUTIONS: Readonly<Record<JobKind, (job: JobItem, name: string) => Execution>> = {
  export: ({ id }, name) => ({ machine: 'export-run', name, input: { export: id, trigger: 'schedule' } }),
  retry: (job, name) => ({
    machine: 'export-run',
    name,
    input: { export: aboutOf('retry', job).export, trigger: { retry: job.id } },
  }),
  backfill: (job) => ({
    machine: 'backfill',
    name: job.id,
    input: { export: aboutOf('backfill', job).export, backfill: job.id },
  }),
  purge: (job, name) => ({ machine: 'purge', name, input: { kind: aboutOf('purge', job).kind, id: job.id } }),
  compaction: (job, name) => ({ machine: 'compaction', name, input: { project: aboutOf('compaction', job).project } }),
  deletion: (job, name) => ({ machine: 'deletion', name, input: { project: aboutOf('deletion', job).project } }),
  landing: (_job, name) => ({ machine: 'landing', name, input: {} }),
  notice: (job, name) => ({
    machine: 'notice',
    name,
    input: { export: aboutOf('notice', job).export, notice: job.id, attempt: job.attempts },
  }),
  alert: (job, name) => ({ machine: 'alert', name, input: { ...aboutOf('alert', job) } }),
  subscription: (job, name) => ({ machine: 'subscription', name, input: { ...aboutOf('subscription', job) } }),
  message: (job, name) => ({
    machine: 'message',
    name,
    input: { organization: aboutOf('message', job).organization, message: job.id, attempt: job.attempts },
  }),
};

/** The minute in a name lets a job that came back start again, and one tick that runs twice not. */
function executionOf(job: JobItem, now: number): Execution {
  return EXECUTIONS[job.kind](job, `${job.id}-${Math.floor(now / MINUTE_MS)}`);
}
