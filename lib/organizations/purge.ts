/**
 * What follows the deletion of an organization or project. This is its first part: nothing of it runs any more, and
 * keys that were limited to it open nothing. Its records stay.
 */

import type { BatchExportItem } from '../batch-exports/model.ts';
import { destroyBatchExport, readExports } from '../batch-exports/store.ts';
import type { Context } from '../context.ts';
import { jobOps } from '../jobs/jobs.ts';
import type { PersonalApiKeyItem } from '../personal-api-keys/model.ts';
import { keysOf, revokeKey } from '../personal-api-keys/store.ts';
import { keys, ranges } from '../table/keys.ts';
import { listAll } from '../table/list-all.ts';
import { Refused } from '../table/table.ts';
import type { PurgeInput, WalkOutput } from '../workflow/messages.ts';
import type { MembershipItem, OrganizationItem, ProjectBrief, ProjectItem } from './model.ts';

/** One walk may take so long, in milliseconds; then it says that more is left. */
const WALK = 600_000;
/** While it walks and rests its job waits, in milliseconds, to start it again if it dies. */
const WATCH = 3_600_000;

/** What was deleted. */
interface Deleted {
  readonly organizationId: string;
  /** Null: the whole organization. */
  readonly projectId: number | null;
  /** The projects that went with it. */
  readonly teams: readonly number[];
}

/**
 * One walk: stops exports and revokes keys, as far as it finds them, until its time is over. It can die anywhere and be
 * repeated; as indexes lag, it is repeated after a rest until a walk finds nothing, which removes the job.
 */
export async function purge(context: Context, { kind, id }: PurgeInput): Promise<WalkOutput> {
  const { table, clock } = context;
  const until = clock() + WALK;
  await table.write(jobOps('purge', id, clock() + WATCH, { kind }));
  const deleted = await deletedOf(context, { kind, id });
  const work =
    deleted === undefined ? [] : [...(await exportsLeft(context, deleted)), ...(await keysLeft(context, deleted))];
  for (const stop of work) {
    if (clock() >= until) return { do: 'more' };
    await stop();
  }
  if (work.length > 0) return { do: 'rest' };
  await table.write(jobOps('purge', id, null));
  return { do: 'nothing' };
}

/** Undefined: there is nothing of that name, or it is not deleted. */
async function deletedOf({ table }: Context, { kind, id }: PurgeInput): Promise<Deleted | undefined> {
  if (kind === 'project') {
    const project = (await table.get(keys.project(Number(id)))) as ProjectItem | undefined;
    if (project === undefined || project.deleted_at === null) return undefined;
    return { organizationId: project.organization_id, projectId: project.id, teams: [project.id] };
  }
  const organization = (await table.get(keys.organization(id))) as OrganizationItem | undefined;
  if (organization === undefined || organization.deleted_at === null) return undefined;
  const projects: ProjectBrief[] = JSON.parse(organization.projects);
  return { organizationId: id, projectId: null, teams: projects.map((project) => project.id) };
}

type Work = () => Promise<void>;

async function exportsLeft(context: Context, { organizationId, projectId }: Deleted): Promise<Work[]> {
  const exports = (await readExports(context.table, organizationId)) as BatchExportItem[];
  const left = exports.filter((item) => item.deleted_at === null && (projectId ?? item.team_id) === item.team_id);
  return left.map((item) => async () => {
    try {
      await destroyBatchExport(context, item, undefined);
    } catch (error) {
      // Somebody else has deleted it.
      if (!(error instanceof Refused)) throw error;
    }
  });
}

async function keysLeft(context: Context, deleted: Deleted): Promise<Work[]> {
  const { table } = context;
  const members = (await listAll(table, ranges.membersOf(deleted.organizationId))) as MembershipItem[];
  const left: Work[] = [];
  for (const { user_uuid } of members) {
    const held = await keysOf(table, user_uuid);
    left.push(...held.filter((key) => isOnlyFor(key, deleted)).map((key) => () => revokeKey(context, key)));
  }
  return left;
}

/** Is the key limited, and to nothing but what was deleted? */
function isOnlyFor(key: PersonalApiKeyItem, { organizationId, projectId, teams }: Deleted): boolean {
  const organizations: string[] = JSON.parse(key.scoped_organizations);
  const projects: number[] = JSON.parse(key.scoped_teams);
  const isLimited = organizations.length + projects.length > 0;
  const isGone = projectId === null && organizations.every((id) => id === organizationId);
  return isLimited && (isGone || organizations.length === 0) && projects.every((id) => teams.includes(id));
}
