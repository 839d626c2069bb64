import type { ActivityOps } from '../../accounts/activity/model.ts';
import { MINUTE_MS } from '../../basics/units.ts';
import { checkVersion, type IfMatch, inVersion } from '../../http/etag.ts';
import { jobOps } from '../../jobs/job.ts';
import type { Context } from '../../ports/context.ts';
import { fail } from '../../ports/errors.ts';
import { keys, places } from '../../ports/table/keys.ts';
import type { Op, Value } from '../../ports/table/table.ts';
import { untilWrittenFrom } from '../../ports/table/until-written.ts';
import { checkWebhook, webhookFields } from '../../webhooks/webhook.ts';
import { checkedConfig, checkProved, checkSameType } from '../destinations/config.ts';
import { reachOf } from '../destinations/destination.ts';
import { destinationOf } from '../destinations/index.ts';
import { configToChange, sealConfig } from '../destinations/secrets.ts';
import type { QueryFields } from '../query/compile.ts';
import type { BackfillItem } from '../records/backfills/model.ts';
import { type BatchExportItem, type BatchExportPatch, belongingOf } from '../records/model.ts';
import { triedAtOnce } from '../runs/back-off.ts';
import { stopExport } from '../runs/cancel.ts';
import { type Plan, pausedRange, skipMissed } from '../runs/plan.ts';
import { nextLook } from '../runs/retention.ts';
import { type ExportAndPlan, exportWithPlan, planOp } from '../runs/store.ts';
import { aboutBackfill, aboutExport, exportChanges } from './activity.ts';
import { claimBackfill, startMachine } from './backfills.ts';
import { type Compiling, liveOps, offered, type Writing } from './create.ts';
import { changedFields, checkedSize, checkSelection, SCHEDULE_FIELDS } from './rules.ts';

/** Returns what is stored of the query and the filters in a PATCH. Fails with 400 for what cannot be exported. */
const sentQuery = (
  { compiler, callerLeft, callerUser: user }: Compiling,
  { organization_id: organization }: BatchExportItem,
  patch: BatchExportPatch,
): Promise<QueryFields> => compiler.fields(patch, { organization, user, signal: callerLeft });

/**
 * Changes the fields that were sent, and only those. The change is computed from the export as it is, written under
 * its version, and computed again when somebody else was first: so two changes of different fields both last.
 */
export async function changeBatchExport(
  context: Writing,
  read: ExportAndPlan,
  patch: BatchExportPatch,
  ifMatch: IfMatch,
  activityOps: ActivityOps,
): Promise<BatchExportItem> {
  const query = await sentQuery(context, read.item, patch);
  return untilChanged(context, read, ifMatch, (now) => writeChange(context, now, patch, activityOps, { query }));
}

/** Lets the schedule start nothing any more. Changes nothing when the export is paused already. */
export async function pauseBatchExport(
  context: Writing,
  read: ExportAndPlan,
  ifMatch: IfMatch,
  activityOps: ActivityOps,
): Promise<void> {
  await untilChanged(context, read, ifMatch, async (now) => {
    if (!now.item.paused) await writeChange(context, now, { paused: true }, activityOps);
  });
}

/**
 * Lets the schedule go on; with `backfill`, what the pause left out is exported by a backfill that begins in the same
 * transaction. Returns that backfill, if there was anything left out. Changes nothing when the export is not paused.
 */
export async function unpauseBatchExport(
  context: Context,
  read: ExportAndPlan,
  { backfill = false }: { readonly backfill?: boolean | undefined },
  ifMatch: IfMatch,
  activityOps: ActivityOps,
): Promise<BackfillItem | undefined> {
  const id = context.newId();
  const begun = await untilChanged(context, read, ifMatch, async (now) => {
    if (!now.item.paused) return undefined;
    const missed = backfill ? pausedRange(now.plan, now.item, context.clock()) : undefined;
    let made: BackfillItem | undefined;
    const replan: Replan = async (item, plan) => {
      if (missed === undefined) return { plan, ops: [] };
      const begins = await claimBackfill(context, item, plan, id, { start_at: missed.from, end_at: missed.to });
      made = begins.backfill;
      return {
        plan: begins.plan,
        ops: [...begins.ops, ...activityOps({ ...aboutBackfill(item, id), activity: 'created' })],
      };
    };
    await writeChange(context, now, { paused: false }, activityOps, { replan });
    return made;
  });
  if (begun !== undefined) await startMachine(context, begun);
  return begun;
}

/** Has `change` compute and write, from the export as it is, until nobody else is first. Returns what it does. */
async function untilChanged<T>(
  { table }: Pick<Context, 'table'>,
  read: ExportAndPlan,
  ifMatch: IfMatch,
  change: (now: ExportAndPlan) => Promise<T>,
): Promise<T> {
  const readAgain = () => exportWithPlan(table, read.item.id);
  return untilWrittenFrom(read, readAgain, async (now) => {
    if (now.item.deleted_at !== null) return fail('not_found');
    checkVersion(now.item, ifMatch);
    return change(now);
  });
}

/** Returns what becomes of the plan with a change of the schedule, and what is written beside. */
type Replan = (after: BatchExportItem, plan: Plan) => Promise<{ readonly plan: Plan; readonly ops: readonly Op[] }>;

async function writeChange(
  context: Writing,
  { item, plan }: ExportAndPlan,
  patch: BatchExportPatch,
  activityOps: ActivityOps,
  {
    query = {},
    replan = async (_after, replanned) => ({ plan: replanned, ops: [] }),
  }: { readonly query?: QueryFields; readonly replan?: Replan } = {},
): Promise<BatchExportItem> {
  const now = context.clock();
  const fields = checkedFields(context, item, patch, query);
  const destination = await changedDestination(context, item, fields, patch);
  const webhook = await webhookFields(context, patch, belongingOf(item));
  const tried = triedAtOnce(item, now);
  const set = { ...fields, ...destination, ...webhook, ...tried, last_updated_at: now, ver: item.ver + 1 };
  const changed: BatchExportItem = checkedSize({ ...item, ...set });
  const isRescheduled = SCHEDULE_FIELDS.some((field) => patch[field] !== undefined) || tried.trouble !== undefined;
  await context.table.write([
    { change: keys.batchExport(item.id), set, if: { is: { ver: item.ver, deleted_at: null } } },
    ...(isRescheduled ? await rescheduleOps(context, item, changed, plan, replan) : []),
    ...activityOps({
      ...aboutExport(changed),
      activity: 'updated',
      changes: exportChanges(item, set, secretsSent(patch.destination)),
    }),
  ]);
  return changed;
}

/** Returns the names of the secrets that a PATCH sends. */
function secretsSent(sent: BatchExportPatch['destination']): string[] {
  const { config = {}, type = '' } = sent ?? {};
  return (destinationOf(type)?.secrets ?? []).filter((name) => Object.hasOwn(config, name));
}

/** Returns the plan, the job and the lake's bound that follow from a change of what the schedule depends on. */
async function rescheduleOps(
  context: Writing,
  before: BatchExportItem,
  after: BatchExportItem,
  plan: Plan,
  replan: Replan,
): Promise<Op[]> {
  const { plan: replanned, ops } = await replan(after, skipMissed(plan, before, context.clock()));
  return [
    planOp(after.id, plan, replanned),
    ...ops,
    ...jobOps('export', after.id, await nextLook(context, after, replanned)),
    ...(await liveOps(context.table, after, replanned)),
  ];
}

/** Returns the fields that a PATCH sets beside destination and webhook. Throws a `Failure` when one is wrong. */
function checkedFields(
  { clock, settings }: Pick<Context, 'clock' | 'settings'>,
  item: BatchExportItem,
  patch: BatchExportPatch,
  query: QueryFields,
): Partial<BatchExportItem> {
  const fields = { ...changedFields(item, patch, clock()), ...query };
  checkSelection({ ...item, ...fields }, destinationOf(item.destination_type));
  checkWebhook(patch, settings);
  return fields;
}

/** Returns what a PATCH makes of an export's config, secrets included. Throws a `Failure` when anything is wrong. */
export async function changedConfig(
  context: Pick<Context, 'clock' | 'vault' | 'settings'> & Compiling,
  item: BatchExportItem,
  patch: BatchExportPatch,
) {
  const query = await sentQuery(context, item, patch);
  const fields = checkedFields(context, item, patch, query);
  return { ...(await destined(context, item, fields, patch)), fields };
}

/** Returns what a PATCH makes of an export's config, secrets included. */
async function destined(
  context: Pick<Context, 'vault' | 'settings'>,
  item: BatchExportItem,
  { model = item.model }: Partial<BatchExportItem>,
  patch: BatchExportPatch,
) {
  const { type, config } = patch.destination ?? { type: item.destination_type, config: {} };
  checkSameType(item.destination_type, type);
  const destination = offered(type, context.settings);
  const reach = reachOf(context.settings, item.organization_id);
  const stored = await configToChange(context, item, destination, config);
  const merged = checkedConfig(destination, config, stored, { model }, reach);
  return { destination, config: merged, reach };
}

/** Returns what a PATCH of the destination sets, if it sends one. A new model is checked against the stored one. */
async function changedDestination(
  context: Writing,
  item: BatchExportItem,
  fields: Partial<BatchExportItem>,
  patch: BatchExportPatch,
): Promise<Readonly<Record<string, Value>>> {
  if (patch.destination === undefined && (fields.model ?? item.model) === item.model) return {};
  const { destination, config, reach } = await destined(context, item, fields, patch);
  if (patch.destination === undefined) return {};
  await checkProved(destination, config, reach);
  return sealConfig(context, destination, config, belongingOf(item));
}

/** When `begin` stops what the deletion could not: the job stays until nothing of the export runs any more. */
const STOP_RETRY_MS = MINUTE_MS;

/**
 * Deletes an export: it is gone for every reader at once, nothing of it starts any more, and what runs is cancelled.
 * Throws `Refused` when it is gone, or in none of the versions.
 */
export async function destroyBatchExport(
  context: Context,
  item: BatchExportItem,
  ifMatch: IfMatch,
  activityOps: ActivityOps,
): Promise<void> {
  const now = context.clock();
  await context.table.write([
    {
      change: keys.batchExport(item.id),
      set: { deleted_at: now, last_updated_at: now, ...places.deletedExportOf(item.organization_id, now, item.id) },
      if: { is: { id: item.id, deleted_at: null, ...inVersion(ifMatch) } },
    },
    ...jobOps('export', item.id, now + STOP_RETRY_MS),
    ...activityOps({ ...aboutExport(item), activity: 'deleted' }),
  ]);
  const left = await stopExport(context, item);
  if (left === undefined) await context.table.write(jobOps('export', item.id, null));
}
