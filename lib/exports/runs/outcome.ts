/** How a run ends: its status, its lines in the log, its numbers and the notice of a failure, in one write. */

import { beginningOf } from '../../basics/text.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op, Value } from '../../ports/table/table.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import { noticeOps } from '../notices/notice.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import type { RunItem, RunStatus } from '../records/runs/model.ts';
import { ifHeldBy, intervalOf, OPEN, rangeText } from './run.ts';

/** `latest_error` in characters: at most 2 KB of UTF-8. */
const MAX_ERROR_LENGTH = 500;

/** A run that ended so is not tried again, though nobody who may cancel it has. */
const NOT_DELIVERED: ReadonlySet<RunStatus> = new Set(['Failed', 'Terminated']);

/** Returns a reason as a run keeps it: short, and without NUL. */
export const errorText = (reason: string): string => beginningOf(reason.replaceAll('\0', ''), MAX_ERROR_LENGTH);

/** Returns the op that shows what is in a run's way while it is tried again. Its condition: the run is open and ours. */
export const troubleOp = (run: RunItem, reason: string, at: number): Op => ({
  change: keys.run(run.batch_export, run.id),
  set: { latest_error: errorText(reason), last_updated_at: at },
  if: ifHeldBy(run.attempt),
});

/** Returns what the log says of a run without rows. */
export const noRowsText = (range: string): string =>
  `Batch export will finish early as there is no data matching specified filters in ${range}`;

/** Completes a run that is open and ours. Returns false when somebody else has ended it. */
export function completeRun(
  context: Context,
  run: RunItem,
  { records, bytes }: { readonly records: number; readonly bytes: number },
  lines: readonly LogLine[],
): Promise<boolean> {
  const range = rangeText(intervalOf(run));
  const message =
    records === 0
      ? noRowsText(range)
      : `Batch export for ${range} finished successfully with ${records} records exported`;
  const numbers = { records_total_count: records, records_completed: records, bytes_exported: bytes };
  const fields = { ...numbers, latest_error: null };
  return endRun(context, run, { status: 'Completed', fields, lines, last: { level: 'INFO', message } });
}

/** Fails a run that is open and ours, for good. Returns false when somebody else has ended it. */
export function failRun(context: Context, run: RunItem, reason: string, lines: readonly LogLine[]): Promise<boolean> {
  const message = `Batch export for ${rangeText(intervalOf(run))} failed with a non-recoverable error: ${reason}`;
  const fields = { latest_error: errorText(reason) };
  return endRun(context, run, { status: 'Failed', fields, lines, last: { level: 'ERROR', message } });
}

/** Cancels a run, in one write with `also`; returns it. Throws `Refused` (`found`: it) when it has ended or commits. */
export async function cancelOpenRun(context: Context, run: RunItem, also: readonly Op[] = []): Promise<RunItem> {
  const now = context.clock();
  const set = { status: 'Cancelled', finished_at: now, last_updated_at: now } as const;
  const message = `Batch export for ${rangeText(intervalOf(run))} was cancelled`;
  const line: LogLine = { at: now, level: 'INFO', message, instance: run.id };
  await context.table.write([
    { change: keys.run(run.batch_export, run.id), set, if: { is: { status: OPEN, phase: null } } },
    ...lineOps(context, run.batch_export, run.execution, `cancel-${run.id}`, [line]),
    ...also,
  ]);
  return { ...run, ...set };
}

/** Ends a run that is open and ours, with its log, in one write. Returns false when somebody else has ended it. */
export async function endRun(
  context: Context,
  run: RunItem,
  end: {
    readonly status: RunStatus;
    readonly fields: Readonly<Record<string, Value>>;
    readonly lines: readonly LogLine[];
    readonly last: Pick<LogLine, 'level' | 'message'>;
    /** Ops that belong into the same transaction. */
    readonly ops?: readonly Op[];
  },
): Promise<boolean> {
  const now = context.clock();
  const set = { ...end.fields, status: end.status, phase: null, finished_at: now, last_updated_at: now };
  const lines = [...end.lines, { at: now, instance: run.id, ...end.last }];
  const isEnded = await tryWrite(context.table, [
    { change: keys.run(run.batch_export, run.id), set, unset: ['receipt'], if: ifHeldBy(run.attempt) },
    ...lineOps(context, run.batch_export, run.execution, `end-${run.id}`, lines),
    ...(NOT_DELIVERED.has(end.status) ? runFailureOps(run, String(end.fields['latest_error']), now) : []),
    ...(end.ops ?? []),
  ]);
  if (isEnded) measure(context, { ...run, ...set });
  return isEnded;
}

/** Returns the ops of a run's failure notice: none on behalf of a backfill, whose notice at its end tells of all. */
export function runFailureOps(run: RunItem, reason: string, at: number): Op[] {
  const { id, batch_export } = run;
  if (run.by === run.backfill) return [];
  return noticeOps(id, { type: 'run_failed', export: batch_export, subject: id, range: intervalOf(run), reason, at });
}

/** Records the metrics of a run that has ended. A run that was cancelled has neither completed nor failed. */
export function measure({ metrics }: Pick<Context, 'metrics'>, run: RunItem): void {
  if (run.status === 'Cancelled') return;
  const about = { export: run.batch_export, run: run.id };
  if (run.status !== 'Completed') {
    metrics.record({ RunsFailed: 1 }, about);
    return;
  }
  const { records_completed, bytes_exported } = run;
  const numbers = { RunsCompleted: 1, RowsDelivered: records_completed ?? 0, BytesDelivered: bytes_exported ?? 0 };
  const lag = ((run.finished_at ?? run.last_updated_at) - run.data_interval_end) / 1000;
  metrics.record(run.by === 'schedule' ? { ...numbers, DeliveryLag: lag } : numbers, about);
}
