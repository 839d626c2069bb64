import { destroyMember } from '../../lib/accounts/organizations/members/routes.ts';
import { namingsOf, readMember, removeMember } from '../../lib/accounts/organizations/members/store.ts';
import { findUser } from '../../lib/accounts/users/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(destroyMember, {
  async read({ params }, { table }) {
    const { user__uuid: uid } = params;
    const found = [readMember(table, params), namingsOf(table, uid), findUser(table, uid)] as const;
    const [target, namings, user] = await Promise.all(found);
    return { target, namings, user };
  },
  async run({ read, tenant, ifMatch, activity }, context) {
    await removeMember(context, tenant, read, activity, ifMatch);
    return undefined;
  },
});
