import { userCards } from '../../lib/accounts/users/cards.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { accessControlObject } from '../../lib/dashboards/access-controls/model.ts';
import { updateAccessControl } from '../../lib/dashboards/access-controls/routes.ts';
import { foundRuledToManage, putAccessRule, readRuled } from '../../lib/dashboards/access-controls/store.ts';
import { EmptyAnswer } from '../../lib/http/request.ts';

export const handler = endpoint(updateAccessControl, {
  read: ({ params }, { table }) => readRuled(table, params),
  found: foundRuledToManage,
  async run({ read, body, tenant, caller, activity }, context) {
    const rule = await putAccessRule(context, read, body, tenant, activity);
    if (rule === undefined) return new EmptyAnswer();
    return accessControlObject(rule, await userCards(context, [rule.created_by], caller.user));
  },
});
