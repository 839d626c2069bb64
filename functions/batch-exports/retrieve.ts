import { endpoint } from '../../lib/api/endpoint.ts';
import { retrieveBatchExport } from '../../lib/exports/resource/routes.ts';
import { foundExport, readExport, shownExport } from '../../lib/exports/resource/store.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(retrieveBatchExport, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read: item }, { table }) {
    const body = await shownExport(table, item);
    // Runs go on without its version.
    return new Answer(body, { version: item.ver, isComputed: body.latest_runs.length > 0 });
  },
});
