import { acceptInvite as row } from '../../lib/accounts/organizations/invites/routes.ts';
import { refuseOthers } from '../../lib/accounts/organizations/invites/rules.ts';
import { acceptInvite, readInvite } from '../../lib/accounts/organizations/invites/store.ts';
import { memberObject } from '../../lib/accounts/organizations/members/model.ts';
import { findMembership } from '../../lib/accounts/organizations/store.ts';
import { userObject } from '../../lib/accounts/users/model.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { fail } from '../../lib/ports/errors.ts';

export const handler = endpoint(row, {
  async run({ params, caller, idempotencyOps, activityOps }, context) {
    const invite = await readInvite(context.table, params.id);
    refuseOthers(invite, caller);
    const ops = idempotencyOps(invite.organization_id);
    const joined = await acceptInvite(context, invite, caller.user, ops, activityOps);
    return memberObject(joined, userObject(caller.user));
  },
  async replay(organizationId, { caller }, { table }) {
    const joined = (await findMembership(table, caller.userId, organizationId)) ?? fail('not_found');
    return memberObject(joined, userObject(caller.user));
  },
});
