import { inviteEnds, openInvites } from '../../lib/accounts/organizations/invites/store.ts';
import { destroyMember } from '../../lib/accounts/organizations/members/routes.ts';
import { readMember, removeMember } from '../../lib/accounts/organizations/members/store.ts';
import type { MembershipItem } from '../../lib/accounts/organizations/model.ts';
import { findUser } from '../../lib/accounts/users/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { mentionOps, readMentions } from '../../lib/dashboards/member-mentions.ts';

export const handler = endpoint(destroyMember, {
  async read({ params }, { table }) {
    const { organization_id, user__uuid: uid } = params;
    const member = [readMember(table, params), findUser(table, uid)] as const;
    const naming = [openInvites(table, organization_id), readMentions(table, uid)] as const;
    const [target, user, invites, mentions] = await Promise.all([...member, ...naming]);
    return { target, user, invites, mentions };
  },
  async run({ read, tenant, ifMatch, activityOps }, context) {
    const { invites, mentions, ...target } = read;
    const ends = async (member: MembershipItem) => [
      ...inviteEnds(invites, target.user.email),
      ...(await mentionOps(context.table, tenant.organization, member, mentions)),
    ];
    await removeMember(context, tenant, { ...target, ends }, activityOps, ifMatch);
  },
});
