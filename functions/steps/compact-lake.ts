import { HOUR_MS } from '../../lib/basics/units.ts';
import { setCompaction } from '../../lib/lake/compaction-job.ts';
import type { ProjectInput, WalkOutput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** The job waits so long while its machine walks, to start it again if it dies. */
const WATCH_MS = HOUR_MS;

/** Joins small files of a project's lake, and sets when that is looked at again. */
export const handler = step('compact-lake', async ({ project }: ProjectInput, context): Promise<WalkOutput> => {
  const { clock, compactor } = context;
  await setCompaction(context, project, clock() + WATCH_MS);
  const { next, isCut } = await compactor.compact(project);
  if (isCut) return { do: 'more' };
  await setCompaction(context, project, next);
  return { do: 'nothing' };
});
