/** The reader of one machine as the service sees it: rows are read by worker processes. */
import { Damaged, fail, Permanent } from '../ports/errors.ts';
import { WorkerLost, type WorkerPool } from '../workers/pool.ts';
import { failFull, LineFull } from '../workers/turns.ts';
import type { Reader, ReadRows } from './reader.ts';

/** Reads by a pool whose workers run `row-worker.ts`. */
export const pooledReader = (pool: Pick<WorkerPool, 'run'>): Reader => ({
  read: async (reading, { organization: owner, user, signal }) => {
    try {
      return (await pool.run({ name: 'look', input: reading, owner, user, signal })) as ReadRows;
    } catch (error) {
      if (error instanceof LineFull) failFull('Too many requests of your organization, or of you, are waiting.');
      if (error === signal.reason && (error as Error).name === 'TimeoutError') tooMuch('more time');
      if (error instanceof WorkerLost && error.loss === 'silence') tooMuch('more time');
      if (error instanceof Damaged || !(error instanceof Permanent || error instanceof WorkerLost)) throw error;
      return tooMuch('more memory');
    }
  },
});

const tooMuch = (what: string): never =>
  fail(
    'unavailable',
    `Reading this takes ${what} than one request may have. Ask for less: a shorter time, a filter, or a smaller limit.`,
  );
