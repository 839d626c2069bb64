import type { Context } from '../../lib/ports/context.ts';
import type { FunctionOutcome, FunctionTask } from '../../lib/workers/function-pool.ts';

/** Does a task over the lake for somebody who waits for it. Only the service's own functions may call it. */
export const handler =
  ({ lakeWorker }: Pick<Context, 'lakeWorker'>) =>
  (task: FunctionTask): Promise<FunctionOutcome> => {
    if (lakeWorker === null) throw new Error('nobody reads the lake here');
    return lakeWorker.run(task);
  };
