/** From syntax to the checked tree of a whole SELECT: every name, type, group and window of it is known after this. */
import { converted, isNothing, operation, unified } from '../build.ts';
import { expression, refuseParts, type Scope } from '../check.ts';
import { clickhouseType } from '../clickhouse-types.ts';
import { type Clock, withClock } from '../clock.ts';
import type { Column, Expression, Join, Select, Type, WholeQuery } from '../expression.ts';
import { condition, mayBeBoolean } from '../functions/values.ts';
import { refuse, within } from '../refusal.ts';
import { withPlaces } from '../row-order.ts';
import { columnOf } from '../size.ts';
import { isA, isQuery, type SelectQuery, type SelectSetQuery, type Syntax, tupleOf } from '../syntax.ts';
import { hasAggregate } from './calls.ts';
import { columnsOf } from './columns.ts';
import { addKey, checkLoose, inOrder, isOfOrder, keyOf } from './groups.ts';
import { limitByOf, limits } from './limits.ts';
import { heldIn, type Making, type Relation, type Stage } from './making.ts';
import { orderOf, varying } from './order.ts';
import { ofWindows } from './over.ts';
import { scopeOf } from './scope.ts';
import { nothingSelected, sourcesOf } from './sources.ts';
import { type Checked, type Named, relationName, type TableFields, type Whole, weigh } from './whole.ts';

/** What a query may read, and how. */
export interface Language extends Clock {
  readonly tables: ReadonlyMap<string, TableFields>;
}

/** A query that may be run. */
export interface CheckedSelect {
  readonly query: WholeQuery;
  readonly columns: readonly Pick<Column, 'name' | 'type' | 'clickhouse'>[];
  /** The places, from 0, of columns that are neither field nor alias: all values of theirs are in their names. */
  readonly computed: readonly number[];
  /** The tables that are read, by name, and their columns. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>;
}

const MAX_COLUMNS = 1000;

/** Nodes of syntax that are looked at. */
const MAX_VISITS = 200_000;

/** Returns the checked tree of a query. Throws a `Refusal` that names what is in the way. */
export function checkedSelect(syntax: Syntax, language: Language): CheckedSelect {
  return withClock(language, () => {
    const whole: Whole = {
      tables: language.tables,
      read: new Map(),
      relations: 0,
      sources: 0,
      windows: 0,
      weight: 0,
      visits: { now: 0, all: 0, most: MAX_VISITS },
      named: [],
      among: new Map(),
      ids: new Map(),
      idOf: new WeakMap(),
      names: new WeakMap(),
      computed: new Set(),
      check: (inner, named) => checkedQuery(inner, named, whole),
    };
    const { query, columns } = checkedQuery(syntax, new Map(), whole, true);
    const computed = columns.flatMap(({ name }, at) => (whole.computed.has(name) ? [at] : []));
    return { query: { with: whole.named, query }, columns, computed, tables: whole.read };
  });
}

/** `isTop`: its rows are the answer. What is refused of all of it has no place then. */
function checkedQuery(syntax: Syntax, named: Named, whole: Whole, isTop = false): Checked {
  return within(isTop ? {} : syntax, () => {
    if (!isQuery(syntax)) return refuse('A query begins with SELECT');
    return syntax.node === 'SelectQuery'
      ? checkedOne(syntax, named, whole, isTop)
      : checkedUnion(syntax, named, whole, isTop);
  });
}

function checkedUnion(syntax: SelectSetQuery, named: Named, whole: Whole, isTop: boolean): Checked {
  const { initial_select_query: first, subsequent_select_queries: rest } = syntax;
  for (const { set_operator: operator, select_query: one } of rest)
    if (operator !== 'UNION ALL') within(one, () => refuse(`${operator} is not supported; there is UNION ALL`));
  if (syntax.order_by?.length) refuse('ORDER BY of a UNION is not supported; put the UNION into a subquery');
  // What the first names, those behind it may name too.
  const around = isA(first, 'SelectQuery') ? withNamed(first, named, whole) : named;
  const all = [first, ...rest.map((one) => one.select_query)].map((one) => checkedQuery(one, around, whole, isTop));
  const [head, ...others] = all as [Checked, ...Checked[]];
  for (const one of others)
    if (one.columns.length !== head.columns.length) refuse('The queries of a UNION ALL have as many columns each');
  const types = head.columns.map(({ name }, n) => {
    const values = all.map(({ columns }) => (columns[n] as Column).expression);
    return (unified(values, `Column ${name} of a UNION`)[0] as Expression).type;
  });
  const alike = all.map((one) => ofTypes(one, types, whole));
  const columns = head.columns.map((column, n): Column => {
    const values = alike.map((one) => one.columns[n] as Column);
    const nullable = values.find(({ clickhouse }) => clickhouse.startsWith('Nullable('));
    const chosen = nullable ?? values[0] ?? column;
    const [type, { name }] = [types[n] as Type, column];
    if (type !== 'text') return { ...chosen, name, type };
    // As a condition the column may be what any of the queries gives.
    const { expression } = [chosen, ...values].find((one) => mayBeBoolean(one.expression)) ?? chosen;
    return { ...chosen, name, type, expression };
  });
  return { query: { union: alike.map(({ query }) => query), ...limits(syntax) }, columns };
}

/** The query with its columns converted, where they are of other types. */
function ofTypes(checked: Checked, types: readonly Type[], whole: Whole): Checked {
  if (checked.columns.every(({ type }, n) => type === types[n])) return checked;
  const as = relationName(whole);
  const columns = checked.columns.map((column, n): Column => {
    const value = isNothing(column.expression)
      ? { constant: null, type: types[n] as Type }
      : converted(columnOf(column.expression, as, `c${n}`), types[n] as Type, column.name);
    return { ...column, type: value.type, expression: value, clickhouse: clickhouseType(value) };
  });
  const query: Select = { from: { query: checked.query, as }, joins: [], columns, distinct: false, order: [] };
  return { query, columns };
}

/** The queries that WITH names, beside those of the query around. */
function withNamed({ ctes }: SelectQuery, named: Named, whole: Whole): Named {
  const all = new Map(named);
  for (const { name, cte_type, columns: renamed, expr } of ctes ?? []) {
    if (renamed) refuse(`Names of columns after ${name} are not supported; give them by AS in its SELECT`);
    if (cte_type !== 'subquery') continue;
    const { query, columns } = checkedQuery(expr, all, whole);
    const known = `q${whole.named.length}`;
    whole.named.push({ name: known, query });
    all.set(name, { name: known, columns });
  }
  return all;
}

/** A part of a query that is no SELECT, refused by its name. */
const CLAUSES: Readonly<Record<string, string>> = {
  array_join_list: 'ARRAY JOIN is not supported; use arrayJoin() in SELECT',
  array_join_op: 'ARRAY JOIN is not supported; use arrayJoin() in SELECT',
  prewhere: 'PREWHERE is not supported; use WHERE',
  qualify: 'QUALIFY is not supported; put the window into a subquery',
  group_by_mode: 'Modes of GROUP BY are not supported',
  limit_with_ties: 'LIMIT WITH TIES is not supported',
};

const PARTS = [
  'node',
  'select',
  'select_from',
  'where',
  'distinct',
  'ctes',
  'group_by',
  'having',
  'order_by',
  'limit',
  'offset',
  'limit_by',
  'window_exprs',
];

function checkedOne(syntax: SelectQuery, outer: Named, whole: Whole, isTop: boolean): Checked {
  refuseParts(syntax, PARTS, CLAUSES);
  const named = withNamed(syntax, outer, whole);
  const joined = syntax.select_from ? sourcesOf(syntax.select_from, named, whole) : [];
  const relations = joined.map(({ relation }) => relation);
  const making = makingOf(syntax, named, relations, whole);
  const rows = scopeOf(making, 'rows');
  const groups = scopeOf(making, making.group === undefined ? 'rows' : 'groups', true);
  const joins = joined.slice(1).map(({ kind, on, source }, n): Join => {
    // The condition of a join reads what stands before it.
    const before = { ...making, relations: relations.slice(0, n + 2), aliases: new Map(), values: undefined };
    const checked = conditionOf(on, 'ON', scopeOf(before, 'rows'));
    return { kind, source, ...(checked && { on: checked }) };
  });
  const keys = keysIn(syntax).map((one) => keyOf(one, syntax, making, rows));
  for (const key of keys) addKey(key, making);
  const where = conditionOf(syntax.where, 'WHERE', rows);
  const selected = syntax.select.map((one) => ({ of: one, columns: columnsOf(one, making, groups) }));
  const columns = selected.flatMap((one) => one.columns);
  if (columns.length > MAX_COLUMNS) refuse(`A query has at most ${MAX_COLUMNS} columns`);
  const having = conditionOf(syntax.having, 'HAVING', scopeOf(making, 'groups'));
  const ordered = (syntax.order_by ?? []).map((one) => ({
    of: one.expr,
    columns: orderOf(one, columns, groups, whole),
  }));
  const order = varying(ordered.flatMap((one) => one.columns));
  const limitBy = syntax.limit_by ? limitByOf(syntax.limit_by, groups) : undefined;
  const distinct = syntax.distinct === true;
  if (distinct && order.some(({ column }) => column === undefined))
    refuse('ORDER BY of a SELECT DISTINCT takes what is selected');
  if (distinct && limitBy !== undefined) refuse('LIMIT BY is not supported beside DISTINCT');

  const { group, unnest, values } = making;
  const [found, windows] = [heldIn(making.aggregates), heldIn(making.windows)];
  const placed =
    joined[0] && found.some(isOfOrder)
      ? withPlaces(joined[0].source, { named: whole.named, relation: () => relationName(whole) })
      : undefined;
  const aggregates = found.map((one) => inOrder(one, placed?.place));
  const behindGroups = [
    ...[...columns, ...order].map((one) => one.expression),
    ...(limitBy?.of ?? []),
    ...present([having]),
    ...ofWindows(windows),
  ];
  if (group !== undefined) {
    for (const { of, columns: some } of [...selected, ...ordered])
      within(of, () =>
        checkLoose(
          some.map(({ expression: one }) => one),
          making,
        ),
      );
    checkLoose(behindGroups, making);
  }
  const beforeGroups = [
    ...present([...joins.map(({ on }) => on), where, unnest?.list]),
    ...keys,
    ...aggregates.flatMap((one) => present([...one.of, one.where])),
  ];
  weigh([...behindGroups, ...beforeGroups], whole);

  const from = placed?.source ?? joined[0]?.source ?? (values.rows.length > 0 ? nothingSelected(whole) : undefined);
  const query: Select = {
    ...(from && { from }),
    joins: [...joins, ...values.rows],
    ...(unnest && { unnest }),
    ...(where && { where }),
    ...(group !== undefined && { group: { keys: heldIn(making.keys), aggregates, as: group, joins: values.groups } }),
    ...(having && { having }),
    ...(windows.length > 0 && { windows: { all: windows, as: making.window } }),
    columns: isTop ? columns.map(finite) : columns,
    distinct,
    order,
    ...(limitBy && { limitBy }),
    ...limits(syntax),
  };
  return { query, columns };
}

/** What rows are grouped by: a tuple by its parts. */
const keysIn = ({ group_by }: SelectQuery): Syntax[] => (group_by ?? []).flatMap((one) => tupleOf(one) ?? [one]);

/** A SELECT of which only its relations are known, and what is named in it. It has groups where an aggregate is called. */
function makingOf(
  syntax: SelectQuery,
  named: Named,
  relations: Relation[],
  whole: Whole,
): Making & { readonly values: Record<Stage, Join[]> } {
  const { select, order_by, group_by, having, window_exprs } = syntax;
  const columnsNamed = (syntax.ctes ?? []).flatMap(({ name, cte_type, expr }) =>
    cte_type === 'column' ? [[name, expr] as const] : [],
  );
  const aliased = [...keysIn(syntax), ...select].flatMap((one) =>
    isA(one, 'Alias') ? [[one.alias, one.expr] as const] : [],
  );
  const isGrouped =
    Boolean(group_by?.length) || Boolean(having) || [select, order_by, columnsNamed].some((one) => hasAggregate(one));
  return {
    whole,
    named,
    relations,
    aliases: new Map([...columnsNamed, ...aliased]),
    windowNames: window_exprs ?? {},
    keys: new Map(),
    aggregates: new Map(),
    windows: new Map(),
    unnest: undefined,
    values: { rows: [], groups: [] },
    group: isGrouped ? relationName(whole) : undefined,
    window: relationName(whole),
  };
}

const conditionOf = (syntax: Syntax | null | undefined, clause: string, scope: Scope): Expression | undefined =>
  syntax ? condition(expression(syntax, scope), clause) : undefined;

const present = (expressions: readonly (Expression | undefined)[]): Expression[] =>
  expressions.filter((one) => one !== undefined);

/** A column whose floats are finite, or null. */
const finite = (column: Column): Column =>
  column.type === 'float' ? { ...column, expression: operation('finite', [column.expression]) } : column;
