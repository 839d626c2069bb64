import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { memberObject } from '../../lib/members/model.ts';
import { updateMember } from '../../lib/members/routes.ts';
import { changeLevel, readMember } from '../../lib/members/store.ts';
import { userCard } from '../../lib/users/model.ts';
import { findUser } from '../../lib/users/store.ts';

export const handler = endpoint(updateMember, {
  read: async ({ params }, { table }) => Promise.all([readMember(table, params), findUser(table, params.user__uuid)]),
  async run({ read: [target, user], tenant, body, ifMatch, activity }, context) {
    const changed = await changeLevel(context, tenant, { target, user }, activity, body.level, ifMatch);
    return new Answer(memberObject(changed, userCard(user)), { version: changed.ver });
  },
});
