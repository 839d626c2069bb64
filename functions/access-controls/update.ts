import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { accessControlObject } from '../../lib/dashboards/access-controls/model.ts';
import { updateAccessControl } from '../../lib/dashboards/access-controls/routes.ts';
import { foundRulesToManage, putAccessRule, readRules } from '../../lib/dashboards/access-controls/store.ts';
import { EmptyAnswer } from '../../lib/http/answer.ts';

export const handler = endpoint(updateAccessControl, {
  read: ({ params }, { table }) => readRules(table, params),
  found: foundRulesToManage,
  async run({ read, body, tenant, caller, activityOps }, context) {
    const rule = await putAccessRule(context, read, body, tenant, activityOps);
    if (rule === undefined) return new EmptyAnswer();
    return accessControlObject(rule, await userLookup(context, [rule.created_by], caller.user));
  },
});
