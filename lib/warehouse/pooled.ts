/** The warehouse of one machine as the service sees it: rows are selected, and their bytes formed, by worker processes. */
import type { Interval } from '../lake/intervals.ts';
import { collectBuffersRarely } from '../workers/buffers.ts';
import type { PoolTask, WorkerPool } from '../workers/pool.ts';
import { type ReadAheadOptions, readAhead } from '../workers/read-ahead.ts';
import { batched } from './batches.ts';
import { type AllWanted, type BatchWarehouse, filesOf } from './duckdb.ts';
import { filesAhead } from './files-ahead.ts';
import { formedFiles, piecesOf } from './parts.ts';
import type { Form, FrozenPlan, LineForm, ParquetForm, Warehouse } from './warehouse.ts';

/** What a worker is asked for, of an interval. */
export interface RowsWanted {
  readonly plan: FrozenPlan;
  readonly interval: Interval;
}

/** As lines. */
export interface LinesWanted extends RowsWanted {
  readonly form: LineForm;
}

/** As files. */
export interface FilesWanted extends RowsWanted {
  readonly form: ParquetForm;
}

/** The same for several intervals. */
export type CountsWanted = Pick<AllWanted, 'plan' | 'intervals'>;

/**
 * A warehouse over a pool whose workers run `row-worker.ts`. Rows are read ahead of a destination that is slow: it does not
 * keep a worker's turn from others. An interval is a subject of the pool; so is all that is read together of a batch, which
 * after one death is read apart, so that only the interval that it was for dies again.
 */
export function pooledWarehouse(pool: Pick<WorkerPool, 'run' | 'stream'>, ahead: ReadAheadOptions): Warehouse {
  collectBuffersRarely();

  const source: BatchWarehouse = {
    unload: () => Promise.resolve(null),
    count: async (plan, interval, signal) => {
      signal.throwIfAborted();
      if (filesOf(plan, interval).length === 0) return 0;
      return (await pool.run(task('count', plan, interval, signal))) as number;
    },
    read: async function* (plan, interval, form, signal) {
      const rows = readAhead((until) => pool.stream(task('read', plan, interval, until, form)), signal, ahead);
      yield* piecesOf(rows, form);
    },
    files: (plan, interval, form, signal) =>
      filesAhead((until) => formedFiles(pool.stream(task('files', plan, interval, until, form))), signal, ahead),
    counts: async (plan, intervals, signal) =>
      (await pool.run(together('counts', { plan: within(plan, intervals), intervals }, signal))) as number[],
    readAll: async function* (wanted, signal) {
      const plan = within(wanted.plan, wanted.intervals);
      yield* pool.stream(together('read-all', { ...wanted, plan }, signal));
    },
  };
  return batched(source);
}

/** Returns the plan with what concerns these intervals alone. */
const within = (plan: FrozenPlan, intervals: readonly Interval[]): FrozenPlan => {
  const [start, end] = [intervals[0]?.start ?? 0, intervals.at(-1)?.end ?? 0];
  return { ...plan, files: filesOf(plan, { start, end }), intervals };
};

function task(name: string, plan: FrozenPlan, interval: Interval, signal: AbortSignal, form?: Form): PoolTask {
  const input = { plan: within(plan, [interval]), interval, ...(form && { form }) } satisfies RowsWanted;
  return { name, input, owner: plan.organizationId, subject: `${plan.attempt} ${interval.start}`, signal };
}

function together(name: string, input: CountsWanted | AllWanted, signal: AbortSignal): PoolTask {
  const { organizationId: owner, attempt } = input.plan;
  return { name, input, owner, subject: `${attempt} together`, mostDeaths: 1, signal };
}
