/** Removes all that a deleted organization or project left, and nothing of another. */

import { HOUR_MS, MINUTE_MS } from '../basics/units.ts';
import { jobOps } from '../jobs/job.ts';
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';
import type { PurgeInput, WalkOutput } from '../workflow/messages.ts';
import { type DeletedTenant, removeLeftovers } from './leftovers.ts';

/** A walk ends after 10 minutes, and says that more is left. */
const WALK_MS = 10 * MINUTE_MS;
/** The job waits an hour while the purge walks and rests, to start it again if it dies. */
const WATCH_MS = HOUR_MS;
/** Requests and steps that were under way at the deletion have ended after 15 minutes, the longest that a step has. */
const SETTLE_MS = 15 * MINUTE_MS;

/**
 * Walks once: removes what it finds, until its time is over. It can die anywhere and be repeated. As indexes lag, and
 * what was under way may still have written, it is repeated after a rest until a walk finds nothing: then the
 * organization or project itself goes, with the job.
 */
export async function purge(context: Context, { kind, id }: PurgeInput): Promise<WalkOutput> {
  const { table, clock } = context;
  const until = clock() + WALK_MS;
  await table.write(jobOps('purge', id, clock() + WATCH_MS, { kind }));
  const deleted = await (kind === 'project' ? deletedProject(context, id) : deletedOrganization(context, id));
  let isFound = false;
  if (deleted !== undefined) {
    for await (const _ of removeLeftovers(context, deleted)) {
      isFound = true;
      if (clock() >= until) return { do: 'more' };
    }
    if (isFound || !deleted.isSettled) return { do: 'rest' };
  }
  const root = deleted?.root ?? [];
  await table.write([...root.map((key) => ({ remove: key })), ...jobOps('purge', id, null)]);
  return { do: 'nothing' };
}

/** Returns a deleted project; undefined when there is none, or it is not deleted. */
async function deletedProject({ table, clock }: Context, id: string): Promise<DeletedTenant | undefined> {
  const key = keys.project(Number(id));
  const project = await table.get(key);
  if (project === undefined || project.deleted_at === null) return undefined;
  const isSettled = clock() >= project.deleted_at + SETTLE_MS;
  return { organization: project.organization_id, project: project.id, isSettled, root: [key] };
}

/** Returns a deleted organization; undefined when there is none, or it is not deleted. */
async function deletedOrganization({ table, clock }: Context, id: string): Promise<DeletedTenant | undefined> {
  const key = keys.organization(id);
  const organization = await table.get(key);
  if (organization === undefined || organization.deleted_at === null) return undefined;
  const isSettled = clock() >= organization.deleted_at + SETTLE_MS;
  return { organization: id, project: null, isSettled, root: [keys.slug(organization.slug), key] };
}
