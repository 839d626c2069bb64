import { endpoint } from '../../lib/http/endpoint.ts';
import { destroyMember } from '../../lib/members/routes.ts';
import { collaborationsOf, readMember, removeMember } from '../../lib/members/store.ts';

export const handler = endpoint(destroyMember, {
  async read({ params }, { table }) {
    const found = await Promise.all([readMember(table, params), collaborationsOf(table, params.user__uuid)]);
    return { target: found[0], collaborations: found[1] };
  },
  async run({ read, tenant, ifMatch }, context) {
    await removeMember(context, tenant, read, ifMatch);
    return undefined;
  },
});
