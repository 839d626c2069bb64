import { base62 } from '../auth/tokens.ts';
import type { Context } from '../context.ts';
import type { ProjectBrief, ProjectItem } from '../organizations/model.ts';
import { keys, places } from '../table/keys.ts';
import { nextNumber } from '../table/sequence.ts';
import type { Table } from '../table/table.ts';

/** A new project, not yet written: its number is taken, its token made. */
export async function newProject(
  { table, newId, random }: Pick<Context, 'table' | 'newId' | 'random'>,
  { organizationId, name, now }: { organizationId: string; name: string; now: number },
): Promise<ProjectItem> {
  const id = await nextNumber(table, 'project');
  return {
    ...keys.project(id),
    ...places.projectOf(organizationId, now, id),
    id,
    uuid: newId(),
    organization_id: organizationId,
    name,
    api_token: `phc_${base62(random(32))}`,
    created_at: now,
    deleted_at: null,
    ver: 1,
  };
}

/** What the organization keeps of a project. */
export function projectBrief({ id, uuid, name, api_token }: ProjectItem): ProjectBrief {
  return { id, uuid, name, api_token };
}

/** A project that is there; undefined when it never was, or is deleted. */
export async function findProject(table: Table, id: number): Promise<ProjectItem | undefined> {
  const project = (await table.get(keys.project(id))) as ProjectItem | undefined;
  return project?.deleted_at === null ? project : undefined;
}
