/** The port to who deletes persons of the lake for a request. */
import { pause } from '../../basics/pause.ts';
import type { Context } from '../../ports/context.ts';
import { fail } from '../../ports/errors.ts';
import { WorkerLost, type WorkerPool } from '../../workers/pool.ts';
import { failFull, LineFull } from '../../workers/turns.ts';
import type { Deletion } from './delete-person.ts';
import { askForDeletion, type PersonDeletions, recordDeletion } from './person-deletions.ts';

export interface PersonRemoval {
  /**
   * Tells of it, and resolves when it is in the lake (`deleted`), or when it will be for certain (`asked`). The first
   * fails with 409 while an import runs, with 429 and 503 when there is too much to do.
   */
  remove(deletion: Deletion, organization: string, user?: string): Promise<'deleted' | 'asked'>;
}

/** Has persons deleted by a job: no request could wait for it. */
export const askedPersonRemoval = (context: Pick<Context, 'table' | 'clock' | 'newId'>): PersonRemoval => ({
  remove: async (deletion) => {
    await askForDeletion(context, deletion);
    return 'asked';
  },
});

/** Captured events take turns with deletions: each landing has the project for less than a second. */
const ATTEMPTS = 20;
const PAUSE_MS = 250;

/**
 * Deletes by a pool whose workers have the task `delete-now`. What takes more than one write, that of events too, is
 * recorded: once it has begun a job finishes it, whatever becomes of the worker, who is lost where it takes too long for a
 * request (`asked`), and of this process.
 */
export const pooledPersonRemoval = (
  pool: Pick<WorkerPool, 'run'>,
  context: Pick<Context, 'table' | 'clock' | 'newId'>,
  pauseMs = PAUSE_MS,
): PersonRemoval => ({
  remove: async (deletion, owner, user) => {
    const isLong = deletion.persons.some(({ withEvents }) => withEvents === true);
    const forget = isLong ? await recordDeletion(context, deletion) : async () => {};
    for (let attempt = 1; ; attempt += 1) {
      try {
        await pool.run({ name: 'delete-now', input: deletion, owner, user });
        await forget();
        return 'deleted';
      } catch (error) {
        // It is recorded, so nobody has to ask again.
        if (error instanceof WorkerLost && isLong) return 'asked';
        if (error instanceof WorkerLost)
          fail('unavailable', 'The person could not be deleted at the moment. Try again later.');
        const isBusy = (error as Error).name === 'ImportUnderWay';
        if (isBusy && attempt < ATTEMPTS) {
          await pause(pauseMs);
          continue;
        }
        if (isBusy || error instanceof LineFull) await forget();
        if (isBusy) fail('conflict', 'Events are being imported into the project. Try again when that has ended.');
        if (error instanceof LineFull) failFull('Too many persons wait to be deleted.');
        throw error;
      }
    }
  },
});

/** Finishes deletions by a pool whose workers have the task `walk-deletions`. */
export const pooledPersonDeletions = (pool: Pick<WorkerPool, 'run'>): PersonDeletions => ({
  walk: async (projectId) =>
    (await pool.run({ name: 'walk-deletions', input: projectId, owner: String(projectId) })) as boolean,
});
