import { beginRun } from '../../lib/exports/runs/begin.ts';
import type { BeginInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Decides which intervals are run, acquires them, and freezes what they deliver. */
export const handler = step('begin-run', (input: BeginInput, context) => beginRun(context, input));
