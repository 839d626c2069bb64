import { endpoint } from '../../lib/api/endpoint.ts';
import { cancelImport as row } from '../../lib/imports/routes.ts';
import { cancelImport, readImport, shownImport } from '../../lib/imports/store.ts';

export const handler = endpoint(row, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  async run({ read, caller, activityOps }, context) {
    const { id, name } = read;
    const ops = activityOps({ scope: 'Import', id, name, activity: 'cancelled' });
    const cancelled = await cancelImport(context, read, ops);
    return shownImport(context, cancelled, caller.user);
  },
});
