import { compact } from '../../../../lib/lake/compact.ts';
import type { Compactor } from '../../../../lib/lake/compactor.ts';
import { lakeDatabases } from '../../../../lib/lake/databases.ts';
import type { Publishing } from '../../../../lib/lake/lease.ts';
import { WALK_MS } from '../timeouts.ts';

/** Who joins files, in the one function that does: with DuckDB, on the function's own disk. */
export const compactor = (context: Publishing): Compactor => {
  const writing = { ...context, databases: lakeDatabases(context.lake) };
  return { compact: (project) => compact(writing, project, { until: context.clock() + WALK_MS }) };
};
