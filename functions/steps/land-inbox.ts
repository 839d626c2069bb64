import { LANDING_JOB, QUIET_MS } from '../../lib/capture/landing.ts';
import { aboutOf, jobOps } from '../../lib/jobs/job.ts';
import { keys } from '../../lib/ports/table/keys.ts';
import { untilWritten } from '../../lib/ports/table/until-written.ts';
import { HOUR_MS, MINUTE_MS } from '../../lib/ports/units.ts';
import type { LandingInput, LandingOutput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** The job waits so long while its machine lands, to start it again if it dies. */
const WATCH_MS = HOUR_MS;

/** Lands what waits in the inbox, and sets when that is looked at again. */
export const handler = step('land-inbox', async (_input: LandingInput, context): Promise<LandingOutput> => {
  const { table, clock, landing } = context;
  if (landing === null) throw new Error('nobody lands here');
  /** Puts the job anew, told what became of `quietSince`; who asks for a landing meanwhile is heard. */
  const put = (next: (quietSince: number) => { readonly due: number | null; readonly quietSince: number }) =>
    untilWritten(async () => {
      const job = await table.get(keys.job('landing', LANDING_JOB));
      const { due, quietSince } = next(job === undefined ? clock() : aboutOf('landing', job).quietSince);
      const unchanged = { is: { about: job?.about ?? null } };
      await table.write(jobOps('landing', LANDING_JOB, due, { quietSince }).map((op) => ({ ...op, if: unchanged })));
    });
  await put((quietSince) => ({ due: clock() + WATCH_MS, quietSince }));
  const { found, isCut } = await landing.walk();
  if (isCut) return { do: 'more' };
  await put((before) => {
    const quietSince = found > 0 ? clock() : before;
    return { due: clock() - quietSince < QUIET_MS ? clock() + MINUTE_MS : null, quietSince };
  });
  return { do: 'nothing' };
});
