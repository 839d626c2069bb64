import { endpoint } from '../../lib/api/endpoint.ts';
import { runDetailObject } from '../../lib/exports/records/runs/model.ts';
import { retrieveRun } from '../../lib/exports/resource/routes.ts';
import { foundBeside, readRun } from '../../lib/exports/resource/store.ts';

export const handler = endpoint(retrieveRun, {
  read: ({ params: { id, run_id } }, { table }) => readRun(table, id, run_id),
  found: (read, tenant) => foundBeside(read, tenant),
  run: ({ read }) => runDetailObject(read),
});
