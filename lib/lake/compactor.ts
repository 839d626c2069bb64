/** The port to who joins a project's files, which needs a processor and memory of its own. */
import type { WorkerPool } from '../workers/pool.ts';
import type { CompactionReport } from './compact.ts';

export interface Compactor {
  /** Walks through the files of a project once, for ten minutes at most. */
  compact(projectId: number): Promise<CompactionReport>;
}

/** Joins by a pool whose workers have the task `compact`. */
export const pooledCompactor = (pool: Pick<WorkerPool, 'run'>): Compactor => ({
  compact: async (projectId) =>
    (await pool.run({ name: 'compact', input: projectId, owner: String(projectId) })) as CompactionReport,
});
