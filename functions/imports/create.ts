import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { importObject } from '../../lib/imports/model.ts';
import { createImport as row } from '../../lib/imports/routes.ts';
import { createImport, readImport, uploadedBytes } from '../../lib/imports/store.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, caller: { user }, idempotencyOps, activityOps }, context) {
    const author = { ...placeIn(tenant), user: user.uuid, idempotencyOps, activityOps };
    const made = await createImport(context, body, author);
    return importObject(made, await userLookup(context, [user.uuid], user), 0);
  },
  async replay(id, { tenant, caller: { user } }, context) {
    const made = await readImport(context, placeIn(tenant).project.id, id);
    return importObject(made, await userLookup(context, [made.created_by], user), await uploadedBytes(context, made));
  },
});
