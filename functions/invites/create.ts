import { inviteObject } from '../../lib/accounts/organizations/invites/model.ts';
import { createInvite as row } from '../../lib/accounts/organizations/invites/routes.ts';
import { createInvite, readInvite } from '../../lib/accounts/organizations/invites/store.ts';
import { userCard } from '../../lib/accounts/users/model.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { baseOf } from '../../lib/http/page.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, caller, paging, once, activity }, context) {
    const invite = await createInvite(context, tenant, body, once, activity);
    return inviteObject(invite, userCard(caller.user), baseOf(paging));
  },
  async replay(id, { caller, paging }, { table }) {
    return inviteObject(await readInvite(table, id), userCard(caller.user), baseOf(paging));
  },
});
