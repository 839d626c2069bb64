import { endpoint } from '../../lib/api/endpoint.ts';
import { checkChoices } from '../../lib/dashboards/sharing/filter-choices.ts';
import { sharingObject } from '../../lib/dashboards/sharing/model.ts';
import { hashedPassword } from '../../lib/dashboards/sharing/password.ts';
import { updateSharing } from '../../lib/dashboards/sharing/routes.ts';
import { changeSharing, foundSharingToEdit, patchOf, readSharing } from '../../lib/dashboards/sharing/store.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(updateSharing, {
  read: ({ params }, { table }) => readSharing(table, params),
  found: foundSharingToEdit,
  async run({ read, body, tenant, caller, ifMatch, activityOps }, context) {
    if (body.filter_choices !== undefined) checkChoices(body.filter_choices);
    const waiter = { organization: tenant.organization.id, user: caller.userId, signal: context.callerLeft };
    const password =
      typeof body.password === 'string' ? await hashedPassword(body.password, waiter, context.random) : body.password;
    const change = patchOf(body, password, context.clock());
    const sharing = await changeSharing(context, read, { tenant, change, ifMatch, activityOps });
    return new Answer(sharingObject(sharing), { version: sharing.ver });
  },
});
