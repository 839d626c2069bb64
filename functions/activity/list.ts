import { activityObject } from '../../lib/accounts/activity/model.ts';
import { listActivity } from '../../lib/accounts/activity/routes.ts';
import { readActivity } from '../../lib/accounts/activity/store.ts';
import { userCards } from '../../lib/accounts/users/cards.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { cursorPage } from '../../lib/http/page.ts';

export const handler = endpoint(listActivity, {
  read: ({ params, query, paging }, { table }) => readActivity(table, params.organization_id, query, paging),
  async run({ read, paging, caller }, context) {
    const { items } = read;
    const uuids = items.map(({ user_uuid }) => user_uuid);
    const cards = await userCards(context, uuids, caller.user);
    return cursorPage(paging, { ...read, items }, (item) => activityObject(item, cards));
  },
});
