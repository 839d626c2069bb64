import { sendSlot } from '../../lib/exports/runs/send.ts';
import type { SendInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Delivers one slot and commits it. */
export const handler = step('send-slot', (input: SendInput, context, signal) => sendSlot(context, input, signal));
