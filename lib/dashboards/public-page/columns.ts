/** What the columns of an answer are called where others than members read it. */
import type { Answer } from '../../insights/kinds/kind.ts';

/**
 * Returns the names of the columns of a query's answer that anybody may read. Of HogQL a column that is no field and has no
 * alias would be called as it is computed, with all values in it: it is called by its place, and so are all where the answer
 * does not tell which these are.
 */
export function publicColumns(query: object, { columns, computed }: Answer): readonly string[] | undefined {
  if (!('kind' in query) || query.kind !== 'HogQLQuery') return columns?.map(String);
  const byPlace = new Set(computed ?? columns?.keys());
  return columns?.map((name, at) => (byPlace.has(at) ? `Column ${at + 1}` : name));
}
