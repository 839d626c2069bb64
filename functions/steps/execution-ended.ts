import { landAgain } from '../../lib/capture/landing.ts';
import { executionEnded } from '../../lib/exports/runs/finish.ts';
import type { EndedInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Settles what an execution left that did not succeed. The engine calls it; on AWS a rule of EventBridge does. */
export const handler = step('execution-ended', async (input: EndedInput, context, signal) => {
  if (input.machine === 'landing') await landAgain(context);
  else await executionEnded(context, input, { signal });
  return null;
});
