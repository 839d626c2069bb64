import { closeBackfill } from '../../lib/exports/runs/backfill.ts';
import { type CloseInput, type CloseOutput, reasonOf } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Ends a backfill, by what its batches have come to or because its machine gave up. */
export const handler = step('close-backfill', async (input: CloseInput, context): Promise<CloseOutput> => {
  const ending = input.error === null ? null : { status: 'Failed' as const, reason: reasonOf(input.error) };
  return { status: await closeBackfill(context, input, ending) };
});
