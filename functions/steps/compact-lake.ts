import { jobOps } from '../../lib/jobs/job.ts';
import { askForCompaction, compactionJob } from '../../lib/lake/compaction-job.ts';
import { ranges } from '../../lib/ports/table/keys.ts';
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
    // Whoever has replaced files since it looked has found a job that is gone now, and they are to be removed in time.
    if (next === null && (await table.list(ranges.retiredFiles(project), { limit: 1 })).items.length > 0)
      await askForCompaction(context, project);
    return { do: 'nothing' };
  },
);
