import { accessControlObject } from '../../lib/access-controls/model.ts';
import { updateAccessControl } from '../../lib/access-controls/routes.ts';
import { foundRuledToManage, putAccessRule, readRuled } from '../../lib/access-controls/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { EmptyAnswer } from '../../lib/http/request.ts';
import { userCards } from '../../lib/users/cards.ts';

export const handler = endpoint(updateAccessControl, {
  read: ({ params }, { table }) => readRuled(table, params),
  found: foundRuledToManage,
  async run({ read, body, tenant, caller, activity }, context) {
    const rule = await putAccessRule(context, read, body, tenant, activity);
    if (rule === undefined) return new EmptyAnswer();
    return accessControlObject(rule, await userCards(context, [rule.created_by], caller.user));
  },
});
