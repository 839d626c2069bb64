import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import { type Op, Refused, type Table, type Value } from '../../ports/table/table.ts';
import { noticeOps } from '../notices/notice.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import type { RunItem, RunStatus } from '../records/model.ts';
import type { Sending } from './delivery.ts';
import { OPEN, rangeText, slotOf } from './run.ts';

/** Cancels a run, with `also` in the transaction. Refused (`found`: the run): it has ended, or is being committed. */
export async function cancelOpenRun(context: Context, run: RunItem, also: readonly Op[] = []): Promise<RunItem> {
  const now = context.clock();
  const set = { status: 'Cancelled', finished_at: now, last_updated_at: now } as const;
  const message = `Batch export for ${rangeText(slotOf(run))} was cancelled`;
  const line: LogLine = { at: now, level: 'INFO', message, instance: run.id };
  await context.table.write([
    { change: keys.run(run.batch_export, run.id), set, if: { is: { status: OPEN, phase: null } } },
    ...lineOps(context, run.batch_export, run.execution, `cancel-${run.id}`, [line]),
    ...also,
  ]);
  return { ...run, ...set };
}

/** `latest_error` in characters: at most 2 KB of UTF-8. */
const ERROR_LENGTH = 500;

/** What the log says of a run without rows. */
export const noRowsText = (range: string): string =>
  `Batch export will finish early as there is no data matching specified filters in ${range}`;

/** The run is completed, in one write with its numbers and its log. False: somebody else has ended it. */
export function completeRun(context: Context, { run, lines }: Sending, records: number, bytes: number) {
  const range = rangeText(slotOf(run));
  const message =
    records === 0
      ? noRowsText(range)
      : `Batch export for ${range} finished successfully with ${records} records exported`;
  const numbers = { records_total_count: records, records_completed: records, bytes_exported: bytes };
  const fields = { ...numbers, latest_error: null };
  return endRun(context, run, { status: 'Completed', fields, lines, last: { level: 'INFO', message } });
}

/** The run has failed for good. */
export function failRun(context: Context, run: RunItem, reason: string, lines: readonly LogLine[]) {
  const message = `Batch export for ${rangeText(slotOf(run))} failed with a non-recoverable error: ${reason}`;
  const fields = { latest_error: errorText(reason) };
  return endRun(context, run, { status: 'Failed', fields, lines, last: { level: 'ERROR', message } });
}

/** What tells of a run that has failed for good. Those that a backfill runs are told of together, at its end. */
export const failedRunOps = (run: RunItem, reason: string, at: number): Op[] =>
  run.by === run.backfill
    ? []
    : noticeOps(run.id, {
        type: 'run_failed',
        export: run.batch_export,
        subject: run.id,
        range: slotOf(run),
        reason,
        at,
      });

/** Ends an open run of ours, with its log, in one write. False: somebody else has ended it. */
export async function endRun(
  context: Context,
  run: RunItem,
  end: {
    readonly status: RunStatus;
    readonly fields: Readonly<Record<string, Value>>;
    readonly lines: readonly LogLine[];
    readonly last: Pick<LogLine, 'level' | 'message'>;
    /** What else becomes true with it. */
    readonly ops?: readonly Op[];
  },
): Promise<boolean> {
  const now = context.clock();
  const set = { ...end.fields, status: end.status, phase: null, finished_at: now, last_updated_at: now };
  const lines = [...end.lines, { at: now, instance: run.id, ...end.last }];
  const isEnded = await isWritten(context.table, [
    { change: keys.run(run.batch_export, run.id), set, if: { is: { status: OPEN, token: run.token } } },
    ...lineOps(context, run.batch_export, run.execution, `end-${run.id}`, lines),
    ...(end.status === 'Failed' ? failedRunOps(run, String(end.fields['latest_error']), now) : []),
    ...(end.ops ?? []),
  ]);
  if (isEnded) measure(context, { ...run, ...set });
  return isEnded;
}

/** Tells of a run that has ended. A run that was cancelled neither completed nor failed. */
export function measure({ metrics }: Pick<Context, 'metrics'>, run: RunItem): void {
  if (run.status === 'Cancelled') return;
  const about = { export: run.batch_export, run: run.id };
  if (run.status !== 'Completed') {
    metrics.record({ RunsFailed: 1 }, about);
    return;
  }
  const numbers = {
    RunsCompleted: 1,
    RowsDelivered: run.records_completed ?? 0,
    BytesDelivered: run.bytes_exported ?? 0,
  };
  const lag = ((run.finished_at ?? run.last_updated_at) - run.data_interval_end) / 1000;
  metrics.record(run.by === 'schedule' ? { ...numbers, DeliveryLag: lag } : numbers, about);
}

/** False: the conditions did not hold. */
export async function isWritten(table: Table, ops: readonly Op[]): Promise<boolean> {
  try {
    await table.write(ops);
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

/** A reason as a run keeps it: short, without NUL. */
export const errorText = (reason: string): string => reason.replaceAll('\0', '').slice(0, ERROR_LENGTH);
