import { inviteEnds, openInvites } from '../../lib/accounts/organizations/invites/store.ts';
import { destroyMember } from '../../lib/accounts/organizations/members/routes.ts';
import { readMember, removeMember } from '../../lib/accounts/organizations/members/store.ts';
import { findUser } from '../../lib/accounts/users/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { mentionOps, readMentions } from '../../lib/dashboards/member-mentions.ts';

export const handler = endpoint(destroyMember, {
  async read({ params }, { table }) {
    const { user__uuid: uid } = params;
    const [target, user, invites, mentions] = await Promise.all([
      readMember(table, params),
      findUser(table, uid),
      openInvites(table, params.organization_id),
      readMentions(table, uid),
    ]);
    return { target, user, invites, mentions };
  },
  async run({ read, tenant, ifMatch, activityOps }, context) {
    const { target, user, invites, mentions } = read;
    const { organization } = tenant;
    const ends = async () => [
      // Else whoever is removed could come back by an invitation from before.
      ...inviteEnds(invites, user.email).map((op) => [op]),
      ...(await mentionOps(context.table, organization, user.uuid, mentions)),
    ];
    await removeMember(context, tenant, { target, user, ends }, activityOps, ifMatch);
    return undefined;
  },
});
