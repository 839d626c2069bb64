import { endpoint } from '../../lib/api/endpoint.ts';
import { destroyImport } from '../../lib/imports/routes.ts';
import { deleteImport, readImport } from '../../lib/imports/store.ts';

export const handler = endpoint(destroyImport, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  run({ read, activityOps }, context) {
    const { id, name } = read;
    return deleteImport(context, read, activityOps({ scope: 'Import', id, name, activity: 'deleted' }));
  },
});
