import { prepareBackfill } from '../../lib/exports/runs/backfill.ts';
import type { PrepareInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Counts a backfill's batches. */
export const handler = step('prepare-backfill', (input: PrepareInput, context) => prepareBackfill(context, input));
