import { jobOps } from '../../lib/jobs/job.ts';
import { compactionJob } from '../../lib/lake/compaction-job.ts';
import { HOUR_MS } from '../../lib/ports/units.ts';
import type { CompactionInput, CompactionOutput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** The job waits so long while its machine walks, to start it again if it dies. */
const WATCH_MS = HOUR_MS;

/** Joins small files of a project's lake, and sets when that is looked at again. */
export const handler = step(
  'compact-lake',
  async ({ project }: CompactionInput, context): Promise<CompactionOutput> => {
    const { table, clock, compactor } = context;
    const job = compactionJob(project);
    await table.write(jobOps('compaction', job, clock() + WATCH_MS, { project }));
    const { next, isCut } = await compactor.compact(project);
    if (isCut) return { do: 'more' };
    await table.write(jobOps('compaction', job, next, { project }));
    return { do: 'nothing' };
  },
);
