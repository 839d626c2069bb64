import { composeSubscription } from '../../lib/notifications/subscriptions/compose.ts';
import type { NotifierInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Composes what a subscription that is due sends. */
export const handler = step('compose-subscription', async (input: NotifierInput, context, signal) => {
  await composeSubscription(context, input, signal);
  return null;
});
