import { runTestStep } from '../../lib/batch-exports/routes.ts';
import { changedConfig, foundExport, readExport } from '../../lib/batch-exports/store.ts';
import { runStep } from '../../lib/batch-exports/test-steps.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(runTestStep, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, body: { step, ...patch } }, context) {
    return runStep(context, await changedConfig(context, read, patch), step);
  },
});
