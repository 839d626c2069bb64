import { destroyMember } from '../../lib/accounts/organizations/members/routes.ts';
import { readMember, removeMember } from '../../lib/accounts/organizations/members/store.ts';
import { findUser } from '../../lib/accounts/users/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { mentionOps, readMentions } from '../../lib/dashboards/member-mentions.ts';

export const handler = endpoint(destroyMember, {
  async read({ params }, { table }) {
    const { user__uuid: uid } = params;
    const found = [readMember(table, params), readMentions(table, uid), findUser(table, uid)] as const;
    const [target, mentions, user] = await Promise.all(found);
    return { target, mentions, user };
  },
  async run({ read, tenant, ifMatch, activityOps }, context) {
    const { mentions, ...target } = read;
    const ops = () => mentionOps(context.table, tenant.organization, target.user.uuid, mentions);
    await removeMember(context, tenant, { ...target, mentionOps: ops }, activityOps, ifMatch);
    return undefined;
  },
});
