import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { accessControlObject, COMMON_FIELDS } from '../../lib/dashboards/access-controls/model.ts';
import { listAccessControls } from '../../lib/dashboards/access-controls/routes.ts';
import { foundRules, readRules } from '../../lib/dashboards/access-controls/store.ts';
import { mayManage, rightsOf } from '../../lib/dashboards/rules.ts';

export const handler = endpoint(listAccessControls, {
  read: ({ params }, { table }) => readRules(table, params),
  found: foundRules,
  async run({ read: { summary, rules }, caller, tenant: { membership } }, context) {
    const authors = rules.map(({ created_by }) => created_by);
    const userOf = await userLookup(context, authors, caller.user);
    return {
      access_controls: rules.map((rule) => accessControlObject(rule, userOf)),
      ...COMMON_FIELDS,
      user_access_level: rightsOf(summary, membership).user_access_level,
      user_can_edit_access_levels: mayManage(summary, membership),
    };
  },
});
