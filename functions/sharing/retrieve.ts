import { endpoint } from '../../lib/api/endpoint.ts';
import { sharingObject } from '../../lib/dashboards/sharing/model.ts';
import { retrieveSharing } from '../../lib/dashboards/sharing/routes.ts';
import { foundSharing, readSharing } from '../../lib/dashboards/sharing/store.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(retrieveSharing, {
  read: ({ params }, { table }) => readSharing(table, params),
  found: foundSharing,
  run: ({ read: sharing }) => new Answer(sharingObject(sharing), { version: sharing.ver }),
});
