/** What dashboards forget of a member who leaves: collaborations, and access rules that name them. */
import type { OrganizationItem, ProjectBrief } from '../../accounts/organizations/model.ts';
import { idsIn, keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Key, Op, Table } from '../../ports/table/table.ts';
import { ruleField } from '../access-controls/model.ts';
import { collaboratorField } from './model.ts';

/** Where a user is named, in whatever organization, as a collaborator or in an access rule: keys of these namings. */
export async function namingsOf(table: Table, uid: string): Promise<Key[]> {
  return listAll(table, ranges.namingsOf(uid));
}

/**
 * What removes a user from each dashboard of the organization: for every dashboard the removal of the namings, at most
 * two, and of what the summary says of them.
 */
export async function forgetMember(
  table: Table,
  organization: OrganizationItem,
  uid: string,
  namings: readonly Key[],
): Promise<Op[][]> {
  const projects = new Set((JSON.parse(organization.projects) as ProjectBrief[]).map(({ id }) => id));
  const own = namings.filter((key) => projects.has(idsIn.ofProject(key).project));
  const found = [...Map.groupBy(own, ({ pk }) => pk).values()];
  if (found.length === 0) return [];
  const summaries = found.map((names) => {
    const { project, id } = idsIn.ofProject(names[0] as Key);
    return keys.dashboard(project, id);
  });
  const items = await table.many(summaries);
  const unset = [collaboratorField(uid), ruleField(uid)];
  return found.map((names, at) => [
    ...names.map(({ pk, sk }): Op => ({ remove: { pk, sk } })),
    ...(items[at] === undefined ? [] : [{ change: summaries[at] as Key, unset, if: 'present' } satisfies Op]),
  ]);
}
