/** The port to who lands what waits in the inbox, where a job has it landed; and that job. */

import { HOUR_MS, MINUTE_MS } from '../basics/units.ts';
import { askForJob, hurryJob } from '../jobs/job.ts';
import type { Context } from '../ports/context.ts';

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
/** The job that stands for it after `QUIET_MS`: it looks each hour for what comes late. */
export const LATE_LANDING_JOB = 'late';

/** A request is in the inbox's bucket a minute or two after it was kept; for so long after a quiet landing it is looked. */
export const QUIET_MS = 15 * MINUTE_MS;
/** A delivery stream that cannot write tries for 24 hours (AWS): what it had taken may come so long after. */
export const LATEST_MS = 25 * HOUR_MS;

/** After an execution that has broken: has another one begin about a minute from now, if one is to begin at all. */
export async function landAgain({ table, clock }: Pick<Context, 'table' | 'clock'>): Promise<void> {
  for (const id of [LANDING_JOB, LATE_LANDING_JOB]) await hurryJob(table, 'landing', id, clock() + MINUTE_MS);
}

/**
 * Has what is kept landed: about a minute from now, and each minute until for `QUIET_MS` nothing has come and nobody has
 * asked; then each hour, until that has been so for `LATEST_MS`. Whoever has asked a minute ago need not ask again.
 */
export const askForLanding = ({ table, clock }: Pick<Context, 'table' | 'clock'>): Promise<void> =>
  askForJob(table, {
    kind: 'landing',
    id: LANDING_JOB,
    due: clock() + MINUTE_MS,
    about: { quietSince: clock() },
  });
