import type * as z from 'zod';
import type { ActivityOps, Change } from '../../accounts/activity/model.ts';
import { namingOp } from '../../accounts/organizations/members/store.ts';
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { keys, places, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Op, Table } from '../../ports/table/table.ts';
import { writeOrFail } from '../../ports/table/until-written.ts';
import type { DashboardItem } from '../model.ts';
import { aboutDashboard, type DashboardPath, summaryOp } from '../store.ts';
import { type CollaboratorInput, type CollaboratorItem, collaboratorField } from './model.ts';

/** Returns the collaborators of a dashboard, in the order in which they were added. */
export async function readCollaborators(table: Table, { project_id, id }: DashboardPath): Promise<CollaboratorItem[]> {
  const items = await listAll(table, ranges.collaboratorsOf(project_id, id));
  return items.toSorted((a, b) => a.added_at - b.added_at || (a.id < b.id ? -1 : 1));
}

/** Returns one collaborator, and their user. Throws a 404 when there is none, or the account is gone. */
export async function findCollaborator(table: Table, { project_id, id }: DashboardPath, uid: string) {
  const [item, user] = await table.many([keys.collaborator(project_id, id, uid), keys.user(uid)]);
  if (item === undefined || user === undefined) fail('not_found');
  return { item, user };
}

/** Names a collaborator. Throws a 400 when there is no such user, or they are no member, or a collaborator already. */
export async function addCollaborator(
  { table, clock, newId }: Pick<Context, 'table' | 'clock' | 'newId'>,
  { organization }: Tenant,
  summary: DashboardItem,
  { level, user_uuid }: z.output<typeof CollaboratorInput>,
  idempotencyOps: (userUuid: string) => readonly Op[],
  activityOps: ActivityOps,
) {
  const { project_id, id } = summary;
  const [user, member] = await table.many([keys.user(user_uuid), keys.membership(user_uuid, organization.id)]);
  if (user === undefined) invalid(null, 'User does not exist.');
  if (member === undefined) refuseStranger();
  const now = clock();
  const item: CollaboratorItem = {
    ...keys.collaborator(project_id, id, user_uuid),
    ...places.mentionOf(user_uuid, project_id, id),
    id: newId(),
    dashboard_id: id,
    user_uuid,
    level,
    added_at: now,
    updated_at: now,
  };
  const ops: Op[] = [
    { put: item, if: 'absent', else: 'is_collaborator' },
    namingOp(user_uuid, organization, 'no_member'),
    summaryOp(summary, { [collaboratorField(user_uuid)]: level }),
    ...idempotencyOps(user_uuid),
    ...activityOps({
      ...aboutDashboard(summary),
      activity: 'updated',
      changes: [collaboratorChange('created', { user_uuid, level })],
    }),
  ];
  await writeOrFail(table, ops, {
    is_collaborator: () => invalid(null, 'User already is a collaborator.'),
    no_member: refuseStranger,
  });
  return { item, user };
}

function collaboratorChange(action: 'created' | 'deleted', who: { user_uuid: string; level?: number }): Change {
  const [before, after] = action === 'created' ? [null, who] : [who, null];
  return { action, field: 'collaborators', before, after };
}

function refuseStranger(): never {
  return invalid(null, 'Cannot add collaborators that have no access to the project.');
}

/** Takes a collaborator away. Throws a 404 when there is none. */
export async function removeCollaborator(table: Table, summary: DashboardItem, uid: string, activityOps: ActivityOps) {
  const ops: Op[] = [
    { remove: keys.collaborator(summary.project_id, summary.id, uid), if: 'present', else: 'no_collaborator' },
    summaryOp(summary, { [collaboratorField(uid)]: null }),
    ...activityOps({
      ...aboutDashboard(summary),
      activity: 'updated',
      changes: [collaboratorChange('deleted', { user_uuid: uid })],
    }),
  ];
  await writeOrFail(table, ops, { no_collaborator: () => fail('not_found') });
}
