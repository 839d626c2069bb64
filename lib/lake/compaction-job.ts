import { MINUTE_MS } from '../basics/units.ts';
import { jobOps } from '../jobs/job.ts';
import type { Context } from '../ports/context.ts';
import { ranges } from '../ports/table/keys.ts';

/** The id of the job that has a project's files joined. */
export const compactionJob = (projectId: number): string => `lake-${projectId}`;

/** Sets when a project's files are joined; null: no more, unless files that were replaced are still to be removed. */
export async function setCompaction(
  context: Pick<Context, 'table' | 'clock'>,
  project: number,
  at: number | null,
): Promise<void> {
  const { table } = context;
  await table.write(jobOps('compaction', compactionJob(project), at, { project }));
  // Whoever has replaced files while this was found out has found a job that is gone now.
  if (at === null && (await table.list(ranges.retiredFiles(project), { limit: 1 })).items.length > 0)
    await askForCompaction(context, project);
}

/** Has a project's files joined a minute from now, unless that is to come already. What fails here the next batch does. */
export async function askForCompaction(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  project: number,
): Promise<void> {
  const [job] = jobOps('compaction', compactionJob(project), clock() + MINUTE_MS, { project });
  if (job !== undefined) await table.write([{ ...job, if: 'absent' }]).catch(() => {});
}
