import type { ActivityOps } from '../../accounts/activity/model.ts';
import { findOrganization, isAlive } from '../../accounts/organizations/store.ts';
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import { notAChoice } from '../../http/fields.ts';
import { jobOps } from '../../jobs/job.ts';
import { LIVE_LOWERED, lowerLiveOps } from '../../lake/fence.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import type { Settings } from '../../ports/settings.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys, places, ranges } from '../../ports/table/keys.ts';
import { type Op, Refused, type Table } from '../../ports/table/table.ts';
import { countedOp, ReadAgain, untilCounted } from '../../ports/table/until-written.ts';
import { checkWebhook, webhookFields } from '../../webhooks/webhook.ts';
import { checkedConfig, checkProved } from '../destinations/config.ts';
import { type Destination, reachOf } from '../destinations/destination.ts';
import { destinationOf } from '../destinations/index.ts';
import { sealConfig } from '../destinations/secrets.ts';
import { type BatchExportInput, type BatchExportItem, belongingOf, MAX_EXPORTS } from '../records/model.ts';
import { firstIntervalStart, initialPlan, nextDue, type Plan, planFields } from '../runs/plan.ts';
import { aboutExport } from './activity.ts';
import { checkedSize, checkSelection, newFields, projectFor } from './rules.ts';

/** What making or changing an export needs of the world. */
export type Writing = Pick<Context, 'table' | 'clock' | 'newId' | 'vault' | 'settings'> & Compiling;

/** What reads a query for whoever has sent it. */
export type Compiling = Pick<Context, 'compiler' | 'callerLeft' | 'callerUser'>;

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
  activityOps: ActivityOps,
): Promise<BatchExportItem> {
  const { table, clock, newId, settings } = context;
  const { team, fields, destination, config, reach } = await newConfig(context, { organization, project }, input);
  await checkProved(destination, config, reach);
  const now = clock();
  const id = newId();
  const belonging = belongingOf({ organization_id: organization.id, id });
  const item = checkedSize<BatchExportItem>({
    ...keys.batchExport(id),
    ...places.exportOf(organization.id, now, id),
    id,
    organization_id: organization.id,
    team_id: team.id,
    ...fields,
    ...(await webhookFields(context, input, belonging)),
    destination_type: destination.type,
    ...(await sealConfig(context, destination, config, belonging)),
    created_at: now,
    last_updated_at: now,
    latest_runs: toJsonText([]),
    failures_in_a_row: 0,
    deleted_at: null,
    ver: 1,
  });
  const plan = initialPlan(item, now);
  const ownerAgain = async () =>
    (await findOrganization(table, organization.id)) ?? fail('not_found', 'Organization not found.');
  return untilCounted(organization, ownerAgain, async (owner) => {
    const [live] = await Promise.all([liveOps(table, item, plan), checkRoom(table, owner.id)]);
    const ops: Op[] = [
      countedOp(keys.organization(owner.id), isAlive(owner.id), ['exports_made', owner.exports_made]),
      {
        check: keys.project(team.id),
        if: { is: { organization_id: owner.id, deleted_at: null } },
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
      if (error.reason === 'project_gone') fail('not_found', 'Project not found.');
      throw error.reason === LIVE_LOWERED ? new ReadAgain() : error;
    }
  });
}

/** Returns what a create makes of what was sent. Throws a `Failure` when something is wrong. */
export async function newConfig(
  { clock, settings, compiler, callerLeft, callerUser: user }: Pick<Context, 'clock' | 'settings'> & Compiling,
  { organization, project }: Pick<Tenant, 'organization'> & { readonly project?: Tenant['project'] | undefined },
  input: BatchExportInput,
) {
  const team = project ?? projectFor(fromJsonText(organization.projects), input.team_id);
  const destination = offered(input.destination.type, settings);
  const sent = await compiler.fields(input, { organization: organization.id, user, signal: callerLeft });
  const query = { hogql_query: null, schema: null, filters: null, ...sent };
  const fields = { ...newFields(input, clock()), ...query };
  checkSelection(fields, destination);
  checkWebhook(input, settings);
  const reach = reachOf(settings, organization.id);
  const config = checkedConfig(destination, input.destination.config, undefined, fields, reach);
  return { team, fields, destination, config, reach };
}

/** Returns what keeps the project's lake from slipping rows in behind the export's first interval. */
export async function liveOps(table: Table, item: BatchExportItem, plan: Plan): Promise<Op[]> {
  const first = firstIntervalStart(item, plan);
  return first === null ? [] : lowerLiveOps(table, item.team_id, first);
}

/** Returns the destination of a type. Fails with 400 when this deployment cannot deliver to it. */
export function offered(type: string, settings: Settings): Destination {
  const destination = settings.destinations.includes(type) ? destinationOf(type) : undefined;
  return destination ?? invalid('destination__type', notAChoice(type, settings.destinations), 'invalid_choice');
}
