/** The head of a dashboard, for what hangs on it: collaborators, sharing, access rules. */

import type { Tenant } from '../http/request.ts';
import { fail } from '../ports/errors.ts';
import { keys } from '../ports/table/keys.ts';
import type { Item, Op, Table, Value } from '../ports/table/table.ts';
import type { DashboardItem } from './model.ts';
import { checkCanEdit, checkCanSee } from './rules.ts';

/** How a path names a dashboard. */
export interface DashboardPath {
  readonly project_id: number;
  readonly id: number;
}

/** How an entry of the activity log names a dashboard. */
export const aboutDashboard = ({ id, name, project_id: project }: DashboardItem) =>
  ({ scope: 'Dashboard', id, name, project }) as const;

/** The head, whoever asks, deleted or not: to be given to `foundHead`. */
export async function readHead(table: Table, { project_id, id }: DashboardPath): Promise<Item | undefined> {
  return table.get(keys.dashboard(project_id, id));
}

/** The head that was read, if the dashboard is there for the member; else 404, or 403 when a rule closes it to him. */
export function foundHead(read: Item | undefined, { membership }: Tenant): DashboardItem {
  const head = read as DashboardItem | undefined;
  if (head?.deleted_at !== null) fail('not_found', 'Dashboard not found.');
  checkCanSee(head, membership);
  return head;
}

/** The head, if the member may edit the dashboard; else 404 or 403. */
export function foundHeadToEdit(read: Item | undefined, tenant: Tenant): DashboardItem {
  const head = foundHead(read, tenant);
  checkCanEdit(head, tenant.membership);
  return head;
}

/**
 * Changes fields of the head in the transaction of what they follow from; null takes one away. Refused when the
 * dashboard was deleted meanwhile. What an answer shows changes, so the version does.
 */
export function headOp({ project_id, id }: DashboardPath, fields: Readonly<Record<string, Value>>): Op {
  const entries = Object.entries(fields);
  const kept = entries.filter(([, value]) => value !== null);
  const gone = entries.filter(([, value]) => value === null).map(([name]) => name);
  return {
    change: keys.dashboard(project_id, id),
    ...(kept.length === 0 ? {} : { set: Object.fromEntries(kept) }),
    ...(gone.length === 0 ? {} : { unset: gone }),
    add: { ver: 1 },
    if: { is: { id, deleted_at: null } },
  };
}
