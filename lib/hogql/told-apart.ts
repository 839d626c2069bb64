/** Columns whose values a query only tells apart: any other values do as well for it, as numbers do for texts. */
import { getOrMake } from '../basics/maps.ts';
import type { Expression, Join, Query, QueryField, Select, Source, WholeQuery } from './expression.ts';

/** What compares two values, or a value with none. */
const COMPARE: ReadonlySet<string> = new Set(['equal', 'same', 'is_null']);

/**
 * Whether a query asks of a table's column only which of its values are the same: it groups, joins and counts by them, and
 * neither answers with one, nor puts them in order, nor makes anything of them.
 */
export function onlyTellsApart(whole: WholeQuery, table: string, column: string): boolean {
  /** The columns that hold values of the column, by relation. */
  const holding = new Map<string, Set<string>>();
  const named = new Map<string, readonly boolean[]>();
  const seen = new Set<object>();
  let isOnly = true;

  const hold = (relation: string, name: string): void => {
    getOrMake(holding, relation, () => new Set()).add(name);
  };
  const holds = (expression: Expression): expression is QueryField =>
    'column' in expression && holding.get(expression.relation ?? '')?.has(expression.column) === true;

  /** Looks at what may use values in any way: none of the column may be in it, but where they are told apart. */
  const use = (node: unknown): void => {
    if (typeof node !== 'object' || node === null || seen.has(node)) return;
    seen.add(node);
    if (isQuery(node)) {
      if (columnsOf(node).includes(true)) isOnly = false;
    } else if (isExpression(node) && holds(node)) isOnly = false;
    else if (!(isExpression(node) && 'operator' in node && COMPARE.has(node.operator) && node.of.every(holds)))
      Object.values(node).forEach(use);
  };
  const tellApart = (expression: Expression): void => {
    if (!holds(expression)) use(expression);
  };

  const source = (from: Source): void => {
    if ('table' in from) {
      if (from.table === table) hold(from.as, column);
      return;
    }
    const columns = 'query' in from ? columnsOf(from.query) : (named.get(from.named) ?? []);
    for (const [n, isHeld] of columns.entries()) if (isHeld) hold(from.as, `c${n}`);
  };
  const join = ({ source: from, on }: Join): void => {
    source(from);
    use(on);
  };

  /** Returns which columns of a query hold values of the column. */
  const columnsOf = (query: Query): readonly boolean[] => {
    if ('columns' in query) return ofSelect(query);
    const [first = [], ...rest] = query.union.map(columnsOf);
    if (rest.some((columns) => columns.some((isHeld, n) => isHeld !== first[n]))) isOnly = false;
    return first;
  };

  const ofSelect = ({ from, joins, unnest, where, group, having, windows, ...select }: Select): readonly boolean[] => {
    if (from) source(from);
    joins.forEach(join);
    use(unnest?.list);
    use(where);
    for (const [n, key] of (group?.keys ?? []).entries()) {
      if (holds(key)) hold(group?.as ?? '', `k${n}`);
      else use(key);
    }
    for (const { aggregate, of, where: counted, by } of group?.aggregates ?? []) {
      of.forEach(aggregate === 'count_distinct' ? tellApart : use);
      use(counted);
      use(by);
    }
    group?.joins.forEach(join);
    use(having);
    for (const { partition, of, order } of windows?.all ?? []) {
      partition.forEach(tellApart);
      use(of);
      use(order);
    }
    use(select.order);
    select.limitBy?.of.forEach(tellApart);
    return select.columns.map(({ expression }) => {
      tellApart(expression);
      return holds(expression);
    });
  };

  for (const { name, query } of whole.with) named.set(name, columnsOf(query));
  return !columnsOf(whole.query).includes(true) && isOnly;
}

const isQuery = (node: object): node is Query => 'union' in node || ('columns' in node && 'joins' in node);
const isExpression = (node: object): node is Expression => 'column' in node || 'operator' in node;
