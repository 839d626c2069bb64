import { endpoint } from '../../lib/api/endpoint.ts';
import { readingOptions } from '../../lib/imports/reading-options.ts';
import { startImport as row } from '../../lib/imports/routes.ts';
import { readImport, shownImport, startImport } from '../../lib/imports/store.ts';

export const handler = endpoint(row, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  async run({ read, body, caller, activityOps }, context) {
    const { id, name } = read;
    const ops = activityOps({ scope: 'Import', id, name, activity: 'started' });
    const started = await startImport(context, read, readingOptions(body), ops);
    return shownImport(context, started, caller.user);
  },
});
