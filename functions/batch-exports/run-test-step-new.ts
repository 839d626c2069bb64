import { endpoint } from '../../lib/api/endpoint.ts';
import { runNewTestStep } from '../../lib/exports/resource/routes.ts';
import { newConfig } from '../../lib/exports/resource/store.ts';
import { runStep } from '../../lib/exports/resource/test-steps.ts';

export const handler = endpoint(runNewTestStep, async ({ body: { step, ...input }, tenant }, context) => {
  return runStep(context, await newConfig(context, tenant, input), step);
});
