/** Finds the jobs that are due, and starts the machines that do them. */

import { messageOf } from '../basics/text.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import type { Context } from '../ports/context.ts';
import { inWords } from '../ports/disk-failures.ts';
import { Transient } from '../ports/errors.ts';
import { keys, places, ranges } from '../ports/table/keys.ts';
import { tryWrite } from '../ports/table/until-written.ts';
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
    const input = INPUTS[job.kind](taken);
    try {
      await context.workflow.start(machineOf(job.kind), nameOf(job, context.clock()), input);
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
  const is = { due: taken.due, attempts: taken.attempts };
  await tryWrite(table, [{ change: keys.job(kind, id), set, if: { is } }]);
}

/** Moves the job's due time ahead, so that it comes back unless what it starts removes it or sets a new time. */
async function take({ table, clock }: Context, job: JobItem): Promise<JobItem | undefined> {
  const now = clock();
  if (job.due > now) return undefined;
  const attempts = job.attempts + 1;
  const isParked = attempts > maxAttempts(job);
  const due = now + (isParked ? DAY_MS : Math.min(2 ** (attempts - 1), 60) * MINUTE_MS);
  const set = { due, attempts: isParked ? 0 : attempts, ...places.dueAt(due, job.kind, job.id) };
  const is = { due: job.due, attempts: job.attempts };
  const isTaken = await tryWrite(table, [{ change: keys.job(job.kind, job.id), set, if: { is } }]);
  return isTaken ? { ...job, due, attempts } : undefined;
}

/** What the machine of a job of each kind is told. */
const INPUTS: Readonly<Record<JobKind, (job: JobItem) => Json>> = {
  export: ({ id }) => ({ export: id, trigger: 'schedule' }),
  retry: (job) => ({ export: aboutOf('retry', job).export, trigger: { retry: job.id } }),
  backfill: (job) => ({ export: aboutOf('backfill', job).export, backfill: job.id }),
  purge: (job) => ({ kind: aboutOf('purge', job).kind, id: job.id }),
  compaction: (job) => ({ project: aboutOf('compaction', job).project }),
  deletion: (job) => ({ project: aboutOf('deletion', job).project }),
  landing: () => ({}),
  notice: (job) => ({ export: aboutOf('notice', job).export, notice: job.id, attempt: job.attempts }),
  alert: (job) => ({ ...aboutOf('alert', job) }),
  subscription: (job) => ({ ...aboutOf('subscription', job) }),
  message: (job) => ({ organization: aboutOf('message', job).organization, message: job.id, attempt: job.attempts }),
};

/** Runs of an export are begun by its schedule and again; each other kind has the machine of its name. */
const machineOf = (kind: JobKind): MachineName => (kind === 'export' || kind === 'retry' ? 'export-run' : kind);

/**
 * The minute in a name lets a job that came back start again, and one tick that runs twice not. A backfill has one execution,
 * which has its id.
 */
const nameOf = ({ kind, id }: JobItem, now: number): string =>
  kind === 'backfill' ? id : `${id}-${Math.floor(now / MINUTE_MS)}`;
