import { checkAlert } from '../../lib/notifications/alerts/check.ts';
import type { NotifierInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Looks at the number of an alert that is due. */
export const handler = step('check-alert', async (input: NotifierInput, context, signal) => {
  await checkAlert(context, input, signal);
  return null;
});
