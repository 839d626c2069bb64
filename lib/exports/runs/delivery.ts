/** One interval on its way to its destination, as `send` and `settle` handle it: prepared, then committed or discarded. */
import { hash } from 'node:crypto';
import { pause } from '../../basics/pause.ts';
import { SECOND_MS } from '../../basics/units.ts';
import { traceOf } from '../../http/trace.ts';
import type { Context } from '../../ports/context.ts';
import { Permanent } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Table } from '../../ports/table/table.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import { deliveredColumns } from '../../warehouse/query-columns.ts';
import { type Delivery, type Destination, type Prepared, reachOf } from '../destinations/destination.ts';
import { openConfig } from '../destinations/secrets.ts';
import { type LogLine, writeLines } from '../records/logs.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import { troubleOp } from './outcome.ts';
import { forgetReceipt, keptReceipt } from './receipt.ts';
import { intervalOf } from './run.ts';
import { type BatchInput, keepNote, noteOf } from './run-files.ts';

/** How a step finds a destination by its type; a test adds its own. */
export type DestinationOf = (type: string) => Destination | undefined;

/** A run that a batch is to deliver: of which export, of what, and at which place of its batch. */
export interface BatchRun {
  readonly item: BatchExportItem;
  readonly input: BatchInput;
  /** The index of the run's interval in its batch. */
  readonly n: number;
  readonly run: RunItem;
}

/** How a destination is found and reached for. */
export interface Delivering {
  readonly findDestination: DestinationOf;
  /** Aborted when whoever reaches for it is to stop. */
  readonly signal: AbortSignal;
}

/** How long removing may take, whatever stopped the delivery. */
const DISCARD_TIMEOUT_MS = 30 * SECOND_MS;

/** What a destination keeps for another attempt, and the digest of its config as it was stored then. */
interface KeptNote {
  readonly destination: string;
  readonly note: unknown;
}

const CHANGED =
  'The destination was changed while this interval was on its way: all of it is sent to it from the beginning.';

/** A run of a batch, its destination, and what the log is told when the run ends or waits. */
export interface Sending extends Pick<BatchRun, 'run' | 'n'> {
  readonly destination: Destination;
  readonly delivery: Delivery;
  readonly lines: LogLine[];
  /** What is prepared, as far as this process knows. */
  prepared: Prepared | undefined;
}

/** Makes an interval ready to be sent. Throws `Permanent` when its destination cannot be used at all. */
export async function openSending(
  context: Context,
  { item, input, n, run }: BatchRun,
  { findDestination, signal }: Delivering,
): Promise<Sending> {
  const { warehouse, settings, outbound, clock } = context;
  const destination = findDestination(item.destination_type);
  if (destination === undefined) throw new Permanent(`There is no destination of type '${item.destination_type}'.`);
  const interval = intervalOf(run);
  const stored = hash('sha256', `${item.destination_config} ${item.destination_secrets}`);
  context.log.debug('a delivery begins', { run: run.id, trace_id: traceOf(run.id).id });
  const lines: LogLine[] = [];
  const delivery: Delivery = {
    exportId: item.id,
    nameOf: (exportId) => nameFor(context.table, item, exportId),
    runId: run.id,
    attempt: input.attempt,
    model: input.model,
    teamId: input.teamId,
    interval,
    config: await openConfig(context, item),
    columns: (defaults) => deliveredColumns(input.query.select ?? null, defaults),
    rows: (form) => warehouse.read(input, interval, form, signal),
    files: (form) => warehouse.files(input, interval, form, signal),
    outbound,
    reach: reachOf(settings, item.organization_id),
    signal,
    clock,
    say: (level, message) => lines.push({ at: clock(), level, message, instance: run.id }),
    pause: async (milliseconds, reason) => {
      await writeLines(context, item.id, run.execution, `pause-${run.id}`, lines.splice(0));
      await tryWrite(context.table, [troubleOp(run, reason, clock())]);
      await pause(milliseconds, signal);
    },
    keep: (note) => keepNote(context, input.attempt, n, { destination: stored, note }),
    async kept() {
      const found = (await noteOf(context, input.attempt, n)) as KeptNote | undefined;
      if (found === undefined || found.destination === stored) return found?.note;
      delivery.say('WARNING', CHANGED);
      return undefined;
    },
  };
  return { run, n, destination, delivery, lines, prepared: undefined };
}

/** Returns what an export may be called in what readers of `item` see: of another project they may know nothing. */
async function nameFor(table: Table, item: BatchExportItem, exportId: string): Promise<string> {
  const other = await table.get(keys.batchExport(exportId));
  if (other === undefined || other.team_id !== item.team_id) return 'another batch export';
  return `the ${other.deleted_at === null ? '' : 'deleted '}batch export '${other.name}' (${other.id})`;
}

/** Returns what an earlier attempt prepared, as its receipt tells; undefined when there is no receipt. */
export async function resume(context: Context, sending: Sending): Promise<Prepared | undefined> {
  const receipt = await keptReceipt(context, sending.run, sending.n);
  sending.prepared = receipt && { receipt };
  return sending.prepared;
}

/** Prepares the interval. Once its receipt is kept its commit can be finished by whoever comes. */
export async function prepare(sending: Sending): Promise<Prepared> {
  const { destination, delivery } = sending;
  sending.prepared = await destination.deliver(delivery);
  delivery.signal.throwIfAborted();
  return sending.prepared;
}

/** Removes what is known to be prepared. The receipt goes first, so that nobody commits what is being removed. */
export async function discard(context: Context, sending: Sending): Promise<void> {
  const { destination, delivery, run, n, prepared } = sending;
  await forgetReceipt(context, run, n);
  await destination.discard({ ...delivery, signal: AbortSignal.timeout(DISCARD_TIMEOUT_MS) }, prepared);
}
