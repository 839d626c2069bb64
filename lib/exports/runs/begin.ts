/** The first step of a chunk: which slots, who may run them, which rows. */
import { jobOps } from '../../jobs/job.ts';
import { filesBetween, type LakeFile } from '../../lake/catalog.ts';
import { fence } from '../../lake/fence.ts';
import type { Slot } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import { type Op, Refused } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import type { BeginInput, BeginOutput, Trigger } from '../../workflow/messages.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import type { BatchExportItem, RunItem } from '../records/model.ts';
import { progressFields } from './backfill.ts';
import { stopExport } from './cancel.ts';
import { amountIn } from './estimate.ts';
import { measure, noRowsText } from './outcome.ts';
import { type Active, acquire, nextDue, type Plan, settle, WATCH } from './plan.ts';
import { settleDead, settledDead } from './reap.ts';
import { forgetRuns } from './retention.ts';
import { isOpen, latestRuns, newRun, OPEN, rangeText, slotOf, slotsOfExecution, tokenOf } from './run.ts';
import { frozen } from './run-files.ts';
import { freezeNow, hasRows, isFiltered } from './run-input.ts';
import { type ExportAndPlan, exportWithPlan, planOp, runsOf, scheduleOf } from './store.ts';
import { jobGone, type Work, wanted } from './trigger.ts';

const NOTHING: BeginOutput = { do: 'nothing' };

/**
 * Begins a chunk: closes the lake behind its slots, acquires them with their runs in one transaction, freezes the
 * query and the list of files. Slots that no file touches are completed here. An execution that has begun already is
 * given the same answer.
 */
export async function beginRun(context: Context, input: BeginInput): Promise<BeginOutput> {
  const begun = await untilWritten(() => attempt(context, input));
  if (input.trigger === 'schedule') await forgetRuns(context, input.export);
  return begun;
}

async function attempt(context: Context, input: BeginInput): Promise<BeginOutput> {
  const read = await exportWithPlan(context.table, input.export);
  if (read === undefined || read.item.deleted_at !== null) {
    // The job outlives a deletion until nothing of the export runs any more.
    if (read === undefined || input.trigger !== 'schedule' || (await stopExport(context, read.item))) {
      return leave(context, jobGone(input));
    }
    await settleDead(context, (await exportWithPlan(context.table, input.export)) ?? read);
    return NOTHING;
  }
  const { item, plan } = read;
  const mine = plan.active.find(({ execution }) => execution === input.execution);
  if (mine !== undefined) {
    const runs = await runsOf(context.table, item.id, slotsOfExecution(item, plan, mine), mine.by);
    return deliverable(context, item, mine, runs);
  }

  if (input.trigger === 'schedule' && (await settleDead(context, read))) throw new Refused(0, undefined);
  const work = await wanted(context, read, input.trigger);
  if (!('slots' in work)) return leave(context, work.leave);
  const now = context.clock();
  const range = { from: work.slots[0]?.start ?? 0, to: work.slots.at(-1)?.end ?? 0 };
  const settled = range.to + context.settings.settleSeconds * 1000;
  if (settled > now) return hold(settled - now);

  const asked = { execution: input.execution, by: work.by, chunk: work.chunk?.number ?? null, ...range, since: now };
  const result = acquire(plan, item.interval, asked);
  if ('taken' in result) return whenTaken(context, read, input.trigger, result.taken);
  await fence(context, item.team_id, range.to);
  const files = await filesBetween(context.table, item.team_id, item.model, range.from, range.to);
  const runs = await write(context, read, work, result, files);
  return runs.every(({ status }) => status === 'Completed')
    ? NOTHING
    : deliverable(context, item, result.mine, runs, files);
}

/** Ends the step with nothing to do but to set or remove the job. */
export async function leave({ table }: Context, ops: readonly Op[]): Promise<BeginOutput> {
  if (ops.length > 0) await table.write(ops);
  return NOTHING;
}

const hold = (milliseconds: number): BeginOutput => ({
  do: 'hold',
  seconds: Math.min(60, Math.max(5, Math.ceil(milliseconds / 1000))),
});

/** Somebody else runs some of the slots: wait, unless he has ended without telling. The schedule never waits for itself. */
async function whenTaken(
  context: Context,
  { item }: ExportAndPlan,
  trigger: Trigger,
  taken: Active,
): Promise<BeginOutput> {
  const now = context.clock();
  if (await settledDead(context, item, taken)) throw new Refused(0, undefined);
  if (trigger === 'schedule') await context.table.write(jobOps('export', item.id, now + WATCH));
  return trigger === 'schedule' && taken.by === 'schedule' ? NOTHING : hold((now - taken.since) / 10);
}

/**
 * The transaction that acquires: plan, export, job or backfill, log line, runs; at most 4 + 96. Its runs, and the plan
 * with them; when every slot was empty, they are completed and settled already.
 */
async function write(
  context: Context,
  { item, plan }: ExportAndPlan,
  work: Work,
  acquired: { readonly plan: Plan; readonly mine: Active },
  files: readonly LakeFile[],
): Promise<readonly RunItem[]> {
  const now = context.clock();
  const { mine } = acquired;
  const { chunk, backfill, firstTriedAt } = work;
  const runs = work.slots.map((slot) =>
    newRun(now, item, slot, mine, { ended: endedAtOnce(context, item, files, slot), backfill, firstTriedAt }),
  );
  // What failed is counted at the chunk's end.
  const isDone = runs.every(({ status }) => status === 'Completed');
  const after = isDone ? settle(acquired.plan, mine.execution) : acquired.plan;
  const { latest_runs } = item;
  const ended = runs.filter((run) => !isOpen(run));
  const ops: Op[] = [
    planOp(item.id, plan, after),
    {
      change: keys.batchExport(item.id),
      set: { latest_runs: latestRuns(item, runs) },
      if: { is: { latest_runs, ...(chunk === null ? scheduleOf(item) : { deleted_at: null }) } },
    },
    ...followingOps(context, item, work, after, isDone ? runs : null),
    ...lineOps(context, item.id, mine.execution, 'begin', ended.map(endLine)),
    ...runs.map((run): Op => ({ put: run, if: 'absent' })),
  ];
  try {
    await context.table.write(ops);
  } catch (error) {
    const refused = error instanceof Refused ? ops[error.op] : undefined;
    if (refused === undefined || !('put' in refused)) throw error;
    throw new Error(`run ${String(refused.put['id'])} is there, but not in the plan`, { cause: error });
  }
  for (const run of ended) measure(context, run);
  return runs;
}

/** What becomes of the job, or of the backfill; `done`: the runs, when they have all ended. */
function followingOps(
  { clock, settings }: Context,
  item: BatchExportItem,
  { by, chunk }: Work,
  plan: Plan,
  done: readonly RunItem[] | null,
): Op[] {
  const now = clock();
  if (chunk !== null) {
    const key = keys.backfill(item.id, chunk.backfill.id);
    const open = { is: { status: OPEN } };
    if (done === null) return [{ check: key, if: open }];
    return [{ change: key, set: { ...progressFields(chunk.number, done), last_updated_at: now }, if: open }];
  }
  const due = by === 'schedule' && done === null ? now + WATCH : nextDue(item, plan, now, settings);
  return [...(by === 'schedule' ? [] : jobOps('retry', by, null)), ...jobOps('export', item.id, due)];
}

const gigabytes = (n: number): string => (n / 1e9).toFixed(1);

/**
 * How a run ends that need not be sent: no file touches its slot, or they hold more than a worker can deliver. How much
 * the filters of an export let through nobody knows yet.
 */
function endedAtOnce(
  { settings: { maxIntervalBytes } }: Context,
  item: BatchExportItem,
  files: readonly LakeFile[],
  slot: Slot,
): Parameters<typeof newRun>[4]['ended'] {
  if (!hasRows(files, slot)) return 'empty';
  const { rows, bytes } = amountIn(files, { from: slot.start, to: slot.end });
  const isTooMuch = maxIntervalBytes !== null && bytes > maxIntervalBytes && !isFiltered(item);
  if (!isTooMuch) return null;
  return {
    failed:
      `The interval holds about ${rows} rows, ${gigabytes(bytes)} GB as stored: more than the ` +
      `${gigabytes(maxIntervalBytes)} GB that one run can deliver. ` +
      (item.interval === 'every 5 minutes'
        ? 'Split the events among several batch exports by include_events.'
        : `Set a shorter interval than '${item.interval}'; for this range, make another batch export with it and backfill it.`),
  };
}

function endLine(run: RunItem): LogLine {
  const range = rangeText(slotOf(run));
  const about = { at: run.created_at, instance: run.id } as const;
  if (run.latest_error === null) return { ...about, level: 'INFO', message: noRowsText(range) };
  const message = `Batch export for ${range} failed with a non-recoverable error: ${run.latest_error}`;
  return { ...about, level: 'ERROR', message };
}

/** The answer for a chunk that has something to send; freezes it, unless that has been done. */
async function deliverable(
  context: Context,
  item: BatchExportItem,
  mine: Active,
  runs: readonly RunItem[],
  files?: readonly LakeFile[],
): Promise<BeginOutput> {
  const token = tokenOf(item.id, mine);
  const chunk = (await frozen(context, token)) ?? (await freezeNow(context, item, mine, runs, files));
  const open = [...runs.keys()].filter((n) => isOpen(runs[n] as RunItem));
  const { deliveryConcurrency: concurrency } = context.settings;
  // All have failed at once, or have ended when a begin is repeated: Send says so of any of them.
  if (open.length === 0) return { do: 'deliver', token, slots: [0], concurrency };
  const answer = { token, slots: open, concurrency };
  const unload = await context.warehouse.unload(chunk, open);
  return unload === null ? { do: 'deliver', ...answer } : { do: 'unload', ...answer, unload };
}
