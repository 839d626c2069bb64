/** The port to who joins a project's files, which needs a processor and memory of its own. */
import { MINUTE_MS } from '../basics/units.ts';
import type { WorkerPool } from '../workers/pool.ts';
import type { CompactionReport } from './compact.ts';

export interface Compactor {
  /** Walks through the files of a project once, for ten minutes at most; or tells when to ask again, having done nothing. */
  compact(projectId: number): Promise<CompactionReport>;
}

interface PooledCompactorOptions {
  /** Whether rows are being delivered. What is joined can wait for these, which need the same memory. */
  readonly isDelivering: () => boolean;
  readonly clock: () => number;
}

/** So long a project's files wait for deliveries at most. */
const PATIENCE_MS = 15 * MINUTE_MS;

/** Joins by a pool whose workers have the task `compact`. */
export const pooledCompactor = (
  pool: Pick<WorkerPool, 'run'>,
  { isDelivering, clock }: PooledCompactorOptions,
): Compactor => {
  /** Since when projects have waited, milliseconds since 1970. */
  const waiting = new Map<number, number>();
  return {
    compact: async (projectId) => {
      const now = clock();
      const since = waiting.get(projectId) ?? now;
      if (isDelivering() && now - since < PATIENCE_MS) {
        waiting.set(projectId, since);
        return { joined: 0, next: now + MINUTE_MS, isCut: false };
      }
      waiting.delete(projectId);
      return (await pool.run({ name: 'compact', input: projectId, owner: String(projectId) })) as CompactionReport;
    },
  };
};
