/**
 * Makes users beside the running service: one who owns many organizations, and others who own none. Prints their keys.
 */
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { createKey } from '../../../lib/accounts/personal-api-keys/store.ts';
import { createUser } from '../../../lib/accounts/users/store.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { input, tell } from '../program.ts';

const wanted = input as { dataDirectory: string; organizations: number; others: number };
const context = openDataDirectory(
  wanted.dataDirectory,
  LOCAL_SETTINGS,
  logTo(() => {}, Date.now),
);

async function newUser(name: string) {
  const user = await createUser(context, { email: `${name}@example.com` });
  const { value } = await createKey(context, { user, label: 'bench', scopes: ['*'] });
  return { user, value };
}

const owner = await newUser('owner-of-many');
for (let n = 1; n <= wanted.organizations; n += 1) {
  await createOrganization(context, { name: `Organization ${n}`, owner: owner.user });
}
const others: string[] = [];
for (let n = 1; n <= wanted.others; n += 1) others.push((await newUser(`other-${n}`)).value);
await context.close();
tell({ owner: owner.value, others });
