import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { collaboratorObject } from '../../lib/dashboards/collaborators/model.ts';
import { listCollaborators } from '../../lib/dashboards/collaborators/routes.ts';
import { readCollaborators } from '../../lib/dashboards/collaborators/store.ts';
import { foundSummary, readSummary } from '../../lib/dashboards/store.ts';

export const handler = endpoint(listCollaborators, {
  read: ({ params }, { table }) => Promise.all([readSummary(table, params), readCollaborators(table, params)]),
  found([summary, collaborators], tenant) {
    foundSummary(summary, tenant);
    return collaborators;
  },
  async run({ read: collaborators, caller }, context) {
    const uuids = collaborators.map(({ user_uuid }) => user_uuid);
    const userOf = await userLookup(context, uuids, caller.user);
    return collaborators.flatMap((item) => {
      const user = userOf(item.user_uuid);
      return user === null ? [] : [collaboratorObject(item, user)];
    });
  },
});
