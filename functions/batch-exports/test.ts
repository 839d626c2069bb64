import { listTestSteps } from '../../lib/batch-exports/routes.ts';
import { stepsOf } from '../../lib/batch-exports/test-steps.ts';
import { endpoint } from '../../lib/http/endpoint.ts';

export const handler = endpoint(listTestSteps, ({ query }, { settings }) => ({
  steps: stepsOf(query.destination, settings),
}));
