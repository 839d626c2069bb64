/**
 * Where dashboards name a member: as a collaborator, and in access rules. Whoever removes a member from an organization
 * hands these ops to `removeMember`, which knows no dashboards.
 */
import type { MembershipItem, OrganizationItem } from '../accounts/organizations/model.ts';
import { fromJsonText } from '../ports/table/json-text.ts';
import { idsIn, keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Key, Op, Table } from '../ports/table/table.ts';
import { ruleField } from './access-controls/model.ts';
import { collaboratorField } from './collaborators/model.ts';

/** Returns the keys of all mentions of a user, in whatever organization. */
export async function readMentions(table: Table, uid: string): Promise<Key[]> {
  return listAll(table, ranges.mentionsOf(uid));
}

/**
 * Returns the ops that remove a member from each dashboard of the organization: for every dashboard those of the
 * mentions, at most two, and of what the summary says of them. `read` are the mentions as they were read at any time: they
 * are read again of a member who was named since they joined, and so perhaps since then.
 */
export async function mentionOps(
  table: Table,
  organization: OrganizationItem,
  { user_uuid: uid, named }: MembershipItem,
  read: readonly Key[],
): Promise<Op[][]> {
  const mentions = named === undefined ? read : await readMentions(table, uid);
  const projects = new Set(fromJsonText(organization.projects).map(({ id }) => id));
  const own = mentions.filter((key) => projects.has(idsIn.ofProject(key).project));
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
