import { userCards } from '../../lib/accounts/users/cards.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { collaboratorObject } from '../../lib/dashboards/collaborators/model.ts';
import { listCollaborators } from '../../lib/dashboards/collaborators/routes.ts';
import { readCollaborators } from '../../lib/dashboards/collaborators/store.ts';
import { foundHead, readHead } from '../../lib/dashboards/head.ts';

export const handler = endpoint(listCollaborators, {
  read: ({ params }, { table }) => Promise.all([readHead(table, params), readCollaborators(table, params)]),
  found([head, collaborators], tenant) {
    foundHead(head, tenant);
    return collaborators;
  },
  async run({ read: collaborators, caller }, context) {
    const uuids = collaborators.map(({ user_uuid }) => user_uuid);
    const cards = await userCards(context, uuids, caller.user);
    return collaborators.flatMap((item) => {
      const card = cards(item.user_uuid);
      return card === null ? [] : [collaboratorObject(item, card)];
    });
  },
});
