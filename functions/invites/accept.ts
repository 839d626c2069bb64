import { fail } from '../../lib/errors.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { acceptInvite as row } from '../../lib/invites/routes.ts';
import { refuseOthers } from '../../lib/invites/rules.ts';
import { acceptInvite, readInvite } from '../../lib/invites/store.ts';
import { memberObject } from '../../lib/members/model.ts';
import { findMembership } from '../../lib/organizations/store.ts';
import { userCard } from '../../lib/users/model.ts';

export const handler = endpoint(row, {
  async run({ params, caller, once, activity }, context) {
    const invite = await readInvite(context.table, params.id);
    refuseOthers(invite, caller);
    const joined = await acceptInvite(context, invite, caller.user, once(invite.organization_id), activity);
    return memberObject(joined, userCard(caller.user));
  },
  async replay(organizationId, { caller }, { table }) {
    const joined = (await findMembership(table, caller.userId, organizationId)) ?? fail('not_found');
    return memberObject(joined, userCard(caller.user));
  },
});
