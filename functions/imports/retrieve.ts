import { endpoint } from '../../lib/api/endpoint.ts';
import { retrieveImport } from '../../lib/imports/routes.ts';
import { readImport, shownImport } from '../../lib/imports/store.ts';

export const handler = endpoint(retrieveImport, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  run: ({ read, caller }, context) => shownImport(context, read, caller.user),
});
