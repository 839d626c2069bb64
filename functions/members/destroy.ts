import { destroyMember } from '../../lib/accounts/organizations/members/routes.ts';
import { readMember, removeMember } from '../../lib/accounts/organizations/members/store.ts';
import { findUser } from '../../lib/accounts/users/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { forgetMember, namingsOf } from '../../lib/dashboards/collaborators/departure.ts';

export const handler = endpoint(destroyMember, {
  async read({ params }, { table }) {
    const { user__uuid: uid } = params;
    const found = [readMember(table, params), namingsOf(table, uid), findUser(table, uid)] as const;
    const [target, namings, user] = await Promise.all(found);
    return { target, namings, user };
  },
  async run({ read, tenant, ifMatch, activityOps }, context) {
    const { namings, ...target } = read;
    const forget = () => forgetMember(context.table, tenant.organization, target.user.uuid, namings);
    await removeMember(context, tenant, { ...target, forget }, activityOps, ifMatch);
    return undefined;
  },
});
