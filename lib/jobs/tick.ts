/** Finds the jobs that are due, and starts the machines that do them. */
import type { Context } from '../ports/context.ts';
import { messageOf } from '../ports/errors.ts';
import { Semaphore } from '../ports/semaphore.ts';
import { keys, places, ranges } from '../ports/table/keys.ts';
import { Refused } from '../ports/table/table.ts';
import { DAY_MS, MINUTE_MS } from '../ports/units.ts';
import type { Json, MachineName } from '../workflow/workflow.ts';
import { aboutOf, type JobItem, type JobKind } from './job.ts';

/** Jobs of one tick that are started side by side. */
const AT_ONCE = 20;
/** Jobs that are read at a time. */
const PAGE = 500;
/**
 * A job that was taken this often and is still there waits a day for somebody to look at it. Of notices that a webhook
 * does not take nobody needs to know but the export's own people; they end after a day by themselves.
 */
const maxAttempts = ({ kind }: JobItem): number => (kind === 'notice' ? Infinity : 10);

/** Starts everything that is due. Answers how many jobs were started, and when the oldest of them had been due. */
export async function tick(context: Context): Promise<{ started: number; oldest: number | null }> {
  const { table, clock, metrics } = context;
  const starts = new Semaphore(AT_ONCE);
  let started = 0;
  let oldest: number | null = null;
  let after: string | undefined;
  do {
    const page = await table.list(ranges.dueJobs(clock()), { limit: PAGE, ...(after === undefined ? {} : { after }) });
    const due = await table.many(page.items);
    const jobs = due.filter((job) => job !== undefined);
    const results = await Promise.all(jobs.map((job) => starts.run(() => startJob(context, job))));
    started += results.filter(Boolean).length;
    for (const { due } of jobs) oldest = Math.min(oldest ?? due, due);
    after = page.cursor;
  } while (after !== undefined);
  metrics.record({ OldestDueJob: oldest === null ? 0 : (clock() - oldest) / 1000 });
  return { started, oldest };
}

/** Takes the job and starts its machine. False: somebody else took it, it is parked, or it could not be started. */
async function startJob(context: Context, job: JobItem): Promise<boolean> {
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
    await context.workflow.start(machine, name, input);
    return true;
  } catch (error) {
    log.warning('job could not be started; it will be tried again', { reason: messageOf(error) });
    return false;
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
  notice: ({ id }, name) => ({ machine: 'notice', name, input: { notice: id } }),
};

/** The minute in a name lets a job that came back start again, and one tick that runs twice not. */
function executionOf(job: JobItem, now: number): Execution {
  return EXECUTIONS[job.kind](job, `${job.id}-${Math.floor(now / MINUTE_MS)}`);
}
