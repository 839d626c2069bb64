/**
 * The back-off of an export. After two like failures of its destination in a row the export waits as a whole: a minute
 * at first, twice as long after each further one, at most an hour. Then a single delivery tries the destination; the
 * others go on when that one has reached it. Who changes the export, or begins a backfill, has it tried at once.
 */

import { messageOf } from '../../basics/text.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { Transient } from '../../ports/errors.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op } from '../../ports/table/table.ts';
import { tryWrite, untilWritten } from '../../ports/table/until-written.ts';
import { GRACE_SECONDS, STEPS } from '../../workflow/steps.ts';
import { lineOps } from '../records/logs.ts';
import type { BatchExportItem, Trouble } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import { errorText, troubleOp } from './outcome.ts';

/** So many like failures in a row are trouble of the destination, not of one delivery. */
const LIKE_FAILURES = 2;
/** Waits of an export: 1, 2, 4 … 60 minutes. */
const FIRST_WAIT_MS = MINUTE_MS;
const LONGEST_WAIT_MS = HOUR_MS;
/** How long a delivery that tries the destination keeps the others waiting: a dead one has none to tell. */
const TRIAL_MS = (STEPS['send-interval'].timeout + GRACE_SECONDS) * SECOND_MS;

const troubleOf = ({ trouble }: BatchExportItem): Trouble | null => (trouble ? fromJsonText(trouble) : null);

/** Returns the trouble for which the export waits, or waited until now; null: nothing keeps it from delivering. */
function waitedFor(item: BatchExportItem): Trouble | null {
  const trouble = troubleOf(item);
  return trouble !== null && trouble.failures >= LIKE_FAILURES ? trouble : null;
}

/** Returns until when the export waits for its destination, in milliseconds since 1970; null: it does not. */
export function waitsUntil(item: BatchExportItem, now: number): number | null {
  const trouble = waitedFor(item);
  return trouble !== null && trouble.until > now ? trouble.until : null;
}

/** Returns the fields by which an export that waits has its destination tried at once; none of one that does not. */
export function triedAtOnce(item: BatchExportItem, now: number): Pick<BatchExportItem, 'trouble'> {
  const trouble = waitedFor(item);
  return trouble === null ? {} : { trouble: toJsonText({ ...trouble, until: now }) };
}

/** Returns the op that puts the trouble of an export, if that is still what was read. */
const exportTroubleOp = (item: BatchExportItem, trouble: Trouble): Op => ({
  change: keys.batchExport(item.id),
  set: { trouble: toJsonText(trouble) },
  if: { is: { id: item.id, trouble: item.trouble ?? null } },
});

/**
 * Lets a delivery reach for the destination. Returns whether it is the one that tries it for all of the export. Throws
 * `Transient` while the export waits; its run then says for what.
 */
export async function admit(context: Context, item: BatchExportItem, run: RunItem): Promise<boolean> {
  const trouble = waitedFor(item);
  if (trouble === null) return false;
  const now = context.clock();
  const isTrial =
    trouble.until <= now &&
    (await tryWrite(context.table, [exportTroubleOp(item, { ...trouble, until: now + TRIAL_MS })]));
  if (isTrial) return true;
  const reason = errorText(
    `The batch export waits for its destination, which failed in the same way before: ${trouble.reason}`,
  );
  if (run.latest_error !== reason) await tryWrite(context.table, [troubleOp(run, reason, now)]);
  throw new Transient(reason);
}

/** How a delivery ended for the destination: it answered, it failed for now, or nobody knows. */
export type Contact = 'reached' | 'unknown' | { readonly failed: string };

/** Notes how a delivery that was admitted ended. What cannot be noted is logged: the next delivery finds it out. */
export async function conclude(
  context: Context,
  item: BatchExportItem,
  run: RunItem,
  isTrial: boolean,
  contact: Contact,
): Promise<void> {
  try {
    if (typeof contact === 'object') await noteFailure(context, run, errorText(contact.failed), isTrial);
    else if (contact === 'reached' && item.trouble) await setTrouble(context, item, null);
    else if (isTrial) await setTrouble(context, item, triedAtOnce(item, context.clock()).trouble ?? null);
  } catch (error) {
    const about = { export: item.id, run: run.id, reason: messageOf(error) };
    context.log.warning('how the destination was found was not noted', about);
  }
}

async function setTrouble({ table }: Context, { id }: BatchExportItem, trouble: JsonText<Trouble> | null) {
  await tryWrite(table, [{ change: keys.batchExport(id), set: { trouble }, if: { is: { id } } }]);
}

/** Counts a failure. Those of deliveries that were under way when the export began to wait are counted already. */
async function noteFailure(context: Context, run: RunItem, reason: string, isTrial: boolean): Promise<void> {
  const { table, clock, metrics } = context;
  await untilWritten(async () => {
    const item = await table.get(keys.batchExport(run.batch_export));
    const now = clock();
    if (item === undefined || (!isTrial && waitsUntil(item, now) !== null)) return;
    const before = troubleOf(item);
    const isFurther = before !== null && (isTrial || kindOf(before.reason) === kindOf(reason));
    const failures = isFurther ? before.failures + 1 : 1;
    const isWaiting = failures >= LIKE_FAILURES;
    const wait = Math.min(FIRST_WAIT_MS * 2 ** (failures - LIKE_FAILURES), LONGEST_WAIT_MS);
    const message =
      `Batch export waits for ${wait / MINUTE_MS} min, as its destination failed ${failures} times in a row: ${reason} ` +
      'A change of the batch export, a backfill or a retry has it tried at once.';
    const line = { at: now, level: 'WARNING', message, instance: item.id } as const;
    await table.write([
      exportTroubleOp(item, { reason, failures, until: isWaiting ? now + wait : now }),
      ...(isWaiting ? lineOps(context, item.id, run.execution, `wait-${run.id}`, [line]) : []),
    ]);
    if (isWaiting) metrics.record({ BackOffs: 1 }, { export: item.id });
  });
}

/** Returns what like failures have in common: their words without those that hold a digit. */
const kindOf = (reason: string): string => reason.replace(/[\w-]*\d[\w-]*/g, '…');
