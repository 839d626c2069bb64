import { endpoint } from '../../lib/http/endpoint.ts';
import { baseOf, page, readPage } from '../../lib/http/page.ts';
import { type InviteItem, inviteObject } from '../../lib/invites/model.ts';
import { listInvites } from '../../lib/invites/routes.ts';
import { ranges } from '../../lib/table/keys.ts';
import { userCards } from '../../lib/users/cards.ts';

export const handler = endpoint(listInvites, {
  read: ({ params, paging }, { table }) => readPage(table, ranges.invitationsOf(params.organization_id), paging),
  async run({ read, paging, caller }, context) {
    const items = read.items as InviteItem[];
    const uuids = items.map(({ created_by }) => created_by);
    const cards = await userCards(context, uuids, caller.user);
    return page(paging, { ...read, items }, (item) => inviteObject(item, cards(item.created_by), baseOf(paging)));
  },
});
