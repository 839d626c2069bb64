/**
 * The receipt of what is prepared for a run. It lies in the run, put there by the write with which the commit begins, so
 * that one wait for the disk keeps both; one that is too large for that lies in a file of the run.
 */
import type { Context } from '../../ports/context.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import type { Receipt } from '../destinations/destination.ts';
import type { RunItem } from '../records/runs/model.ts';
import { dropReceiptFile, keepReceiptFile, receiptInFile } from './run-files.ts';

/** The characters of a receipt in a run. Those of thousands of files or parts have many more. */
const MAX_IN_RUN = 8_000;

/** Keeps a receipt as far as the run cannot hold it. Returns the fields that the write which begins the commit sets. */
export async function keepReceipt(
  context: Context,
  { attempt }: RunItem,
  n: number,
  receipt: Receipt,
): Promise<Pick<RunItem, 'receipt'>> {
  const text = toJsonText<Readonly<Record<string, unknown>>>(receipt);
  if (text.length <= MAX_IN_RUN) return { receipt: text };
  await keepReceiptFile(context, attempt, n, receipt);
  return {};
}

/** Returns a run's receipt; undefined when nothing is prepared, as far as is known. Without it all is prepared anew. */
export async function keptReceipt(context: Context, run: RunItem, n: number): Promise<Receipt | undefined> {
  if (run.receipt) return fromJsonText(run.receipt) as Receipt;
  return run.status === 'Starting' ? undefined : receiptInFile(context, run.attempt, n);
}

/** Removes a run's receipt: what it names is about to be removed. */
export async function forgetReceipt(context: Context, run: RunItem, n: number): Promise<void> {
  const { receipt, attempt } = run;
  if (receipt) {
    const key = keys.run(run.batch_export, run.id);
    await tryWrite(context.table, [{ change: key, unset: ['receipt'], if: { is: { receipt, attempt } } }]);
  } else {
    await dropReceiptFile(context, attempt, n);
  }
}
