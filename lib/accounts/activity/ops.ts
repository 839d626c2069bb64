/** Makes the entries of the activity log. */

import { DAY_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Op } from '../../ports/table/table.ts';
import { ttlAt } from '../../ports/table/ttl.ts';
import type { ActivityItem, ActivityOps, NewActivity } from './model.ts';
import { changesText, nameText } from './rules.ts';

/** How long entries are kept: 400 days (a year, and time to look back at it). */
const RETENTION_MS = 400 * DAY_MS;

type LogContext = Pick<Context, 'clock' | 'newId'>;

/** Who does something, and where. */
interface Actor {
  readonly user_uuid: string | null;
  readonly key_mask: string | null;
  readonly request_id: string | null;
  /** The organization and the project of entries that name none. */
  readonly organization: string | undefined;
  readonly project: number | undefined;
}

/** Returns what makes entries in the name of an actor. It throws when neither the actor nor the entry names an organization. */
export function activityOpsOf({ clock, newId }: LogContext, { organization, project, ...by }: Actor): ActivityOps {
  return (entry) => {
    const owner = entry.organization ?? organization;
    if (owner === undefined) throw new Error(`no organization to log ${entry.scope} ${entry.activity}`);
    return entryOps({ ...by, id: newId(), organization_id: owner, created_at: clock() }, entry, project);
  };
}

/** Returns what makes entries of the acts of the service itself, or of an operator on the command line. */
export function systemActivityOps(context: LogContext, organization?: string): ActivityOps {
  return activityOpsOf(context, {
    user_uuid: null,
    key_mask: null,
    request_id: null,
    organization,
    project: undefined,
  });
}

type Base = Pick<ActivityItem, 'id' | 'organization_id' | 'user_uuid' | 'key_mask' | 'request_id' | 'created_at'>;

function entryOps(base: Base, entry: NewActivity, project: number | undefined): Op[] {
  const { scope, activity, id, name, changes = [] } = entry;
  if (activity === 'updated' && changes.length === 0) return [];
  const item: ActivityItem = {
    ...keys.activity(base.organization_id, base.created_at, base.id),
    ...base,
    team_id: entry.project ?? project ?? null,
    activity,
    scope,
    item_id: String(id),
    name: nameText(name),
    changes: changesText(changes),
    ttl: ttlAt(base.created_at + RETENTION_MS),
  };
  return [{ put: item, if: 'absent' }];
}
