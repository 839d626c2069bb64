import { memberObject } from '../../lib/accounts/organizations/members/model.ts';
import { listMembers } from '../../lib/accounts/organizations/members/routes.ts';
import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { page, readPage } from '../../lib/http/page.ts';
import { ranges } from '../../lib/ports/table/keys.ts';

export const handler = endpoint(listMembers, {
  read: ({ params, paging }, { table }) => readPage(table, ranges.membersOf(params.organization_id), paging),
  async run({ read, paging, caller }, context) {
    const uuids = read.items.map(({ user_uuid }) => user_uuid);
    const userOf = await userLookup(context, uuids, caller.user);
    const items = read.items.flatMap((member) => {
      const user = userOf(member.user_uuid);
      return user === null ? [] : [memberObject(member, user)];
    });
    return page(paging, { ...read, items }, (item) => item);
  },
});
