import { sendInterval } from '../../lib/exports/runs/send.ts';
import type { SendInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Delivers one interval and commits it. */
export const handler = step('send-interval', (input: SendInput, context, signal) =>
  sendInterval(context, input, signal),
);
