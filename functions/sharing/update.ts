import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { sharingObject } from '../../lib/sharing/model.ts';
import { updateSharing } from '../../lib/sharing/routes.ts';
import { changeSharing, foundSharingToEdit, readSharing, toggled } from '../../lib/sharing/store.ts';

export const handler = endpoint(updateSharing, {
  read: ({ params }, { table }) => readSharing(table, params),
  found: foundSharingToEdit,
  async run({ read, body, tenant, ifMatch, activity: tell }, context) {
    const sharing = await changeSharing(context, read, { tenant, change: toggled(body), ifMatch, tell });
    return new Answer(sharingObject(sharing), { version: sharing.ver });
  },
});
