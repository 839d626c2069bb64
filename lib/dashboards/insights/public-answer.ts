/** What others than members may see of an insight's answer. */
import { shownQuery } from '../../charts/describe/read.ts';
import { parseJson } from '../../http/json.ts';
import type { Answer } from '../../insights/kinds/kind.ts';
import { traitsOf } from '../../insights/kinds/traits.ts';
import type { InsightItem } from '../../insights/model.ts';

/** Returns whether an insight's answer is rows about persons, which are not shown to strangers. */
export const isPersonal = ({ query }: Pick<InsightItem, 'query'>): boolean =>
  query !== null && traitsOf(shownQuery(parseJson(query))['kind']).isAboutPersons;

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
