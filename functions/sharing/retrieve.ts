import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { sharingObject } from '../../lib/sharing/model.ts';
import { retrieveSharing } from '../../lib/sharing/routes.ts';
import { foundSharing, readSharing } from '../../lib/sharing/store.ts';

export const handler = endpoint(retrieveSharing, {
  read: ({ params }, { table }) => readSharing(table, params),
  found: foundSharing,
  run: ({ read: sharing }) => new Answer(sharingObject(sharing), { version: sharing.ver }),
});
