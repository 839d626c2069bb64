import { userCards } from '../../lib/accounts/users/cards.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { accessControlObject, LEVELS_OF_ACCESS } from '../../lib/dashboards/access-controls/model.ts';
import { listAccessControls } from '../../lib/dashboards/access-controls/routes.ts';
import { foundRuled, readRuled } from '../../lib/dashboards/access-controls/store.ts';
import { mayManage, standingOf } from '../../lib/dashboards/rules.ts';

export const handler = endpoint(listAccessControls, {
  read: ({ params }, { table }) => readRuled(table, params),
  found: foundRuled,
  async run({ read: { head, rules }, caller, tenant: { membership } }, context) {
    const authors = rules.map(({ created_by }) => created_by);
    const cards = await userCards(context, authors, caller.user);
    return {
      access_controls: rules.map((rule) => accessControlObject(rule, cards)),
      ...LEVELS_OF_ACCESS,
      user_access_level: standingOf(head, membership).user_access_level,
      user_can_edit_access_levels: mayManage(head, membership),
    };
  },
});
