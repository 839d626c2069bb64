import { destroyInvite } from '../../lib/accounts/organizations/invites/routes.ts';
import { readInvite, removeInvite } from '../../lib/accounts/organizations/invites/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { fail } from '../../lib/ports/errors.ts';

export const handler = endpoint(destroyInvite, {
  read: ({ params }, { table }) => readInvite(table, params.id),
  found: (invite, { organization }) => (invite.organization_id === organization.id ? invite : fail('not_found')),
  run: ({ read, activityOps }, { table }) => removeInvite(table, read, activityOps),
});
