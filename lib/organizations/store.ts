import { letters } from '../auth/tokens.ts';
import type { Context } from '../context.ts';
import { fail, invalid } from '../errors.ts';
import { newProject, projectBrief } from '../projects/store.ts';
import { keys, places, ranges } from '../table/keys.ts';
import { listAll } from '../table/list-all.ts';
import { type Op, Refused, type Table, type Value } from '../table/table.ts';
import type { UserItem } from '../users/model.ts';
import { LEVELS, type Level, type MembershipItem, type OrganizationItem, type ProjectItem } from './model.ts';
import { checkName, slugOf } from './rules.ts';

/** Slugs tried before giving up; 26^4 tails a name, so the second try nearly always holds. */
const SLUG_TRIES = 10;

export interface NewOrganization {
  readonly name: string;
  readonly owner: UserItem;
  readonly logo_media_id?: string | null;
  readonly is_member_join_email_enabled?: boolean;
  readonly enforce_2fa?: boolean;
}

/**
 * Makes an organization with its owner's membership and a "Default project", in one transaction, together with what
 * `once` adds. A name that is blank or longer than 64 characters is a 400.
 */
export async function createOrganization(
  context: Pick<Context, 'table' | 'newId' | 'random' | 'clock'>,
  { owner, ...fields }: NewOrganization,
  once: (organizationId: string) => readonly Op[] = () => [],
): Promise<{ organization: OrganizationItem; project: ProjectItem }> {
  const { table, newId, random, clock } = context;
  const name = checkName(fields.name);
  const id = newId();
  const now = clock();
  const project = await newProject(context, { organizationId: id, name: 'Default project', now });
  const base = slugOf(name);
  for (let left = SLUG_TRIES, slug = base; ; left--, slug = slugOf(base, letters(random(4)))) {
    const organization: OrganizationItem = {
      ...keys.organization(id),
      id,
      name,
      slug,
      logo_media_id: fields.logo_media_id ?? null,
      is_member_join_email_enabled: fields.is_member_join_email_enabled ?? true,
      enforce_2fa: fields.enforce_2fa ?? false,
      created_at: now,
      updated_at: now,
      members: 1,
      projects: JSON.stringify([projectBrief(project)]),
      deleted_at: null,
      ver: 1,
    };
    const slugTaken: Op = { put: { ...keys.slug(slug), organization_id: id }, if: 'absent' };
    const ops: Op[] = [
      slugTaken,
      { put: organization, if: 'absent' },
      { put: newMembership(organization, owner, LEVELS.owner, now), if: 'absent' },
      { put: project, if: 'absent' },
      ...once(id),
    ];
    try {
      await table.write(ops);
      return { organization, project };
    } catch (error) {
      if (!(error instanceof Refused) || ops[error.op] !== slugTaken || left === 1) throw error;
    }
  }
}

function newMembership(organization: OrganizationItem, user: UserItem, level: Level, now: number): MembershipItem {
  return {
    ...keys.membership(user.uuid, organization.id),
    ...places.memberOf(organization.id, now, user.uuid),
    user_uuid: user.uuid,
    organization_id: organization.id,
    level,
    joined_at: now,
    organization_created_at: organization.created_at,
  };
}

/** The organization is there and not deleted. */
const isAlive = (id: string) => ({ id, deleted_at: null });

/** Makes the user a member. 400 when he is one already, 404 when the organization is gone. */
export async function addMember(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { organization, user, level }: { organization: OrganizationItem; user: UserItem; level: Level },
): Promise<MembershipItem> {
  const item = newMembership(organization, user, level, clock());
  try {
    await table.write([
      { change: keys.organization(organization.id), add: { members: 1 }, if: { is: isAlive(organization.id) } },
      { put: item, if: 'absent' },
    ]);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.op === 0) fail('not_found', 'Organization not found.');
    invalid(null, 'The user is already a member of the organization.');
  }
  return item;
}

/** An organization that is there; undefined when it never was, or is deleted. */
export async function findOrganization(table: Table, id: string): Promise<OrganizationItem | undefined> {
  const organization = (await table.get(keys.organization(id))) as OrganizationItem | undefined;
  return organization?.deleted_at === null ? organization : undefined;
}

/** The organizations of these memberships that are not deleted, oldest first. One read. */
export async function organizationsIn(
  table: Table,
  memberships: readonly MembershipItem[],
): Promise<OrganizationItem[]> {
  const found = (await table.many(memberships.map((membership) => keys.organization(membership.organization_id)))) as (
    | OrganizationItem
    | undefined
  )[];
  return found
    .filter((organization): organization is OrganizationItem => organization?.deleted_at === null)
    .toSorted((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1));
}

/** The organizations of a user that are not deleted, oldest first. */
export async function organizationsOf(table: Table, uid: string): Promise<OrganizationItem[]> {
  const items = await listAll(table, ranges.userAndMemberships(uid));
  return organizationsIn(
    table,
    items.filter((item): item is MembershipItem => 'organization_id' in item),
  );
}

/**
 * Changes fields of an organization, and only those: concurrent changes of other fields last. 404 when it is gone,
 * 412 when its version is none of `ifMatch`.
 */
export async function changeOrganization(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  id: string,
  set: Readonly<Record<string, Value>>,
  ifMatch?: readonly number[],
): Promise<OrganizationItem> {
  const versions = ifMatch === undefined ? {} : { ver: ifMatch };
  try {
    const [changed] = await table.write([
      {
        change: keys.organization(id),
        set: { ...set, updated_at: clock() },
        add: { ver: 1 },
        if: { is: { ...isAlive(id), ...versions } },
      },
    ]);
    return changed as OrganizationItem;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return fail(error.found?.['deleted_at'] === null ? 'precondition_failed' : 'not_found');
  }
}
