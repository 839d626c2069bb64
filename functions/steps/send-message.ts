import { sendMessage } from '../../lib/notifications/messages/send.ts';
import type { MessageInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Sends one message of an alert or a subscription. */
export const handler = step('send-message', async (input: MessageInput, context, signal) => {
  await sendMessage(context, input, signal);
  return null;
});
