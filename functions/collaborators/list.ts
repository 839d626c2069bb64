import { collaboratorObject } from '../../lib/collaborators/model.ts';
import { listCollaborators } from '../../lib/collaborators/routes.ts';
import { readCollaborators } from '../../lib/collaborators/store.ts';
import { foundHead, readHead } from '../../lib/dashboards/head.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { userCards } from '../../lib/users/cards.ts';

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
