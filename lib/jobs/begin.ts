/**
 * What is sent to somebody is begun once for each time that its job is due: the tick starts another execution when the
 * job comes back, and the one before may still stand in line, or be at it.
 */
import { SECOND_MS } from '../basics/units.ts';
import type { Context } from '../ports/context.ts';
import { keys, places } from '../ports/table/keys.ts';
import { tryWrite, untilWritten } from '../ports/table/until-written.ts';
import { GRACE_SECONDS, STEPS, type StepName } from '../workflow/steps.ts';
import type { JobItem, JobKind } from './job.ts';

/** A job that was begun. */
export interface Begun {
  readonly job: JobItem;
  /** Has the job come back when it would have, for what has ended before its time and is to be done again. */
  readonly comeBack: () => Promise<void>;
}

/**
 * Begins a job for the execution that its `attempt` has started, and has it come back after the time that `step` may
 * take. Returns undefined when the job is done, or was begun by another execution since that one was started: then it is
 * that one's, and it comes back by itself should that one die.
 */
export async function beginJob(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { kind, id, attempt }: { readonly kind: JobKind; readonly id: string; readonly attempt: number },
  step: StepName,
): Promise<Begun | undefined> {
  const key = keys.job(kind, id);
  return untilWritten(async () => {
    const job = await table.get(key);
    if (job === undefined || !(attempt > (job.begun ?? 0))) return undefined;
    const { attempts, begun = null } = job;
    const due = Math.max(job.due, clock() + (STEPS[step].timeout + GRACE_SECONDS) * SECOND_MS);
    const mine = { due, attempts, begun: Math.max(attempts, attempt) };
    await table.write([
      { change: key, set: { ...mine, ...places.dueAt(due, kind, id) }, if: { is: { due: job.due, attempts, begun } } },
    ]);
    const comeBack = async () => {
      const set = { due: job.due, ...places.dueAt(job.due, kind, id) };
      await tryWrite(table, [{ change: key, set, if: { is: mine } }]);
    };
    return { job, comeBack };
  });
}
