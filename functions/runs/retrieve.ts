import { runDetailObject } from '../../lib/batch-exports/model.ts';
import { retrieveRun } from '../../lib/batch-exports/routes.ts';
import { foundBeside, readRun } from '../../lib/batch-exports/store.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(retrieveRun, {
  read: ({ params: { id, run_id } }, { table }) => readRun(table, id, run_id),
  found: (read, tenant) => foundBeside(read, tenant),
  run: ({ read }) => runDetailObject(read),
});
