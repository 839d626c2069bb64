/** Properties that have columns of their own: a query that reads them in a document is made to read their columns. */
import type { Expression, QueryField, Source, WholeQuery } from './expression.ts';
import { nodesOf } from './facts.ts';

interface PropertyColumns {
  /** The table whose rows have the columns. */
  readonly table: string;
  /** The column of the document. */
  readonly document: string;
  /** The column of a property, which holds what `property_value` gives of it; undefined: it has none. */
  readonly columnOf: (property: string) => string | undefined;
}

type Operation = Extract<Expression, { operator: unknown }>;
type TableSource = Extract<Source, { table: unknown }>;

/** Returns the query with columns in place of properties; its answer is the same. */
export function withPropertyColumns(query: WholeQuery, { table, document, columnOf }: PropertyColumns): WholeQuery {
  const tables = nodesOf(query)
    .values()
    .filter((node: Partial<TableSource>) => node.table === table);
  const relations = new Set(tables.map(({ as }: Partial<TableSource>) => as));
  /** What each object has become: a tree has expressions in it more than once. */
  const made = new Map<object, unknown>();

  const columnFor = (node: object): QueryField | undefined => {
    const { operator, of, with: parameters } = node as Partial<Operation>;
    const [read] = of ?? [];
    const [property, ...below] = parameters?.path ?? [];
    if (operator !== 'property_value' || typeof property !== 'string' || below.length > 0) return undefined;
    if (!(read && 'column' in read && read.column === document && relations.has(read.relation))) return undefined;
    const column = columnOf(property);
    return column === undefined ? undefined : { ...read, column, type: 'text' };
  };

  const replaced = (node: unknown): unknown => {
    if (!isObject(node)) return node;
    const known = made.get(node);
    if (known !== undefined) return known;
    const copy: unknown = Array.isArray(node)
      ? node.map(replaced)
      : (columnFor(node) ?? Object.fromEntries(Object.entries(node).map(([name, value]) => [name, replaced(value)])));
    made.set(node, copy);
    return copy;
  };

  return replaced(query) as WholeQuery;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
