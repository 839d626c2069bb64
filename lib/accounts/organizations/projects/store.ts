import type * as z from 'zod';
import { definedOf } from '../../../basics/defined.ts';
import { DAY_MS } from '../../../basics/units.ts';
import { type IfMatch, inVersion } from '../../../http/etag.ts';
import { base62 } from '../../../http/tokens.ts';
import { jobOps } from '../../../jobs/job.ts';
import type { Context } from '../../../ports/context.ts';
import { invalid } from '../../../ports/errors.ts';
import { fromJsonText, toJsonText } from '../../../ports/table/json-text.ts';
import { keys, places } from '../../../ports/table/keys.ts';
import { nextNumber } from '../../../ports/table/sequence.ts';
import type { Op, Table } from '../../../ports/table/table.ts';
import { ttlAt } from '../../../ports/table/ttl.ts';
import { untilWrittenFrom } from '../../../ports/table/until-written.ts';
import type { ActivityOps } from '../../activity/model.ts';
import { changesOf, type LoggedFields } from '../../activity/rules.ts';
import type { OrganizationItem, ProjectBrief, ProjectItem } from '../model.ts';
import type { Tenant } from '../tenant.ts';
import type { ProjectInput } from './model.ts';
import { refuseTooManyProjects } from './rules.ts';

/** What a caller may say of a project, as it is stored; of what is absent nothing was said. */
type ProjectFields = Partial<
  Pick<ProjectItem, 'name' | 'timezone' | 'week_start_day' | 'test_account_filters' | 'anonymize_ips'>
>;

type NamedFields = ProjectFields & Pick<ProjectItem, 'name'>;

/** Returns the fields that a body sends, as they are stored. */
export function projectFields(sent: z.output<typeof ProjectInput>): ProjectFields {
  const { name, timezone, week_start_day, test_account_filters, anonymize_ips } = sent;
  const filters = test_account_filters && toJsonText(test_account_filters);
  return definedOf({ name, timezone, week_start_day, test_account_filters: filters, anonymize_ips });
}

/** The fields whose changes the activity log shows. */
const LOGGED_FIELDS: LoggedFields = {
  name: 'plain',
  timezone: 'plain',
  week_start_day: 'plain',
  test_account_filters: 'json',
  anonymize_ips: 'plain',
};

const newToken = (random: Context['random']): string => `phc_${base62(random(32))}`;

/** Returns a new project with its number and token, which is not yet written. */
export async function newProject(
  { table, newId, random }: Pick<Context, 'table' | 'newId' | 'random'>,
  { organizationId, now, ...fields }: { organizationId: string; now: number } & NamedFields,
): Promise<ProjectItem> {
  const id = await nextNumber(table, 'project');
  return {
    ...keys.project(id),
    ...places.projectOf(organizationId, now, id),
    id,
    uuid: newId(),
    organization_id: organizationId,
    ...fields,
    api_token: newToken(random),
    created_at: now,
    deleted_at: null,
    ver: 1,
  };
}

/** Returns the ops that write a new project, with what finds it by its token. */
export const newProjectOps = (project: ProjectItem): Op[] => [
  { put: project, if: 'absent' },
  { put: { ...keys.projectToken(project.api_token), project_id: project.id }, if: 'absent' },
];

/** Returns the tokens before that may still work. */
const previousOf = ({ previous_tokens }: ProjectItem): readonly string[] =>
  previous_tokens === undefined ? [] : fromJsonText(previous_tokens);

/** Returns the tokens by which a project may be found. */
export const tokensOf = (project: ProjectItem): string[] => [project.api_token, ...previousOf(project)];

/** Returns what the organization keeps of a project. */
export function projectBrief({ id, uuid, name, api_token, timezone, ingested_event }: ProjectItem): ProjectBrief {
  return { id, uuid, name, api_token, ...definedOf({ timezone, ingested_event }) };
}

/** Returns a project; undefined when there is none, or it is deleted. */
export async function findProject(table: Table, id: number): Promise<ProjectItem | undefined> {
  const project = await table.get(keys.project(id));
  return project?.deleted_at === null ? project : undefined;
}

/** Returns the projects of these briefs that are not deleted, in the same order. One read. */
export async function findProjects(table: Table, briefs: readonly ProjectBrief[]): Promise<ProjectItem[]> {
  const found = await table.many(briefs.map(({ id }) => keys.project(id)));
  return found.flatMap((project) => (project?.deleted_at === null ? [project] : []));
}

/** Makes a project, in one transaction with `idempotencyOps`. Throws a 404 when the organization is gone. */
export async function createProject(
  context: Pick<Context, 'table' | 'newId' | 'random' | 'clock'>,
  { organization, ...fields }: { organization: OrganizationItem } & NamedFields,
  idempotencyOps: (projectId: string) => readonly Op[],
  activityOps: ActivityOps,
): Promise<ProjectItem> {
  refuseTooManyProjects(fromJsonText(organization.projects).length);
  const project = await newProject(context, { organizationId: organization.id, ...fields, now: context.clock() });
  await changeBriefs(context.table, organization, (briefs) => {
    refuseTooManyProjects(briefs.length);
    return {
      briefs: [...briefs, projectBrief(project)],
      ops: [
        ...newProjectOps(project),
        ...idempotencyOps(String(project.id)),
        ...activityOps({ ...aboutProject(project), activity: 'created' }),
      ],
    };
  });
  return project;
}

/** Returns how an entry of the activity log names a project. */
const aboutProject = ({ id, name }: ProjectItem) => ({ scope: 'Project', id, name, project: id }) as const;

/** Why a write is refused when the organization's projects are not as they were read. */
const PROJECTS_CHANGED = 'projects_changed';

/**
 * Changes what the organization keeps of its projects, together with them; repeats it when another change of them came
 * first. Throws a 404 when the organization is gone.
 */
async function changeBriefs(
  table: Table,
  organization: OrganizationItem,
  change: (briefs: readonly ProjectBrief[]) => { briefs: readonly ProjectBrief[]; ops: readonly Op[] },
): Promise<void> {
  const key = keys.organization(organization.id);
  const readAgain = async () => {
    const now = await table.get(key);
    return now?.deleted_at === null ? now : undefined;
  };
  const write = async ({ projects }: OrganizationItem) => {
    const { briefs, ops } = change(fromJsonText(projects));
    const set = { projects: toJsonText(briefs) };
    const unchanged = { is: { deleted_at: null, projects } };
    await table.write([{ change: key, set, if: unchanged, else: PROJECTS_CHANGED }, ...ops]);
  };
  await untilWrittenFrom(organization, readAgain, write, PROJECTS_CHANGED);
}

/** A project, and the organization that it belongs to. */
interface ProjectPlace {
  readonly organization: OrganizationItem;
  readonly project: ProjectItem;
}

/** Returns what a path with a project names. Throws when the path names none (a mistake of ours). */
export function placeIn({ project, ...tenant }: Tenant): Tenant & ProjectPlace {
  if (project === undefined) throw new Error('the path names no project');
  return { ...tenant, project };
}

/** The condition that a project is there, in one of these versions. */
const isThere = (ifMatch: IfMatch) => ({ deleted_at: null, ...inVersion(ifMatch) });

/** Changes fields of a project. Throws `Refused` when it is gone, or in none of `ifMatch`. */
export async function changeProject(
  table: Table,
  { organization, project }: ProjectPlace,
  changes: ProjectFields,
  activityOps: ActivityOps,
  ifMatch: IfMatch,
): Promise<ProjectItem> {
  const key = keys.project(project.id);
  const about = aboutProject({ ...project, ...changes });
  const shown = definedOf({ name: changes.name, timezone: changes.timezone });
  await changeBriefs(table, organization, (briefs) => ({
    briefs: briefs.map((brief) => (brief.id === project.id ? { ...brief, ...shown } : brief)),
    ops: [
      { change: key, set: changes, add: { ver: 1 }, if: { is: isThere(ifMatch) } },
      ...activityOps({ ...about, activity: 'updated', changes: changesOf(project, changes, LOGGED_FIELDS) }),
    ],
  }));
  return (await table.get(key)) as ProjectItem;
}

/**
 * Notes that a project has got events, where that was not noted before: lists of projects tell it without a look into the lake.
 * Never throws: where it fails, the next events are noted.
 */
export async function noteEvents({ table, log }: Pick<Context, 'table' | 'log'>, projectId: number): Promise<void> {
  try {
    const project = await findProject(table, projectId);
    if (project === undefined || project.ingested_event === true) return;
    const organization = await table.get(keys.organization(project.organization_id));
    if (organization?.deleted_at !== null) return;
    const set = { ingested_event: true };
    await changeBriefs(table, organization, (briefs) => ({
      briefs: briefs.map((brief) => (brief.id === projectId ? { ...brief, ...set } : brief)),
      ops: [{ change: keys.project(projectId), set, if: { is: { deleted_at: null } } }],
    }));
  } catch (error) {
    log.warning('it was not noted that a project has events', { project: projectId, error });
  }
}

/** So many tokens of a project work beside its own: each has an op in the transaction that ends them. */
const MAX_PREVIOUS = 10;

/** Returns those of the tokens before that still work. Throws a 400 when there is no room for another one. */
async function stillWorking(table: Table, project: ProjectItem): Promise<readonly string[]> {
  const previous = previousOf(project);
  const found = await table.many(previous.map((token) => keys.projectToken(token)));
  const working = previous.filter((_, at) => found[at] !== undefined);
  if (working.length < MAX_PREVIOUS) return working;
  const detail = `${MAX_PREVIOUS} tokens before this one still work. Wait, or let them end at once.`;
  return invalid('keep_old_for_a_day', detail);
}

/**
 * Gives the project another token. The one before works for another day then, beside those whose day is not over; or
 * all before are gone. Throws as `changeProject`, and `Refused` when another reset came first.
 */
export async function resetToken(
  { table, random, clock }: Pick<Context, 'table' | 'random' | 'clock'>,
  { organization, project }: ProjectPlace,
  keepOld: boolean,
  activityOps: ActivityOps,
  ifMatch: IfMatch,
): Promise<ProjectItem> {
  const { id, api_token: old } = project;
  const previous = keepOld ? [...(await stillWorking(table, project)), old] : [];
  const set = { api_token: newToken(random), previous_tokens: toJsonText(previous) };
  await changeBriefs(table, organization, (briefs) => ({
    briefs: briefs.map((brief) => (brief.id === id ? { ...brief, api_token: set.api_token } : brief)),
    ops: [
      { change: keys.project(id), set, add: { ver: 1 }, if: { is: { ...isThere(ifMatch), api_token: old } } },
      { put: { ...keys.projectToken(set.api_token), project_id: id }, if: 'absent' },
      ...(keepOld
        ? [{ put: { ...keys.projectToken(old), project_id: id, ttl: ttlAt(clock() + DAY_MS) } }]
        : tokensOf(project).map((token) => ({ remove: keys.projectToken(token) }))),
      ...activityOps({
        ...aboutProject(project),
        activity: 'updated',
        changes: changesOf(project, set, { api_token: 'plain' }),
      }),
    ],
  }));
  return (await table.get(keys.project(id))) as ProjectItem;
}

/**
 * Hides the project at once, and leaves a job that stops its exports and purges it. Throws as `changeProject`, and
 * `Refused` when its token was reset meanwhile: the new one would stay.
 */
export async function deleteProject(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { organization, project }: ProjectPlace,
  activityOps: ActivityOps,
  ifMatch: IfMatch,
): Promise<void> {
  const now = clock();
  const unchanged = { is: { ...isThere(ifMatch), api_token: project.api_token } };
  await changeBriefs(table, organization, (briefs) => ({
    briefs: briefs.filter(({ id }) => id !== project.id),
    ops: [
      { change: keys.project(project.id), set: { deleted_at: now }, add: { ver: 1 }, if: unchanged },
      ...tokensOf(project).map((token) => ({ remove: keys.projectToken(token) })),
      ...jobOps('purge', String(project.id), now, { kind: 'project' }),
      ...activityOps({ ...aboutProject(project), activity: 'deleted' }),
    ],
  }));
}
