import { endpoint } from '../../lib/api/endpoint.ts';
import { sharingObject } from '../../lib/dashboards/sharing/model.ts';
import { refreshSharing } from '../../lib/dashboards/sharing/routes.ts';
import { changeSharing, foundSharingToEdit, readSharing, refresh } from '../../lib/dashboards/sharing/store.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(refreshSharing, {
  read: ({ params }, { table }) => readSharing(table, params),
  found: foundSharingToEdit,
  async run({ read, tenant, ifMatch, activityOps }, context) {
    const sharing = await changeSharing(context, read, { tenant, change: refresh, ifMatch, activityOps });
    return new Answer(sharingObject(sharing), { version: sharing.ver });
  },
});
