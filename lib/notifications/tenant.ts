/** The organization and project of an alert or a subscription, and as whom it looks. */
import type { MembershipItem, OrganizationItem, ProjectItem } from '../accounts/organizations/model.ts';
import { findProject } from '../accounts/organizations/projects/store.ts';
import { findMembership, findOrganization } from '../accounts/organizations/store.ts';
import type { Table } from '../ports/table/table.ts';
import type { NotifierItem } from './notifier.ts';

export interface NotifierTenant {
  readonly organization: OrganizationItem;
  readonly project: ProjectItem;
  /** Of whoever made it; undefined: they have left. */
  readonly membership: MembershipItem | undefined;
}

/** Returns whose it is; undefined when that is deleted. */
export async function notifierTenantOf(table: Table, item: NotifierItem): Promise<NotifierTenant | undefined> {
  const [organization, project, membership] = await Promise.all([
    findOrganization(table, item.organization_id),
    findProject(table, item.project_id),
    findMembership(table, item.created_by, item.organization_id),
  ]);
  const isThere = organization?.deleted_at === null && project?.deleted_at === null;
  return isThere ? { organization, project, membership } : undefined;
}
