/**
 * The first step of a batch. Its story: what does the trigger want (`trigger`)? Is it free (`plan`), or has whoever
 * holds it died (`reap`)? Then it is acquired with its runs (`acquisition`), its input is fixed (`run-input`), and
 * `send` delivers each interval.
 */
import { jobOps } from '../../jobs/job.ts';
import { filesBetween, isTouched, type LakeFile } from '../../lake/catalog.ts';
import { fence } from '../../lake/fence.ts';
import type { Context } from '../../ports/context.ts';
import type { Op } from '../../ports/table/table.ts';
import { ReadAgain, untilWritten } from '../../ports/table/until-written.ts';
import type { BeginInput, BeginOutput } from '../../workflow/messages.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import { writeAcquired } from './acquisition.ts';
import { stopExport } from './cancel.ts';
import { type Active, acquire, WATCH_MS } from './plan.ts';
import { reapAll, reapRun } from './reap.ts';
import { removeOldRuns } from './retention.ts';
import { attemptOf, isOpen } from './run.ts';
import { inputFor } from './run-input.ts';
import { exportWithPlan, runsOf } from './store.ts';
import { keepTicket, queuedSince } from './ticket.ts';
import { removeJobOps, workOf } from './trigger.ts';

const NOTHING: BeginOutput = { do: 'nothing' };

/**
 * Begins a batch: closes the lake behind its intervals, acquires them with their runs in one transaction, and fixes its
 * input. Intervals that no file touches are completed at once. Returns what the machine does next; an execution that has
 * begun already is given the same answer.
 */
export async function beginRun(context: Context, input: BeginInput): Promise<BeginOutput> {
  if (input.trigger === 'schedule') await removeOldRuns(context, input.export);
  return untilWritten(() => begin(context, input));
}

async function begin(context: Context, input: BeginInput): Promise<BeginOutput> {
  const read = await exportWithPlan(context.table, input.export);
  if (read === undefined || read.item.deleted_at !== null) {
    // The job outlives a deletion until nothing of the export runs any more.
    const left = read !== undefined && input.trigger === 'schedule' ? await stopExport(context, read.item) : undefined;
    if (left === undefined) return leave(context, removeJobOps(input));
    await reapAll(context, left);
    return NOTHING;
  }
  const { item, plan } = read;
  const mine = plan.active.find(({ execution }) => execution === input.execution);
  if (mine !== undefined) {
    const runs = await runsOf(context.table, read, mine);
    return answer(context, item, mine, runs);
  }

  if (input.trigger === 'schedule' && (await reapAll(context, read))) throw new ReadAgain();
  const work = await workOf(context, read, input.trigger);
  if ('ops' in work) return leave(context, work.ops);
  const now = context.clock();
  const range = { from: work.intervals[0]?.start ?? 0, to: work.intervals.at(-1)?.end ?? 0 };
  const settledAt = range.to + context.settings.settleSeconds * 1000;
  if (settledAt > now) return hold(settledAt - now);

  const wanted = { execution: input.execution, by: work.by, batch: work.batch?.number ?? null, ...range, since: now };
  const acquired = acquire(plan, item.interval, wanted);
  if ('taken' in acquired) return whenTaken(context, item, input, acquired.taken);
  await fence(context, item.team_id, range.to);
  const files = await filesBetween(context.table, item.team_id, item.model, range.from, range.to);
  const toSend = work.intervals.filter(({ start, end }) => files.some((file) => isTouched(file, start, end))).length;
  if (toSend > 0) {
    const atOnce = Math.min(toSend, context.settings.deliveryConcurrency);
    const since = await queuedSince(context, item, input.execution, atOnce);
    if (since !== undefined) return whenQueued(context, input, since);
  }
  const runs = await writeAcquired(context, read, work, acquired, files);
  return runs.every(({ status }) => status === 'Completed')
    ? NOTHING
    : answer(context, item, acquired.mine, runs, files);
}

/** Ends the step with nothing to do but to set or remove the job. Throws `Refused` when that follows no longer. */
async function leave({ table }: Context, ops: readonly Op[]): Promise<BeginOutput> {
  if (ops.length > 0) await table.write(ops);
  return NOTHING;
}

const hold = (milliseconds: number): Extract<BeginOutput, { do: 'hold' }> => ({
  do: 'hold',
  seconds: Math.min(60, Math.max(5, Math.ceil(milliseconds / 1000))),
});

/**
 * Somebody else holds some of the intervals: the batch waits, and its job with it, unless their execution has died; then
 * everything is read again. The schedule never waits for itself.
 */
async function whenTaken(context: Context, item: BatchExportItem, input: BeginInput, taken: Active) {
  const now = context.clock();
  if (await reapRun(context, item, taken)) throw new ReadAgain();
  await putOffJob(context, input);
  return input.trigger === 'schedule' && taken.by === 'schedule' ? NOTHING : hold((now - taken.since) / 10);
}

/** The organization has as many intervals under way as it may: the batch waits, and its job with it. */
async function whenQueued(context: Context, input: BeginInput, since: number): Promise<BeginOutput> {
  await putOffJob(context, input);
  return { ...hold((context.clock() - since) / 10), queued: true };
}

/** Has the job of a trigger, if it has one, come back only when its execution may have ended without a word. */
async function putOffJob({ table, clock }: Context, { export: id, trigger }: BeginInput): Promise<void> {
  const due = clock() + WATCH_MS;
  if (trigger === 'schedule') await table.write(jobOps('export', id, due));
  else if ('retry' in trigger) await table.write(jobOps('retry', trigger.retry, due, { export: id }));
}

/** Returns the answer for a batch that has something to send. `files`: the lake's, if they are at hand. */
async function answer(
  context: Context,
  item: BatchExportItem,
  mine: Active,
  runs: readonly RunItem[],
  files?: readonly LakeFile[],
): Promise<BeginOutput> {
  const input = await inputFor(context, item, mine, runs, files);
  const attempt = attemptOf(item.id, mine);
  const open = [...runs.keys()].filter((n) => isOpen(runs[n] as RunItem));
  const { deliveryConcurrency: concurrency } = context.settings;
  // All have failed at once, or have ended when a begin is repeated: Send says so of any of them.
  if (open.length === 0) return { do: 'deliver', attempt, intervals: [0], concurrency };
  await keepTicket(context, item, mine.execution, Math.min(open.length, concurrency));
  const next = { attempt, intervals: open, concurrency };
  const unload = await context.warehouse.unload(input, open);
  return unload === null ? { do: 'deliver', ...next } : { do: 'unload', ...next, unload };
}
