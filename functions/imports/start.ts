import { userLookup } from '../../lib/accounts/users/lookup.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { importObject } from '../../lib/imports/model.ts';
import { readingOptions } from '../../lib/imports/reading-options.ts';
import { startImport as row } from '../../lib/imports/routes.ts';
import { readImport, startImport, uploadedBytes } from '../../lib/imports/store.ts';

export const handler = endpoint(row, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  async run({ read, body, caller, activityOps }, context) {
    const { id, name } = read;
    const ops = activityOps({ scope: 'Import', id, name, activity: 'started' });
    const started = await startImport(context, read, readingOptions(body), ops);
    return importObject(
      started,
      await userLookup(context, [started.created_by], caller.user),
      await uploadedBytes(context, started),
    );
  },
});
