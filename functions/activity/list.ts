import { type ActivityItem, activityObject } from '../../lib/activity/model.ts';
import { listActivity } from '../../lib/activity/routes.ts';
import { readActivity } from '../../lib/activity/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { cursorPage } from '../../lib/http/page.ts';
import { userCards } from '../../lib/users/cards.ts';

export const handler = endpoint(listActivity, {
  read: ({ params, query, paging }, { table }) => readActivity(table, params.organization_id, query, paging),
  async run({ read, paging, caller }, context) {
    const items = read.items as ActivityItem[];
    const uuids = items.map(({ user_uuid }) => user_uuid);
    const cards = await userCards(context, uuids, caller.user);
    return cursorPage(paging, { ...read, items }, (item) => activityObject(item, cards));
  },
});
