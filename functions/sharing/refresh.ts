import { endpoint } from '../../lib/api/endpoint.ts';
import { sharingObject } from '../../lib/dashboards/sharing/model.ts';
import { refreshSharing } from '../../lib/dashboards/sharing/routes.ts';
import { changeSharing, foundSharingToEdit, readSharing, refreshed } from '../../lib/dashboards/sharing/store.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(refreshSharing, {
  read: ({ params }, { table }) => readSharing(table, params),
  found: foundSharingToEdit,
  async run({ read, tenant, ifMatch, activity: tell }, context) {
    const sharing = await changeSharing(context, read, { tenant, change: refreshed, ifMatch, tell });
    return new Answer(sharingObject(sharing), { version: sharing.ver });
  },
});
