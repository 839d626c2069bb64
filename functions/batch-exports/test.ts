import { endpoint } from '../../lib/api/endpoint.ts';
import { listTestSteps } from '../../lib/exports/resource/routes.ts';
import { stepsOf } from '../../lib/exports/resource/test-steps.ts';

export const handler = endpoint(listTestSteps, ({ query }, { settings }) => ({
  steps: stepsOf(query.destination, settings),
}));
