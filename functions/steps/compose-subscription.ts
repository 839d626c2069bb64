import { composeSubscription } from '../../lib/notifications/subscriptions/compose.ts';
import { beforeTimeout } from '../../lib/workflow/before-timeout.ts';
import type { NotifierInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Composes what a subscription that is due sends. */
export const handler = step('compose-subscription', async (input: NotifierInput, context, signal) => {
  await beforeTimeout('compose-subscription', signal, (until) => composeSubscription(context, input, until));
  return null;
});
