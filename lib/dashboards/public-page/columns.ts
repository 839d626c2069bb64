/** What the columns of an answer are called where others than members read it. */
import { namesIn } from '../../hogql/tokens.ts';

/**
 * Returns the names of the columns of a query's answer that anybody may read. Of HogQL a column that is no field and has no
 * alias would be called as it is computed, with all values in it: it is called by its place.
 */
export function publicColumns(query: object, columns: readonly unknown[]): readonly string[] {
  const names = columns.map(String);
  if (!('kind' in query) || query.kind !== 'HogQLQuery') return names;
  const known = namesIn('query' in query ? String(query.query) : '');
  const isSaid = (name: string): boolean => known.has(name) || name.split('.').every((part) => known.has(part));
  return names.map((name, at) => (isSaid(name) ? name : `Column ${at + 1}`));
}
