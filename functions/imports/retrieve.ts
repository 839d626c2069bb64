import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { importObject } from '../../lib/imports/model.ts';
import { retrieveImport } from '../../lib/imports/routes.ts';
import { readImport, uploadedBytes } from '../../lib/imports/store.ts';

export const handler = endpoint(retrieveImport, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  run: async ({ read, caller }, context) =>
    importObject(read, await userLookup(context, [read.created_by], caller.user), await uploadedBytes(context, read)),
});
