import { sendNotice } from '../../lib/exports/notices/send-notice.ts';
import type { NoticeInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Sends a notice of a failure to the webhook of the export, and as an event where there is a bus. */
export const handler = step('send-notice', async (input: NoticeInput, context, signal) => {
  await sendNotice(context, input, signal);
  return null;
});
