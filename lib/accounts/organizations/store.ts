import type * as z from 'zod';
import { type IfMatch, inVersion } from '../../http/etag.ts';
import { LEVELS, type MembershipLevel } from '../../http/levels.ts';
import { parse } from '../../http/parse.ts';
import { letters } from '../../http/tokens.ts';
import { jobOps } from '../../jobs/job.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { toJsonText } from '../../ports/table/json-text.ts';
import { isSameKind, keys, places, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { type Op, Refused, type Table, type Value } from '../../ports/table/table.ts';
import { writeOrFail } from '../../ports/table/until-written.ts';
import type { ActivityOps } from '../activity/model.ts';
import { systemActivityOps } from '../activity/ops.ts';
import { changesOf, type LoggedFields } from '../activity/rules.ts';
import type { UserItem } from '../users/model.ts';
import {
  type MembershipItem,
  OrganizationInput,
  type OrganizationItem,
  type OrganizationPatch,
  type ProjectItem,
} from './model.ts';
import { newProject, newProjectOps, projectBrief } from './projects/store.ts';
import { slugOf } from './rules.ts';

/** Slugs are tried so often; a name has 26^4 tails, so the second try nearly always holds. */
const MAX_SLUG_ATTEMPTS = 10;

type NewOrganization = z.output<typeof OrganizationInput> & { readonly owner: UserItem };

/** The changes that a caller may make to an organization. */
type OrganizationChanges = z.output<typeof OrganizationPatch>;

/**
 * Makes an organization with its owner's membership and a "Default project" in one transaction, to which
 * `idempotencyOps` adds. Throws a 400 when the name is blank or longer than 64 characters, or the owner has made as many
 * as one may make.
 */
export async function createOrganization(
  context: Pick<Context, 'table' | 'newId' | 'random' | 'clock' | 'settings'>,
  { owner, ...fields }: NewOrganization,
  idempotencyOps: (organizationId: string) => readonly Op[] = () => [],
  activityOps?: ActivityOps,
): Promise<{ organization: OrganizationItem; project: ProjectItem }> {
  const { table, newId, random, clock, settings } = context;
  const most = settings.organizationsPerUser;
  const {
    name,
    logo_media_id = null,
    is_member_join_email_enabled = true,
    enforce_2fa = false,
    allow_publicly_shared_resources = true,
  } = parse(OrganizationInput, fields);
  const id = newId();
  const now = clock();
  const logOps = activityOps ?? systemActivityOps(context, id);
  const project = await newProject(context, { organizationId: id, name: 'Default project', now });
  const base = slugOf(name);
  for (let left = MAX_SLUG_ATTEMPTS, slug = base; ; left--, slug = slugOf(base, letters(random(4)))) {
    const organization: OrganizationItem = {
      ...keys.organization(id),
      id,
      name,
      slug,
      logo_media_id,
      is_member_join_email_enabled,
      enforce_2fa,
      allow_publicly_shared_resources,
      created_by: owner.uuid,
      created_at: now,
      updated_at: now,
      members: 1,
      projects: toJsonText([projectBrief(project)]),
      deleted_at: null,
      ver: 1,
    };
    const ops: Op[] = [
      { put: { ...keys.slug(slug), organization_id: id }, if: 'absent', else: 'slug_taken' },
      { put: organization, if: 'absent' },
      { put: newMembership(organization, owner, LEVELS.owner, now), if: 'absent' },
      ...newProjectOps(project),
      ...idempotencyOps(id),
      {
        change: keys.user(owner.uuid),
        add: { organizations: 1 },
        if: { is: { uuid: owner.uuid }, notAbove: { organizations: most - 1 } },
        else: 'too_many',
      },
      ...logOps({ organization: id, scope: 'Organization', id, activity: 'created', name }),
    ];
    try {
      await table.write(ops);
      return { organization, project };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.reason === 'too_many') invalid(null, `A user can make at most ${most} organizations.`);
      if (error.reason !== 'slug_taken' || left === 1) throw error;
    }
  }
}

function newMembership(organization: OrganizationItem, user: UserItem, level: MembershipLevel, now: number) {
  return {
    ...keys.membership(user.uuid, organization.id),
    ...places.memberOf(organization.id, now, user.uuid),
    user_uuid: user.uuid,
    organization_id: organization.id,
    level,
    joined_at: now,
    updated_at: now,
    ver: 1,
    organization_created_at: organization.created_at,
  };
}

/** The condition that an organization is there and not deleted. */
export const isAlive = (id: string) => ({ id, deleted_at: null });

/** Makes the user a member, in one write with `also`. Throws a 400 if they are one, a 404 without the organization. */
export async function addMember(
  context: Pick<Context, 'table' | 'clock' | 'newId'>,
  { organization, user, level }: { organization: OrganizationItem; user: UserItem; level: MembershipLevel },
  also: readonly Op[] = [],
  activityOps: ActivityOps = systemActivityOps(context, organization.id),
): Promise<MembershipItem> {
  const { table, clock } = context;
  const { uuid: id, email: name } = user;
  const changes = [{ action: 'created', field: 'level', before: null, after: level } as const];
  const item = newMembership(organization, user, level, clock());
  const about = { organization: organization.id, scope: 'OrganizationMembership', id, name } as const;
  const ops: Op[] = [
    {
      change: keys.organization(organization.id),
      add: { members: 1 },
      if: { is: isAlive(organization.id) },
      else: 'organization_gone',
    },
    { put: item, if: 'absent', else: 'is_member' },
    ...also,
    ...activityOps({ ...about, activity: 'created', changes }),
  ];
  await writeOrFail(table, ops, {
    organization_gone: () => fail('not_found', 'Organization not found.'),
    is_member: () => invalid(null, 'The user is already a member of the organization.'),
  });
  return item;
}

/** Returns an organization; undefined when there is none, or it is deleted. */
export async function findOrganization(table: Table, id: string): Promise<OrganizationItem | undefined> {
  const organization = await table.get(keys.organization(id));
  return organization?.deleted_at === null ? organization : undefined;
}

/** Returns the organizations of these memberships that are not deleted, each with its own, oldest first. One read. */
export async function organizationsIn(table: Table, memberships: readonly MembershipItem[]) {
  const found = await table.many(memberships.map((member) => keys.organization(member.organization_id)));
  return memberships
    .flatMap((membership, at) => {
      const organization = found[at];
      return organization?.deleted_at === null ? [{ organization, membership }] : [];
    })
    .toSorted(({ organization: a }, { organization: b }) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1));
}

/** Returns a user, if there is one, and their memberships. One read. */
export async function userWithMemberships(table: Table, uid: string) {
  const items = await listAll(table, ranges.userAndMemberships(uid));
  return {
    user: items.find(isSameKind(keys.user(uid))),
    memberships: items.filter(isSameKind(keys.membership(uid, ''))),
  };
}

/** Returns a user's membership in one organization; undefined when they are no member. */
export async function findMembership(table: Table, uid: string, oid: string): Promise<MembershipItem | undefined> {
  return table.get(keys.membership(uid, oid));
}

/** Returns the organizations of a user that are not deleted, oldest first. */
export async function organizationsOf(table: Table, uid: string): Promise<OrganizationItem[]> {
  const { memberships } = await userWithMemberships(table, uid);
  const found = await organizationsIn(table, memberships);
  return found.map(({ organization }) => organization);
}

/** The fields whose changes the activity log shows. */
const LOGGED_FIELDS: LoggedFields = {
  name: 'plain',
  logo_media_id: 'plain',
  is_member_join_email_enabled: 'plain',
  enforce_2fa: 'plain',
  allow_publicly_shared_resources: 'plain',
};

/**
 * Changes fields of an organization, and only those: concurrent changes of other fields last. Returns it as it was
 * read, with these changes; its version is never above the stored one. Throws `Refused` when it is gone, or its version
 * is none of `ifMatch`.
 */
export async function changeOrganization(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  read: OrganizationItem,
  changes: OrganizationChanges,
  activityOps: ActivityOps,
  ifMatch: IfMatch,
): Promise<OrganizationItem> {
  const { id } = read;
  const set = { ...(changes as Readonly<Record<string, Value>>), updated_at: clock() };
  const after: OrganizationItem = { ...read, ...set, ver: read.ver + 1 };
  const [changed] = await table.write([
    { change: keys.organization(id), set, add: { ver: 1 }, if: { is: { ...isAlive(id), ...inVersion(ifMatch) } } },
    ...activityOps({
      scope: 'Organization',
      id,
      activity: 'updated',
      name: after.name,
      changes: changesOf(read, set, LOGGED_FIELDS),
    }),
  ]);
  return changed ?? after;
}

/** Hides the organization at once; leaves a job to stop its exports and purge it. Throws as `changeOrganization`. */
export async function deleteOrganization(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { id, name, created_by }: OrganizationItem,
  activityOps: ActivityOps,
  ifMatch: IfMatch,
): Promise<void> {
  const now = clock();
  await table.write([
    {
      change: keys.organization(id),
      set: { deleted_at: now },
      add: { ver: 1 },
      if: { is: { ...isAlive(id), ...inVersion(ifMatch) } },
    },
    ...(created_by === undefined ? [] : [{ change: keys.user(created_by), add: { organizations: -1 } }]),
    ...jobOps('purge', id, now, { kind: 'organization' }),
    ...activityOps({ scope: 'Organization', id, activity: 'deleted', name }),
  ]);
}
