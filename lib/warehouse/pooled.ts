/** The warehouse of one machine as the service sees it: rows are selected, and their bytes formed, by worker processes. */
import type { Interval } from '../lake/intervals.ts';
import { collectBuffersRarely } from '../workers/buffers.ts';
import type { Task, WorkerPool } from '../workers/pool.ts';
import { filesOf } from './duckdb.ts';
import { type Form, type FrozenPlan, NEXT_FILE, type Warehouse } from './warehouse.ts';

/** What a worker is asked for; `form` only when the rows are read. */
export interface RowsWanted {
  readonly plan: FrozenPlan;
  readonly interval: Interval;
  readonly form?: Form;
}

/** A warehouse over a pool whose workers run `row-worker.ts`. An interval is a subject of the pool. */
export function pooledWarehouse(pool: WorkerPool): Warehouse {
  collectBuffersRarely();

  return {
    unload: () => Promise.resolve(null),
    count: async (plan, interval, signal) => {
      signal.throwIfAborted();
      if (filesOf(plan, interval).length === 0) return 0;
      return (await pool.run(task('count', plan, interval, signal))) as number;
    },
    read: async function* (plan, interval, form, signal) {
      for await (const bytes of pool.stream(task('read', plan, interval, signal, form)))
        yield bytes.length === 0 ? NEXT_FILE : bytes;
    },
  };
}

function task(name: string, plan: FrozenPlan, interval: Interval, signal: AbortSignal, form?: Form): Task {
  const own = { ...plan, files: filesOf(plan, interval), intervals: [interval] };
  const input: RowsWanted = { plan: own, interval, ...(form && { form }) };
  return { name, input, owner: plan.organizationId, subject: `${plan.attempt} ${interval.start}`, signal };
}
