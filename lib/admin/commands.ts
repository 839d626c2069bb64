import { join } from 'node:path';
import * as invites from '../accounts/organizations/invites/store.ts';
import { organizationObject } from '../accounts/organizations/model.ts';
import { findProject } from '../accounts/organizations/projects/store.ts';
import * as organizations from '../accounts/organizations/store.ts';
import { findKey, sha256 } from '../accounts/personal-api-keys/lookup.ts';
import { type PersonalApiKeyItem, personalApiKeyObject } from '../accounts/personal-api-keys/model.ts';
import * as personalApiKeys from '../accounts/personal-api-keys/store.ts';
import { type UserItem, userObject } from '../accounts/users/model.ts';
import * as users from '../accounts/users/store.ts';
import { definedOf } from '../basics/defined.ts';
import { plain } from '../basics/plain.ts';
import { counted } from '../basics/text.ts';
import { hasLiveExports, neededBackfills } from '../exports/resource/import-backfills.ts';
import { wireInstant } from '../http/instant.ts';
import { LEVELS } from '../http/levels.ts';
import { importNoted } from '../imports/run.ts';
import { importsOf, REJECTED } from '../imports/spool.ts';
import { type FollowOptions, follow } from '../lake/import/follow.ts';
import type { ImportFile, ImportOptions, ImportReport } from '../lake/import/import.ts';
import type { LakeWriter } from '../lake/lease.ts';
import { fail } from '../ports/errors.ts';
import { fromJsonText } from '../ports/table/json-text.ts';
import { idsIn, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { CommandResult } from './command-result.ts';
import { type Examined, examinationText, examine } from './examination.ts';
import type { ChosenOfFiles } from './import-options.ts';
import { followedText, importObject, importText } from './import-report.ts';
import { type Progress, silentProgress } from './progress.ts';

/** What the commands may touch, on one machine and on AWS alike. */
export type AdminContext = LakeWriter &
  Examined & {
    /** On this machine: where rejected lines of an import are written. */
    readonly folder: string;
    /** Where the API is, as a person writes it in a shell. Default: `$API`. */
    readonly api?: string;
  };

async function userOf(context: AdminContext, email: string): Promise<UserItem> {
  return (await users.findUserByEmail(context.table, email)) ?? fail('not_found', `There is no user ${email}.`);
}

export async function createUser(
  context: AdminContext,
  options: { email: string; firstName: string; lastName: string },
): Promise<CommandResult> {
  const { email, firstName: first_name, lastName: last_name } = options;
  const user = await users.createUser(context, { email, first_name, last_name });
  return { object: userObject(user), text: `Made user ${user.email}: uuid ${user.uuid}` };
}

export async function listUsers(context: AdminContext): Promise<CommandResult> {
  const cards = (await allUsers(context)).map(userObject);
  return { object: cards, text: cards.map(({ uuid, email }) => `${uuid}  ${email}`).join('\n') || 'No users.' };
}

export async function createOrganization(
  context: AdminContext,
  options: { name: string; owner: string },
): Promise<CommandResult> {
  const owner = await userOf(context, options.owner);
  const { organization, project } = await organizations.createOrganization(context, { name: options.name, owner });
  return {
    object: { ...organizationObject(organization, LEVELS.owner), project_id: project.id },
    text: `Made organization "${organization.name}": id ${organization.id}, project ${project.id}`,
  };
}

export async function addMember(
  context: AdminContext,
  options: { organization: string; email: string; level: keyof typeof LEVELS },
): Promise<CommandResult> {
  const user = await userOf(context, options.email);
  const organization =
    (await organizations.findOrganization(context.table, options.organization)) ??
    fail('not_found', `There is no organization ${options.organization}.`);
  const member = { organization, user, level: LEVELS[options.level] };
  const { level, joined_at } = await invites.addUninvited(context, member);
  return {
    object: { user: userObject(user), organization_id: organization.id, level, joined_at: wireInstant(joined_at) },
    text: `${user.email} is now ${options.level} of "${plain(organization.name)}"`,
  };
}

export async function acceptInvite(context: AdminContext, _options: object, words: string[]): Promise<CommandResult> {
  const [id = ''] = words;
  const invite = await invites.readInvite(context.table, id);
  const user = await userOf(context, invite.target_email);
  const { level, joined_at } = await invites.acceptInvite(context, invite, user);
  const { organization_id } = invite;
  return {
    object: { user: userObject(user), organization_id, level, joined_at: wireInstant(joined_at) },
    text: `${user.email} is now a member of organization ${organization_id}, at level ${level}`,
  };
}

export async function createKey(
  context: AdminContext,
  options: { email: string; label: string; scopes: string[]; organizations?: string[]; projects?: number[] },
): Promise<CommandResult> {
  const { item, value } = await personalApiKeys.createKey(context, {
    user: await userOf(context, options.email),
    label: options.label,
    scopes: options.scopes,
    scoped_organizations: options.organizations ?? [],
    scoped_teams: options.projects ?? [],
  });
  return { object: personalApiKeyObject(item, value), text: value, aside: '(Keep it: it is not shown again.)' };
}

async function allUsers(context: Pick<AdminContext, 'table'>): Promise<UserItem[]> {
  return listAll(context.table, ranges.allUsers());
}

async function allKeys(context: AdminContext): Promise<PersonalApiKeyItem[]> {
  return personalApiKeys.keysOfUsers(context.table, await allUsers(context));
}

export async function listKeys(context: AdminContext, options: { email?: string }): Promise<CommandResult> {
  const found =
    options.email === undefined
      ? await allKeys(context)
      : await personalApiKeys.keysOfUser(context.table, (await userOf(context, options.email)).uuid);
  const lines = found.map(
    (item) => `${item.id}  ${item.mask}  ${plain(item.label)}  ${fromJsonText(item.scopes).join(',')}`,
  );
  return { object: found.map((item) => personalApiKeyObject(item)), text: lines.join('\n') || 'No keys.' };
}

export async function revokeKey(context: AdminContext, _options: object, words: string[]): Promise<CommandResult> {
  const [name = ''] = words;
  const item =
    (await findKey(context.table, sha256(name))) ??
    (await allKeys(context)).find(({ id }) => id === name) ??
    fail('not_found', 'There is no such key.');
  await personalApiKeys.revokeKey(context, item, { ifMatch: undefined });
  return {
    object: personalApiKeyObject(item),
    text: `Revoked ${item.mask} (${plain(item.label)}). A running service may remember it for 60 s.`,
  };
}

export interface ImportCommandOptions extends ChosenOfFiles {
  readonly project: number;
}

/** What a command that follows files needs: what ends it, who is told of what was read, and what waits. */
interface Following extends Pick<FollowOptions, 'pause' | 'stop'> {
  readonly tell: (text: string) => void;
}

export async function importFiles(
  context: AdminContext,
  options: ImportCommandOptions,
  files: readonly ImportFile[],
  progress: Progress,
  stop?: AbortSignal,
): Promise<CommandResult> {
  const report = await importNoted(context, importOptions(context, options, files, progress, stop)).finally(() =>
    progress.end(),
  );
  return importOutcome(context, options, report);
}

/** Imports what files get until it is stopped. `tell` is given what each reading that found something has done. */
export async function followFiles(
  context: AdminContext,
  options: ImportCommandOptions,
  files: readonly string[],
  { stop, tell, pause }: Following,
): Promise<CommandResult> {
  const total = { events: 0, added: 0, rejected: 0 };
  await follow({
    files,
    read: (some) =>
      importNoted(context, { ...importOptions(context, options, some, silentProgress(), stop), onlyEnded: true }),
    onRead: (report) => {
      total.events += report.events;
      total.added += report.added;
      total.rejected += report.bad;
      if (report.added > 0 || report.bad > 0) tell(`${followedText(report)}\n`);
    },
    onTrouble: (reason) => tell(`What the files get waits, and is read when this has passed: ${reason}\n`),
    onLost: (file) => tell(`${file} is gone, and was not moved within its folder: what it got last may be missing.\n`),
    pause,
    stop,
  });
  return {
    object: total,
    text: `Stopped. ${counted(total.added, 'event')} added${total.rejected === 0 ? '' : `, ${counted(total.rejected, 'record')} rejected`}.`,
    failed: total.rejected > 0,
  };
}

const importOptions = (
  context: AdminContext,
  options: ImportCommandOptions,
  files: readonly ImportFile[],
  progress: Progress,
  stop?: AbortSignal,
): ImportOptions => ({
  projectId: options.project,
  files,
  ...definedOf({ format: options.format, arrived: options.arrived, stop }),
  pageViews: options.pageViews,
  mapping: { columns: options.column ?? {}, values: options.value ?? {} },
  rejectedFolder: join(context.folder, REJECTED, importsOf(options.project)),
  onProgress: ({ bytes, totalBytes, events, bad }) =>
    progress.update(bytes, totalBytes, `${events} events${bad === 0 ? '' : `, ${bad} rejected`}`),
});

async function importOutcome(
  context: AdminContext,
  options: ImportCommandOptions,
  { hours, ...imported }: ImportReport,
): Promise<CommandResult> {
  const project = await findProject(context.table, options.project);
  const backfills = project === undefined ? [] : await neededBackfills(context.table, project, hours);
  const report = { ...imported, backfills };
  const hasExports = project !== undefined && (await hasLiveExports(context.table, project));
  const { api = '$API' } = context;
  const failed = report.bad > 0 || report.files.some(({ problem }) => problem !== null);
  const text = importText(report, { api, project: options.project, hasExports });
  return { object: importObject(report), text, failed };
}

async function organizationsOfAll({ table }: Pick<AdminContext, 'table'>, everybody: readonly UserItem[]) {
  const theirs = await Promise.all(everybody.map((user) => organizations.organizationsOf(table, user.uuid)));
  return [...new Map(theirs.flat().map((organization) => [organization.id, organization])).values()];
}

/** Returns the ids of the projects of everybody. */
export async function projectsOfAll(context: Pick<AdminContext, 'table'>): Promise<number[]> {
  const all = await organizationsOfAll(context, await allUsers(context));
  return all.flatMap((organization) => fromJsonText(organization.projects).map(({ id }) => id));
}

export async function doctor(context: AdminContext, progress: Progress): Promise<CommandResult> {
  const found = await examine(context, () => projectsOfAll(context), progress).finally(() => progress.end());
  return { object: found, text: examinationText(found), failed: found.problems.length > 0 };
}

export async function status(context: AdminContext, version: string): Promise<CommandResult> {
  const { table, clock } = context;
  const [everybody, running, jobs] = await Promise.all([
    allUsers(context),
    listAll(table, ranges.runningExecutions()),
    listAll(table, ranges.dueJobs(clock())),
  ]);
  const object = {
    version,
    data_directory: context.folder,
    users: everybody.length,
    organizations: (await organizationsOfAll(context, everybody)).map(({ id, name, projects }) => ({
      id,
      name,
      projects: fromJsonText(projects).map((project) => ({ id: project.id, name: project.name })),
    })),
    running_executions: running.map(idsIn.execution),
    due_jobs: jobs.map(idsIn.job),
  };
  return {
    object,
    text: [
      `Version ${version}`,
      `Data directory ${object.data_directory}`,
      counted(object.users, 'user'),
      ...object.organizations.map(
        ({ id, name, projects }) =>
          `Organization ${id} "${plain(name)}": ${projects.map((p) => `project ${p.id} "${plain(p.name)}"`).join(', ') || 'no project'}`,
      ),
      // On AWS, Step Functions keeps them.
      ...(running.length === 0 ? [] : [`${counted(running.length, 'execution')} under way`]),
      `${counted(jobs.length, 'job')} due`,
    ].join('\n'),
  };
}
