/** What follows the deletion of an organization or project: all that it left is removed, and nothing of another. */

import { jobOps } from '../jobs/job.ts';
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';
import type { PurgeInput, WalkOutput } from '../workflow/messages.ts';
import { type Deleted, remains } from './leftovers.ts';

/** One walk may take so long, in milliseconds (10 minutes); then it says that more is left. */
const WALK = 600_000;
/** While it walks and rests its job waits, in milliseconds, to start it again if it dies. */
const WATCH = 3_600_000;
/** Requests and steps that were under way at the deletion have ended after so long, in milliseconds: a step has 15 minutes. */
const SETTLED = 900_000;

/**
 * One walk: removes what it finds, until its time is over. It can die anywhere and be repeated. As indexes lag, and
 * what was under way may still have written, it is repeated after a rest until a walk finds nothing: then the
 * organization or project itself goes, with the job.
 */
export async function purge(context: Context, { kind, id }: PurgeInput): Promise<WalkOutput> {
  const { table, clock } = context;
  const until = clock() + WALK;
  await table.write(jobOps('purge', id, clock() + WATCH, { kind }));
  const deleted = await (kind === 'project' ? deletedProject(context, id) : deletedOrganization(context, id));
  let isFound = false;
  if (deleted !== undefined) {
    for await (const _ of remains(context, deleted)) {
      isFound = true;
      if (clock() >= until) return { do: 'more' };
    }
    if (isFound || !deleted.isSettled) return { do: 'rest' };
  }
  const root = deleted?.root ?? [];
  await table.write([...root.map((key) => ({ remove: key })), ...jobOps('purge', id, null)]);
  return { do: 'nothing' };
}

/** Undefined: there is no such project, or it is not deleted. */
async function deletedProject({ table, clock }: Context, id: string): Promise<Deleted | undefined> {
  const key = keys.project(Number(id));
  const project = await table.get(key);
  if (project === undefined || project.deleted_at === null) return undefined;
  const isSettled = clock() >= project.deleted_at + SETTLED;
  return { organization: project.organization_id, project: project.id, isSettled, root: [key] };
}

/** Undefined: there is no such organization, or it is not deleted. */
async function deletedOrganization({ table, clock }: Context, id: string): Promise<Deleted | undefined> {
  const key = keys.organization(id);
  const organization = await table.get(key);
  if (organization === undefined || organization.deleted_at === null) return undefined;
  const isSettled = clock() >= organization.deleted_at + SETTLED;
  return { organization: id, project: null, isSettled, root: [keys.slug(organization.slug), key] };
}
