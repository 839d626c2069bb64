import { checkAlert } from '../../lib/notifications/alerts/check.ts';
import { beforeTimeout } from '../../lib/workflow/before-timeout.ts';
import type { NotifierInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Looks at the number of an alert that is due. */
export const handler = step('check-alert', async (input: NotifierInput, context, signal) => {
  await beforeTimeout('check-alert', signal, (until) => checkAlert(context, input, until));
  return null;
});
