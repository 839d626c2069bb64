import type { ActivityOps } from '../../accounts/activity/model.ts';
import { systemActivityOps } from '../../accounts/activity/ops.ts';
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import { MINUTE_MS } from '../../basics/units.ts';
import { checkVersion, type IfMatch, inVersion } from '../../http/etag.ts';
import { notAChoice } from '../../http/fields.ts';
import { type CursorPage, type Paging, readCursorPage } from '../../http/page.ts';
import { jobOps } from '../../jobs/job.ts';
import { LIVE_LOWERED, lowerLiveOps } from '../../lake/fence.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import type { Settings } from '../../ports/settings.ts';
import { filtered } from '../../ports/table/filtered.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys, places, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { Busy, type Op, Refused, type Table, type Value } from '../../ports/table/table.ts';
import { MAX_ATTEMPTS, untilWritten } from '../../ports/table/until-written.ts';
import { checkWebhook, webhookFields } from '../../webhooks/webhook.ts';
import { checkedConfig, checkProved, checkSameType } from '../destinations/config.ts';
import { type Destination, reachOf } from '../destinations/destination.ts';
import { destinationOf } from '../destinations/index.ts';
import { configToChange, sealConfig } from '../destinations/secrets.ts';
import type { QueryFields } from '../query/compile.ts';
import type { BackfillItem } from '../records/backfills/model.ts';
import { type BatchExportInput, type BatchExportItem, type BatchExportPatch, MAX_EXPORTS } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import { triedAtOnce } from '../runs/back-off.ts';
import { stopExport } from '../runs/cancel.ts';
import {
  firstIntervalStart,
  initialPlan,
  nextDue,
  type Plan,
  pausedRange,
  planFields,
  skipMissed,
} from '../runs/plan.ts';
import { backfillWithPlan, type ExportAndPlan, exportWithPlan, planOp } from '../runs/store.ts';
import { aboutBackfill, aboutExport, exportChanges } from './activity.ts';
import { claimBackfill, startMachine } from './backfills.ts';
import {
  changedFields,
  checkedSize,
  checkSelection,
  newFields,
  projectFor,
  type RunQuery,
  SCHEDULE_FIELDS,
} from './rules.ts';

type Writing = Pick<Context, 'table' | 'clock' | 'newId' | 'vault' | 'settings' | 'compiler' | 'callerLeft'>;

/** Returns what tells exports of the tenant: of the project that the path names, else of any of the organization's. */
function isOf({ organization, project }: Tenant): (item: BatchExportItem | undefined) => item is BatchExportItem {
  const teams = new Set((project === undefined ? fromJsonText(organization.projects) : [project]).map(({ id }) => id));
  return (item): item is BatchExportItem => item !== undefined && item.deleted_at === null && teams.has(item.team_id);
}

/** Returns the export that was read. Fails with 404 when it is not the tenant's. */
export function foundExport(read: BatchExportItem | undefined, tenant: Tenant): BatchExportItem {
  return isOf(tenant)(read) ? read : fail('not_found');
}

/** An export that was read, whoever's it is, and what was read beside it. */
type Beside<T> = readonly [batchExport: BatchExportItem | undefined, beside: T | undefined];

/** Returns an export and what was read beside it. Fails with 404 when one of them is missing, or not the tenant's. */
export function foundBoth<T>([item, beside]: Beside<T>, tenant: Tenant): readonly [BatchExportItem, T] {
  return [foundExport(item, tenant), beside ?? fail('not_found')];
}

/** Returns what was read beside an export. Fails with 404 when one of them is missing, or not the tenant's. */
export function foundBeside<T>(read: Beside<T>, tenant: Tenant): T {
  return foundBoth(read, tenant)[1];
}

/** Returns the tenant's exports among those that were read. */
export function foundExports(read: readonly BatchExportItem[], tenant: Tenant): BatchExportItem[] {
  return read.filter(isOf(tenant));
}

/** Returns an export as stored, whoever's it is: to be given to `foundExport`. */
export async function readExport(table: Table, id: string): Promise<BatchExportItem | undefined> {
  return table.get(keys.batchExport(id));
}

/** Returns an export and one of its runs, whoever's they are: to be given to `foundBeside`. */
export async function readRun(table: Table, id: string, runId: string): Promise<Beside<RunItem>> {
  return table.many([keys.batchExport(id), keys.run(id, runId)]);
}

/** Returns an export, and one of its backfills with the plan, whoever's they are: to be given to `foundBoth`. */
export async function readBackfill(
  table: Table,
  id: string,
  backfillId: string,
): Promise<Beside<{ readonly plan: Plan; readonly backfill: BackfillItem }>> {
  const read = await backfillWithPlan(table, { export: id, backfill: backfillId });
  return [read?.item, read];
}

/** Returns a page of an export's runs. */
export async function readRuns(
  table: Table,
  exportId: string,
  { by, newestFirst, from, to, statuses }: RunQuery,
  paging: Paging,
): Promise<CursorPage<RunItem>> {
  const isByCreation = by === 'created_at';
  const range = isByCreation ? ranges.runsByCreation(exportId, from, to) : ranges.runsByInterval(exportId, from, to);
  const isAsked = (run: RunItem): boolean =>
    (isByCreation || run.data_interval_end <= to) && (statuses?.has(run.status) ?? true);
  return readCursorPage(filtered(table, isAsked), { ...range, newestFirst }, paging);
}

/** Returns a page of an export's backfills. */
export async function readBackfills(
  table: Table,
  exportId: string,
  { by, newestFirst }: { by: 'created_at' | 'start_at'; newestFirst: boolean },
  paging: Paging,
): Promise<CursorPage<BackfillItem>> {
  const range = by === 'created_at' ? ranges.backfillsByCreation(exportId) : ranges.backfillsByStart(exportId);
  const all = filtered<BackfillItem>(table, () => true);
  return readCursorPage(all, { ...range, newestFirst }, paging);
}

/** Returns the exports of an organization, newest first, whichever project's: there are so few that they can be held. */
export async function readExports(table: Table, organizationId: string): Promise<BatchExportItem[]> {
  return listAll(table, ranges.exportsOf(organizationId));
}

/** Refuses one more export of an organization that has as many as it may have. */
async function checkRoom(table: Table, organizationId: string): Promise<void> {
  const { count = 0 } = await table.list(ranges.exportsOf(organizationId), { limit: 1, count: true });
  if (count >= MAX_EXPORTS) invalid(null, `An organization may have at most ${MAX_EXPORTS} batch exports.`);
}

/**
 * Makes an export with its plan and its first job, and lets the lake know from when on its rows matter, in one
 * transaction, together with what `idempotencyOps` adds.
 */
export async function createBatchExport(
  context: Writing,
  { organization, project }: Tenant,
  input: BatchExportInput,
  idempotencyOps: (exportId: string) => readonly Op[],
  activityOps: ActivityOps = systemActivityOps(context, organization.id),
): Promise<BatchExportItem> {
  const { table, clock, newId, settings } = context;
  const { team, fields, destination, config, reach } = await newConfig(context, { organization, project }, input);
  await checkProved(destination, config, reach);
  const now = clock();
  const id = newId();
  const item = checkedSize<BatchExportItem>({
    ...keys.batchExport(id),
    ...places.exportOf(organization.id, now, id),
    id,
    organization_id: organization.id,
    team_id: team.id,
    ...fields,
    ...(await webhookFields(context, input, { organization: organization.id, batchExport: id })),
    destination_type: destination.type,
    ...(await sealConfig(context, destination, config, { organization: organization.id, batchExport: id })),
    created_at: now,
    last_updated_at: now,
    latest_runs: toJsonText([]),
    failures_in_a_row: 0,
    deleted_at: null,
    ver: 1,
  });
  const plan = initialPlan(item, now);
  for (let left = MAX_ATTEMPTS; left > 0; left--) {
    const [live] = await Promise.all([liveOps(table, item, plan), checkRoom(table, organization.id)]);
    const ops: Op[] = [
      {
        check: keys.organization(organization.id),
        if: { is: { id: organization.id, deleted_at: null } },
        else: 'organization_gone',
      },
      {
        check: keys.project(team.id),
        if: { is: { organization_id: organization.id, deleted_at: null } },
        else: 'project_gone',
      },
      { put: item, if: 'absent' },
      { put: { ...keys.plan(id), ...planFields(plan) }, if: 'absent' },
      ...jobOps('export', id, nextDue(item, plan, now, settings)),
      ...live,
      ...idempotencyOps(id),
      ...activityOps({ ...aboutExport(item), activity: 'created' }),
    ];
    try {
      await table.write(ops);
      return item;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.reason === 'organization_gone') fail('not_found', 'Organization not found.');
      if (error.reason === 'project_gone') fail('not_found', 'Project not found.');
      if (error.reason !== LIVE_LOWERED) throw error;
    }
  }
  throw new Busy('many exports of the project are being made');
}

/** Returns what a create makes of what was sent. Throws a `Failure` when something is wrong. */
export async function newConfig(
  { clock, settings, compiler, callerLeft }: Pick<Context, 'clock' | 'settings' | 'compiler' | 'callerLeft'>,
  { organization, project }: Pick<Tenant, 'organization'> & { readonly project?: Tenant['project'] | undefined },
  input: BatchExportInput,
) {
  const team = project ?? projectFor(fromJsonText(organization.projects), input.team_id);
  const destination = offered(input.destination.type, settings);
  const sent = await compiler.fields(input, { organization: organization.id, callerLeft });
  const query = { hogql_query: null, schema: null, filters: null, ...sent };
  const fields = { ...newFields(input, clock()), ...query };
  checkSelection(fields, destination);
  checkWebhook(input, settings);
  const reach = reachOf(settings, organization.id);
  const config = checkedConfig(destination, input.destination.config, undefined, fields, reach);
  return { team, fields, destination, config, reach };
}

/** Returns what is stored of the query and the filters in a PATCH. Fails with 400 for what cannot be exported. */
const sentQuery = (
  { compiler, callerLeft }: Pick<Context, 'compiler' | 'callerLeft'>,
  { organization_id: organization }: BatchExportItem,
  patch: BatchExportPatch,
): Promise<QueryFields> => compiler.fields(patch, { organization, callerLeft });

/** Returns what keeps the project's lake from slipping rows in behind the export's first interval. */
async function liveOps(table: Table, item: BatchExportItem, plan: Plan): Promise<Op[]> {
  const first = firstIntervalStart(item, plan);
  return first === null ? [] : lowerLiveOps(table, item.team_id, first);
}

/** Returns the destination of a type. Fails with 400 when this deployment cannot deliver to it. */
function offered(type: string, settings: Settings): Destination {
  const destination = settings.destinations.includes(type) ? destinationOf(type) : undefined;
  return destination ?? invalid('destination__type', notAChoice(type, settings.destinations), 'invalid_choice');
}

/** Returns an export and its plan. Fails with 404 when it is not the tenant's. */
export function foundWithPlan(read: ExportAndPlan | undefined, tenant: Tenant): ExportAndPlan {
  foundExport(read?.item, tenant);
  return read ?? fail('not_found');
}

/**
 * Changes the fields that were sent, and only those. The change is computed from the export as it is, written under
 * its version, and computed again when somebody else was first: so two changes of different fields both last.
 */
export async function changeBatchExport(
  context: Writing,
  read: ExportAndPlan,
  patch: BatchExportPatch,
  ifMatch: IfMatch,
  activityOps: ActivityOps = systemActivityOps(context, read.item.organization_id),
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
  return untilWritten(async (isAgain) => {
    const now = isAgain ? await exportWithPlan(table, read.item.id) : read;
    if (now === undefined || now.item.deleted_at !== null) return fail('not_found');
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
  const belonging = { organization: item.organization_id, batchExport: item.id };
  const webhook = await webhookFields(context, patch, belonging);
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
  { table, clock, settings }: Writing,
  before: BatchExportItem,
  after: BatchExportItem,
  plan: Plan,
  replan: Replan,
): Promise<Op[]> {
  const { plan: replanned, ops } = await replan(after, skipMissed(plan, before, clock()));
  return [
    planOp(after.id, plan, replanned),
    ...ops,
    ...jobOps('export', after.id, nextDue(after, replanned, clock(), settings)),
    ...(await liveOps(table, after, replanned)),
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
  context: Pick<Context, 'clock' | 'vault' | 'settings' | 'compiler' | 'callerLeft'>,
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
  return sealConfig(context, destination, config, { organization: item.organization_id, batchExport: item.id });
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
  activityOps: ActivityOps = systemActivityOps(context, item.organization_id),
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
