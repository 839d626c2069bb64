import { memberObject } from '../../lib/accounts/organizations/members/model.ts';
import { updateMember } from '../../lib/accounts/organizations/members/routes.ts';
import { changeLevel, readMember } from '../../lib/accounts/organizations/members/store.ts';
import { userObject } from '../../lib/accounts/users/model.ts';
import { findUser } from '../../lib/accounts/users/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(updateMember, {
  read: async ({ params }, { table }) => Promise.all([readMember(table, params), findUser(table, params.user__uuid)]),
  async run({ read: [target, user], tenant, body: { level }, ifMatch, activityOps }, context) {
    const changed = await changeLevel(context, tenant, { target, user }, activityOps, { level, ifMatch });
    return new Answer(memberObject(changed, userObject(user)), { version: changed.ver });
  },
});
