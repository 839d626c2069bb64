import { jobOps } from '../jobs/job.ts';
import type { Context } from '../ports/context.ts';
import { MINUTE_MS } from '../ports/units.ts';

/** The id of the job that has a project's files joined. */
export const compactionJob = (projectId: number): string => `lake-${projectId}`;

/** Has a project's files joined a minute from now, unless that is to come already. What fails here the next batch does. */
export async function askForCompaction(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  project: number,
): Promise<void> {
  const [job] = jobOps('compaction', compactionJob(project), clock() + MINUTE_MS, { project });
  if (job !== undefined) await table.write([{ ...job, if: 'absent' }]).catch(() => {});
}
