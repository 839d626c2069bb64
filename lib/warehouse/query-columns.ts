/** The columns of a query: which fields of the rows they are, and which of these a warehouse must compute first. */
import type { QueryColumn, Selected } from '../hogql/expression.ts';
import { EVENTS_TABLE } from '../lake/events-table.ts';
import type { Column } from './columns.ts';

/** A column that is no field of the lake: the warehouse gives it this name in its rows. */
interface Computed {
  readonly field: string;
  readonly column: Selected;
}

const fieldNames = new Map([...EVENTS_TABLE].map(([field, { column }]) => [column, field]));

/** The field of the rows that a column of a query, the n-th of its list, is made of. */
const fieldOf = ({ expression }: Selected, n: number): string =>
  ('column' in expression ? fieldNames.get(expression.column) : undefined) ?? computedField(n);

const computedField = (n: number): string => `query_${n}`;

/** What a warehouse adds to the lake's columns. */
export const computedColumns = (select: readonly QueryColumn[] | null): Computed[] =>
  (select ?? []).flatMap((one, n) =>
    'all' in one || 'column' in one.expression ? [] : [{ field: computedField(n), column: one }],
  );

/** The lake's columns that are delivered as they are; null: all may be. */
export function plainColumns(select: readonly QueryColumn[] | null): ReadonlySet<string> | null {
  const plain = new Set<string>();
  for (const one of select ?? []) {
    if ('all' in one) return null;
    if ('column' in one.expression) plain.add(one.expression.column);
  }
  return select === null ? null : plain;
}

/**
 * The columns that are delivered: those of the query, in its order. `*` stands for the defaults; a column that the query
 * names besides takes the place of the default of its name.
 */
export function deliveredColumns(
  select: readonly QueryColumn[] | null,
  defaults: readonly Column[],
): readonly Column[] {
  if (select === null) return defaults;
  const named = new Set(select.flatMap((one) => ('all' in one ? [] : [one.name.toLowerCase()])));
  return select.flatMap((one, n): readonly Column[] => {
    if ('all' in one) return defaults.filter(({ name }) => !named.has(name.toLowerCase()));
    return [{ name: one.name, type: one.type, field: fieldOf(one, n) }];
  });
}
