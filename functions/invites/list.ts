import { inviteObject } from '../../lib/accounts/organizations/invites/model.ts';
import { listInvites } from '../../lib/accounts/organizations/invites/routes.ts';
import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { baseOf, page, readPage } from '../../lib/http/page.ts';
import { ranges } from '../../lib/ports/table/keys.ts';

export const handler = endpoint(listInvites, {
  read: ({ params, paging }, { table }) => readPage(table, ranges.invitationsOf(params.organization_id), paging),
  async run({ read, paging, caller }, context) {
    const uuids = read.items.map(({ created_by }) => created_by);
    const userOf = await userLookup(context, uuids, caller.user);
    return page(paging, read, (item) => inviteObject(item, userOf(item.created_by), baseOf(paging)));
  },
});
