import { MINUTE_MS } from '../../../../lib/basics/units.ts';
import { lakeDatabases } from '../../../../lib/lake/databases.ts';
import { type PersonDeletions, walkDeletions } from '../../../../lib/lake/import/person-deletions.ts';
import type { Publishing } from '../../../../lib/lake/lease.ts';

/** The function has 15 minutes: what is begun last has five. */
const WALK_MS = 10 * MINUTE_MS;

/** Who deletes persons, in the one function that does: with DuckDB, on the function's own disk. */
export const personDeletions = (context: Publishing): PersonDeletions => {
  const writing = { ...context, databases: lakeDatabases(context.lake) };
  return { walk: (project) => walkDeletions(writing, project, { until: context.clock() + WALK_MS }) };
};
