import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { createImport as row } from '../../lib/imports/routes.ts';
import { createImport, readImport, shownImport } from '../../lib/imports/store.ts';

export const handler = endpoint(row, {
  async run({ body, tenant, caller: { user }, idempotencyOps, activityOps }, context) {
    const author = { ...placeIn(tenant), user: user.uuid, idempotencyOps, activityOps };
    const made = await createImport(context, body, author);
    return shownImport(context, made, user);
  },
  async replay(id, { tenant, caller: { user } }, context) {
    const made = await readImport(context, placeIn(tenant).project.id, id);
    return shownImport(context, made, user);
  },
});
