import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { importObject } from '../../lib/imports/model.ts';
import { cancelImport as row } from '../../lib/imports/routes.ts';
import { cancelImport, readImport, uploadedBytes } from '../../lib/imports/store.ts';

export const handler = endpoint(row, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  async run({ read, caller, activityOps }, context) {
    const { id, name } = read;
    const ops = activityOps({ scope: 'Import', id, name, activity: 'cancelled' });
    const cancelled = await cancelImport(context, read, ops);
    return importObject(
      cancelled,
      await userLookup(context, [cancelled.created_by], caller.user),
      await uploadedBytes(context, cancelled),
    );
  },
});
