import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addMember, createOrganization, organizationsOf } from '../../lib/accounts/organizations/store.ts';
import { createKey } from '../../lib/accounts/personal-api-keys/store.ts';
import { createUser, findUserByEmail } from '../../lib/accounts/users/store.ts';
import { LEVELS } from '../../lib/http/levels.ts';
import type { Context } from '../../lib/ports/context.ts';
import { fromJsonText } from '../../lib/ports/table/json-text.ts';

export interface Welcome {
  readonly organizationId: string;
  readonly projectId: number;
  /** The only time that the key's value is told. */
  readonly key: string;
}

/** Writes the first key into a file of the data directory that nobody else may read; returns its path. */
export function keyFile(folder: string, key: string): string {
  const path = join(folder, 'first-key');
  // One that an earlier start left behind, which was killed, holds another key.
  rmSync(path, { force: true });
  writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return path;
}

const OWNER = { email: 'owner@example.com', first_name: 'Olivia', last_name: 'Owner' };
const MEMBER = { email: 'member@example.com', first_name: 'Max', last_name: 'Member' };

/**
 * Makes what a newcomer needs: an organization with a project, its owner, a member, and a key of the owner that may do
 * everything. Undefined when it was made before. `done` is to be called once the key has been shown; after a crash
 * before that, the next start goes on with what is there and makes another key.
 */
export async function firstStart(
  context: Context,
  folder: string,
): Promise<{ welcome: Welcome; done(): void } | undefined> {
  const mark = join(folder, 'welcomed');
  if (existsSync(mark)) return undefined;
  const { table } = context;
  const owner = (await findUserByEmail(table, OWNER.email)) ?? (await createUser(context, OWNER));
  const member = (await findUserByEmail(table, MEMBER.email)) ?? (await createUser(context, MEMBER));
  const [known] = await organizationsOf(table, owner.uuid);
  const organization = known ?? (await createOrganization(context, { name: 'My organization', owner })).organization;
  if ((await organizationsOf(table, member.uuid)).length === 0) {
    await addMember(context, { organization, user: member, level: LEVELS.member });
  }
  const { value } = await createKey(context, { user: owner, label: 'First key', scopes: ['*'] });
  const [project] = fromJsonText(organization.projects);
  return {
    welcome: { organizationId: organization.id, projectId: project?.id ?? 0, key: value },
    done: () => writeFileSync(mark, ''),
  };
}
