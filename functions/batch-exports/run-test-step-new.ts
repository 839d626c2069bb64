import { runNewTestStep } from '../../lib/batch-exports/routes.ts';
import { newConfig } from '../../lib/batch-exports/store.ts';
import { runStep } from '../../lib/batch-exports/test-steps.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(runNewTestStep, async ({ body: { step, ...input }, tenant }, context) => {
  return runStep(context, await newConfig(context, tenant, input), step);
});
