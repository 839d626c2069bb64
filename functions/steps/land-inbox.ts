import { HOUR_MS, MINUTE_MS } from '../../lib/basics/units.ts';
import { LANDING_JOB, LATE_LANDING_JOB, LATEST_MS, QUIET_MS } from '../../lib/capture/landing.ts';
import { aboutOf, type JobItem, jobOps } from '../../lib/jobs/job.ts';
import { keys } from '../../lib/ports/table/keys.ts';
import type { Op } from '../../lib/ports/table/table.ts';
import { untilWritten } from '../../lib/ports/table/until-written.ts';
import type { WalkOutput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** The job waits so long while its machine lands, to start it again if it dies and nobody is told of that. */
const WATCH_MS = HOUR_MS;
/** How often it is looked for what comes late. */
const LATE_MS = HOUR_MS;

interface Quiet {
  readonly quietSince: number;
  /** It is looked for what comes late alone: nobody has asked. */
  readonly isLate: boolean;
}

/** Lands what waits in the inbox, and sets when that is looked at again. */
export const handler = step('land-inbox', async (_input: unknown, context): Promise<WalkOutput> => {
  const { table, clock, landing } = context;
  if (landing === null) throw new Error('nobody lands here');
  /** Puts the one job of the two anew that `next` says, told how quiet it was; who asks for a landing meanwhile is heard. */
  const put = (next: (quiet: Quiet) => Quiet & { readonly due: number | null }) =>
    untilWritten(async () => {
      const [asked, late] = await table.many([keys.job('landing', LANDING_JOB), keys.job('landing', LATE_LANDING_JOB)]);
      const job = asked ?? late;
      const quietSince = job === undefined ? clock() : aboutOf('landing', job).quietSince;
      const { due, isLate, ...about } = next({ quietSince, isLate: job !== undefined && job === late });
      const ops = (id: string, at: number | null, before: JobItem | undefined): Op[] =>
        jobOps('landing', id, at, about).map((op) => ({ ...op, if: { is: { about: before?.about ?? null } } }));
      await table.write([
        ...ops(LANDING_JOB, isLate ? null : due, asked),
        ...ops(LATE_LANDING_JOB, isLate ? due : null, late),
      ]);
    });
  await put((quiet) => ({ ...quiet, due: clock() + (quiet.isLate ? LATE_MS : WATCH_MS) }));
  const { found, isCut } = await landing.walk();
  if (isCut) return { do: 'more' };
  await put((quiet) => {
    const quietSince = found > 0 ? clock() : quiet.quietSince;
    const quietMs = clock() - quietSince;
    if (quietMs < QUIET_MS) return { quietSince, isLate: false, due: clock() + MINUTE_MS };
    return { quietSince, isLate: true, due: quietMs < LATEST_MS ? clock() + LATE_MS : null };
  });
  return { do: 'nothing' };
});
