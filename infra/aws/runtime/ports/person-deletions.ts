import { lakeDatabases } from '../../../../lib/lake/databases.ts';
import { type PersonDeletions, walkDeletions } from '../../../../lib/lake/import/person-deletions.ts';
import type { Publishing } from '../../../../lib/lake/lease.ts';
import { WALK_MS } from '../timeouts.ts';

/** Who deletes persons, in the one function that does: with DuckDB, on the function's own disk. */
export const personDeletions = (context: Publishing): PersonDeletions => {
  const writing = { ...context, databases: lakeDatabases(context.lake) };
  return { walk: (project) => walkDeletions(writing, project, { until: context.clock() + WALK_MS }) };
};
