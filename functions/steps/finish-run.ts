import { finishRun } from '../../lib/exports/runs/finish.ts';
import type { FinishInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Settles a batch: ends the runs that could not end by themselves, and sets what comes next. */
export const handler = step('finish-run', (input: FinishInput, context, signal) =>
  finishRun(context, input, { signal }),
);
