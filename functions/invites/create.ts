import { inviteObject } from '../../lib/accounts/organizations/invites/model.ts';
import { createInvite as row } from '../../lib/accounts/organizations/invites/routes.ts';
import { createInvite, readInvite } from '../../lib/accounts/organizations/invites/store.ts';
import { userObject } from '../../lib/accounts/users/model.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { baseOf } from '../../lib/http/page.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, caller, paging, idempotencyOps, activityOps }, context) {
    const invite = await createInvite(context, tenant, body, idempotencyOps, activityOps);
    return inviteObject(invite, userObject(caller.user), baseOf(paging));
  },
  async replay(id, { caller, paging }, { table }) {
    return inviteObject(await readInvite(table, id), userObject(caller.user), baseOf(paging));
  },
});
