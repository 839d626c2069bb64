/** The port to who lands what waits in the inbox, where a job has it landed; and that job. */
import { jobOps } from '../jobs/job.ts';
import type { Context } from '../ports/context.ts';
import { isWritten } from '../ports/table/until-written.ts';
import { MINUTE_MS } from '../ports/units.ts';

export interface Landing {
  /** Lands pass by pass, until nothing waits or its time is over. */
  walk(): Promise<LandingWalk>;
}

interface LandingWalk {
  /** Segments of the inbox that it found when it began. */
  readonly found: number;
  /** Its time was over: more waits. */
  readonly isCut: boolean;
}

/** The one job: there is one inbox. */
export const LANDING_JOB = 'inbox';

/** A request is in the inbox's bucket a minute or two after it was kept; for so long after a quiet landing it is looked. */
export const QUIET_MS = 15 * MINUTE_MS;

/**
 * Has what is kept landed: about a minute from now, and each minute until nothing has come for `QUIET_MS`. Whoever has
 * asked a minute ago need not ask again.
 */
export async function askForLanding({ table, clock }: Pick<Context, 'table' | 'clock'>): Promise<void> {
  const [job] = jobOps('landing', LANDING_JOB, clock() + MINUTE_MS, { quietSince: clock() });
  if (job === undefined) return;
  await isWritten(table, [{ ...job, if: 'absent' }]);
}
