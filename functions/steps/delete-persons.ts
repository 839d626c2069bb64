import { HOUR_MS } from '../../lib/basics/units.ts';
import { aboutOf, jobOps } from '../../lib/jobs/job.ts';
import { personDeletionJob } from '../../lib/lake/import/person-deletions.ts';
import { keys } from '../../lib/ports/table/keys.ts';
import { tryWrite } from '../../lib/ports/table/until-written.ts';
import type { ProjectInput, WalkOutput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** The job waits so long while its machine walks, to start it again if it dies. */
const WATCH_MS = HOUR_MS;

/** Deletes the persons of a project who were asked to be. Its job ends when none was asked for since it looked. */
export const handler = step('delete-persons', async ({ project }: ProjectInput, context): Promise<WalkOutput> => {
  const { table, clock, personDeletions } = context;
  if (personDeletions === null) throw new Error('nobody deletes persons here');
  const id = personDeletionJob(project);
  const job = await table.get(keys.job('deletion', id));
  if (job === undefined) return { do: 'nothing' };
  await table.write(jobOps('deletion', id, clock() + WATCH_MS, aboutOf('deletion', job)));
  if (await personDeletions.walk(project)) return { do: 'more' };
  const isDone = await tryWrite(table, [{ remove: keys.job('deletion', id), if: { is: { about: job.about } } }]);
  return { do: isDone ? 'nothing' : 'more' };
});
