import { fail } from '../../lib/errors.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { destroyInvite } from '../../lib/invites/routes.ts';
import { readInvite, removeInvite } from '../../lib/invites/store.ts';

export const handler = endpoint(destroyInvite, {
  read: ({ params }, { table }) => readInvite(table, params.id),
  found: (invite, { organization }) => (invite.organization_id === organization.id ? invite : fail('not_found')),
  async run({ read, activity }, { table }) {
    await removeInvite(table, read, activity);
    return undefined;
  },
});
