import { activityObject } from '../../lib/accounts/activity/model.ts';
import { listActivity } from '../../lib/accounts/activity/routes.ts';
import { readActivity } from '../../lib/accounts/activity/store.ts';
import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { cursorPage } from '../../lib/http/page.ts';

export const handler = endpoint(listActivity, {
  read: ({ params, query, paging }, { table }) => readActivity(table, params.organization_id, query, paging),
  async run({ read, paging, caller }, context) {
    const uuids = read.items.map(({ user_uuid }) => user_uuid);
    const userOf = await userLookup(context, uuids, caller.user);
    return cursorPage(paging, read, (item) => activityObject(item, userOf));
  },
});
