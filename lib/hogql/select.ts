/** From syntax to the checked tree of a whole SELECT: every name, type, group and window of it is known after this. */
import { aggregateOf, isAggregate, isNullable } from './aggregates.ts';
import {
  comparable,
  converted,
  integerConstant,
  isNothing,
  operation,
  partsOf,
  truth,
  tupleOfParts,
  unified,
} from './build.ts';
import { expression, isA, place, refuseParts, type Scope, standingFor, tupleOf } from './check.ts';
import { clickhouseType, nullable, withClickhouseType } from './clickhouse-types.ts';
import { type Clock, clockOfQuery, withClock, zoneOf } from './clock.ts';
import type { Aggregate, Column, Join, Order, Query, Select, Source, WholeQuery, Window } from './expression.ts';
import { type Expression, isList, isTuple, type Type } from './expression.ts';
import { aList, condition, functionOf } from './functions.ts';
import { refuse, within } from './refusal.ts';
import { withPlaces } from './row-order.ts';
import { columnOf, TOO_COMPLEX, weightOfAll } from './size.ts';
import {
  type Call,
  isQuery,
  type JoinExpr,
  type OrderExpr,
  type SelectQuery,
  type SelectSetQuery,
  type Syntax,
  type WindowExpr,
  type WindowFunction,
} from './syntax.ts';
import { hogqlName, hogqlText } from './text.ts';
import { frameOf, hasDistance, measurable, type Over, windowOf } from './windows.ts';

/** A field of a table. */
interface TableField {
  /** As it is written in SQL after the name of the relation. */
  readonly column: string;
  readonly type: Type;
  /** What ClickHouse calls the type where it is not the usual one. */
  readonly clickhouse?: string;
}

/**
 * The fields of a table by their names. A name may have dots: the longest that the path begins with is taken, so that
 * `person.properties` may be a field, or `properties.$browser`. `*` is those without.
 */
export type Table = ReadonlyMap<string, TableField>;

/** What a query may read, and how. */
export interface Language extends Clock {
  readonly tables: ReadonlyMap<string, Table>;
}

/** A query that may be run. */
export interface CheckedSelect {
  readonly query: WholeQuery;
  readonly columns: readonly Pick<Column, 'name' | 'type' | 'clickhouse'>[];
  /** The tables that are read, by name, and their columns. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>;
}

const MAX_SOURCES = 60;
const MAX_WINDOWS = 100;
const MAX_COLUMNS = 1000;
/** Of all expressions together. */
const MAX_WEIGHT = 20_000;
/** Nodes of syntax that are looked at. */
const MAX_VISITS = 200_000;
const MAX_ROWS = 10_000_000;

/** Returns the checked tree of a query. Throws a `Refusal` that names what is in the way. */
export function checkedSelect(syntax: Syntax, language: Language): CheckedSelect {
  if (!isQuery(syntax)) refuse('A query begins with SELECT');
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
    };
    const { query, columns } = checkedQuery(syntax, new Map(), whole, true);
    return { query: { with: whole.named, query }, columns, tables: whole.read };
  });
}

/** What is known of the whole of a query while it is checked. */
interface Whole {
  readonly tables: ReadonlyMap<string, Table>;
  readonly read: Map<string, Set<string>>;
  relations: number;
  sources: number;
  windows: number;
  weight: number;
  readonly visits: Scope['visits'];
  readonly named: { readonly name: string; query: Query }[];
  /** Queries after IN, and what they are called. */
  readonly among: Map<Syntax, Checked & { readonly as: string }>;
  /** Expressions that are alike have one number. */
  readonly ids: Map<string, number>;
  readonly idOf: WeakMap<Expression, number>;
  /** What the author calls a column. */
  readonly names: WeakMap<Expression, string>;
}

/** A query, and what its columns are to those around it. */
interface Checked {
  readonly query: Query;
  readonly columns: readonly Column[];
}

/** Queries that are named by WITH, by their names. */
type Named = ReadonlyMap<string, { readonly name: string; readonly columns: readonly Column[] }>;

/** What a SELECT may take columns from. */
interface Relation {
  readonly as: string;
  /** What the author may call it. */
  readonly names: readonly string[];
  /** The column that a path begins with, and how much of the path is its name; undefined: there is none. */
  find(path: readonly (string | number)[]): { readonly value: Expression; readonly length: number } | undefined;
  /** The names that `*` stands for. */
  readonly all: readonly string[];
}

/** `isTop`: its rows are the answer. */
function checkedQuery(syntax: Syntax, named: Named, whole: Whole, isTop = false): Checked {
  return within(syntax, () => {
    if (syntax.node === 'SelectSetQuery') return checkedUnion(syntax as SelectSetQuery, named, whole, isTop);
    if (syntax.node !== 'SelectQuery') return refuse('A query begins with SELECT');
    return checkedOne(syntax as unknown as SelectQuery, named, whole, isTop);
  });
}

const relationName = (whole: Whole): string => `r${whole.relations++}`;

/** Whether what an aggregate gives goes by the order of its rows. */
const isOfOrder = ({ aggregate }: Aggregate): boolean => aggregate === 'list' || aggregate.startsWith('any');

/** The aggregate of rows that are in the order of their places. */
function inOrder(aggregate: Aggregate, place: Expression): Aggregate {
  if (!isOfOrder(aggregate)) return aggregate;
  if (aggregate.aggregate === 'list') return { ...aggregate, by: place };
  const isLast = aggregate.aggregate === 'any_last';
  return { ...aggregate, aggregate: isLast ? 'arg_max' : 'arg_min', of: [...aggregate.of, place] };
}

/** Counts a table or a subquery that is read. */
function countSource(whole: Whole): void {
  whole.sources += 1;
  if (whole.sources > MAX_SOURCES) refuse(`A query reads at most ${MAX_SOURCES} tables and subqueries`);
}

/** Counts what a part of the query weighs. */
function weigh(expressions: readonly Expression[], whole: Whole): void {
  whole.weight += weightOfAll(expressions);
  if (whole.weight > MAX_WEIGHT) refuse(TOO_COMPLEX);
}

function checkedUnion(syntax: SelectSetQuery, named: Named, whole: Whole, isTop: boolean): Checked {
  const { initial_select_query: first, subsequent_select_queries: rest } = syntax;
  for (const { set_operator: operator } of rest)
    if (operator !== 'UNION ALL') refuse(`${operator} is not supported; there is UNION ALL`);
  if (syntax.order_by?.length) refuse('ORDER BY of a UNION is not supported; put the UNION into a subquery');
  // What the first names, those behind it may name too.
  const around = first.node === 'SelectQuery' ? withNamed(first as unknown as SelectQuery, named, whole) : named;
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
    return { ...(nullable ?? (values[0] as Column)), name: column.name, type: types[n] as Type };
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
  array_join_op: 'ARRAY JOIN is not supported; use arrayJoin() in SELECT',
  array_join_list: 'ARRAY JOIN is not supported; use arrayJoin() in SELECT',
  prewhere: 'PREWHERE is not supported; use WHERE',
  qualify: 'QUALIFY is not supported; put the window into a subquery',
  group_by_mode: 'Modes of GROUP BY are not supported',
  limit_with_ties: 'LIMIT WITH TIES is not supported',
};
const FROM_CLAUSES: Readonly<Record<string, string>> = {
  table_args: 'Table functions are not supported',
  sample: 'SAMPLE is not supported',
  table_final: 'FINAL is not supported',
  column_aliases: 'Column aliases of a table are not supported',
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

/** A SELECT while it is checked: what was found of it so far. */
interface Making {
  readonly whole: Whole;
  readonly named: Named;
  readonly relations: Relation[];
  readonly aliases: ReadonlyMap<string, Syntax>;
  readonly windowNames: Readonly<Record<string, WindowExpr>>;
  readonly keys: Map<number, Expression>;
  readonly keysOf: Expression[];
  readonly aggregates: Aggregate[];
  readonly aggregateOf: Map<string, Expression>;
  readonly windows: Window[];
  readonly windowOf: Map<string, Expression>;
  unnest: { readonly list: Expression; readonly as: string } | undefined;
  /** Queries whose one value is read, by the stage that reads it; undefined: none may be. */
  readonly values: Readonly<Record<Stage, Join[]>> | undefined;
  /** The relations of the groups and of the windows. */
  readonly group: string | undefined;
  readonly window: string;
}

/** Where an expression of a SELECT stands: what reads rows, and what reads groups if there are any. */
type Stage = 'rows' | 'groups';

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
  const keys = (syntax.group_by ?? []).flatMap((one) => tupleOf(one) ?? [one]).map((one) => keyOf(one, syntax, rows));
  for (const key of keys) addKey(key, making);
  const where = conditionOf(syntax.where, 'WHERE', rows);
  const columns = syntax.select.flatMap((one) => columnsOf(one, making, groups));
  if (columns.length > MAX_COLUMNS) refuse(`A query has at most ${MAX_COLUMNS} columns`);
  const having = conditionOf(syntax.having, 'HAVING', scopeOf(making, 'groups'));
  const order = varying((syntax.order_by ?? []).flatMap((one) => orderOf(one, columns, groups, whole)));
  const limitBy = syntax.limit_by ? limitByOf(syntax.limit_by, groups) : undefined;
  const distinct = syntax.distinct === true;
  if (distinct && order.some(({ column }) => column === undefined))
    refuse('ORDER BY of a SELECT DISTINCT takes what is selected');
  if (distinct && limitBy !== undefined) refuse('LIMIT BY is not supported beside DISTINCT');

  const { group, windows, unnest, values } = making;
  const placed =
    joined[0] && making.aggregates.some(isOfOrder)
      ? withPlaces(joined[0].source, { named: whole.named, relation: () => relationName(whole) })
      : undefined;
  const aggregates = making.aggregates.map((one) => (placed ? inOrder(one, placed.place) : one));
  const behindGroups = [
    ...[...columns, ...order].map((one) => one.expression),
    ...(limitBy?.of ?? []),
    ...present([having]),
    ...ofWindows(windows),
  ];
  if (group !== undefined) checkLoose(behindGroups, making);
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
    ...(group !== undefined && { group: { keys: making.keysOf, aggregates, as: group, joins: values.groups } }),
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
  const columnsAliased = select.flatMap((one) => (isA(one, 'Alias') ? [[one.alias, one.expr] as const] : []));
  const isGrouped =
    Boolean(group_by?.length) || Boolean(having) || [select, order_by, columnsNamed].some((one) => hasAggregate(one));
  return {
    whole,
    named,
    relations,
    aliases: new Map([...columnsNamed, ...columnsAliased]),
    windowNames: window_exprs ?? {},
    keys: new Map(),
    keysOf: [],
    aggregates: [],
    aggregateOf: new Map(),
    windows: [],
    windowOf: new Map(),
    unnest: undefined,
    values: { rows: [], groups: [] },
    group: isGrouped ? relationName(whole) : undefined,
    window: relationName(whole),
  };
}

const conditionOf = (syntax: Syntax | null | undefined, clause: string, scope: Scope): Expression | undefined =>
  syntax ? condition(expression(syntax, scope), clause) : undefined;

const limitByOf = ({ n, offset_value, exprs }: NonNullable<SelectQuery['limit_by']>, scope: Scope) => ({
  count: rowsOf(n, 'LIMIT BY'),
  offset: offset_value ? rowsOf(offset_value, 'OFFSET') : 0,
  of: exprs.map((one) => expression(one, scope)),
});

const present = (expressions: readonly (Expression | undefined)[]): Expression[] =>
  expressions.filter((one) => one !== undefined);

/** A column whose floats are finite, or null. */
const finite = (column: Column): Column =>
  column.type === 'float' ? { ...column, expression: operation('finite', [column.expression]) } : column;

const ofWindows = (windows: readonly Window[]): Expression[] =>
  windows.flatMap(({ of, partition, order }) => [...of, ...partition, ...order.map((one) => one.expression)]);

function limits({ limit, offset }: Pick<SelectQuery, 'limit' | 'offset'>): Pick<Select, 'limit' | 'offset'> {
  return {
    ...(limit && { limit: rowsOf(limit, 'LIMIT') }),
    ...(offset && { offset: rowsOf(offset, 'OFFSET') }),
  };
}

function rowsOf(syntax: Syntax, clause: string): number {
  const value = isA(syntax, 'Constant') ? syntax.value : null;
  const count = typeof value === 'object' && value !== null ? Number(value.number) : Number.NaN;
  return Number.isInteger(count) && count >= 0 && count <= MAX_ROWS
    ? count
    : refuse(`${clause} takes a whole number from 0 to ${MAX_ROWS}`);
}

/** Whether syntax calls an aggregate that belongs to the query itself: not in a subquery, nor as a window. */
function hasAggregate(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasAggregate);
  if (typeof value !== 'object' || value === null) return false;
  const { node, name } = value as { readonly node?: string; readonly name?: string };
  if (node !== undefined && isQuery({ node })) return false;
  if (node === 'Call' && name !== undefined && isAggregateCall(name)) return true;
  return Object.values(value).some(hasAggregate);
}

/** `any` is an aggregate; what a name that is a function too means is the function. */
const isAggregateCall = (name: string): boolean => functionOf(name) === undefined && isAggregate(name);

interface Joined {
  readonly source: Source;
  readonly relation: Relation;
  readonly kind: Join['kind'];
  readonly on: Syntax | undefined;
}

const KINDS: Readonly<Record<string, Join['kind']>> = {
  JOIN: 'inner',
  'INNER JOIN': 'inner',
  'LEFT JOIN': 'left',
  'LEFT OUTER JOIN': 'left',
  'CROSS JOIN': 'cross',
};

function sourcesOf(first: JoinExpr, named: Named, whole: Whole): Joined[] {
  const all: Joined[] = [];
  for (let join: JoinExpr | null | undefined = first; join; join = join.next_join) {
    const joins = ['node', 'table', 'alias', 'next_join', 'join_type', 'constraint'];
    refuseParts(join, joins, FROM_CLAUSES);
    const type = join.join_type ?? 'CROSS JOIN';
    const kind = KINDS[type] ?? refuse(`${type} is not supported; there are INNER, LEFT and CROSS JOIN`);
    const { constraint } = join;
    if (constraint?.constraint_type === 'USING') refuse('USING is not supported; use ON');
    if (kind !== 'cross' && !constraint) refuse(`${type} takes a condition after ON`);
    if (kind === 'cross' && constraint) refuse('CROSS JOIN takes no condition');
    countSource(whole);
    const read = join;
    const found = within(read.table, () => sourceOf(read, named, whole));
    const taken = all.flatMap(({ relation }) => relation.names);
    const twice = found.relation.names.find((name) => taken.includes(name));
    if (twice !== undefined) refuse(`Two tables have the name ${twice}; give one another by AS`);
    all.push({ ...found, kind, on: constraint?.expr });
  }
  return all;
}

function sourceOf({ table, alias }: JoinExpr, named: Named, whole: Whole): Pick<Joined, 'source' | 'relation'> {
  const as = relationName(whole);
  if (isQuery(table)) {
    const { query, columns } = checkedQuery(table, named, whole);
    return { source: { query, as }, relation: ofColumns(as, alias === null ? [] : [alias], columns) };
  }
  if (table.node === 'Placeholder') refuse('A placeholder has no value');
  if (!isA(table, 'Field') || table.chain.length !== 1) return refuse('FROM takes a table or a subquery');
  const name = String(table.chain[0]);
  const names = [alias ?? name];
  const query = named.get(name);
  if (query !== undefined) return { source: { named: query.name, as }, relation: ofColumns(as, names, query.columns) };
  const fields =
    whole.tables.get(name) ??
    refuse(`Unknown table ${name.slice(0, 100)}. There are: ${[...whole.tables.keys()].toSorted().join(', ')}.`);
  return { source: { table: name, as }, relation: ofTable(as, names, name, fields, whole) };
}

/** Columns of a query, by their names. */
function ofColumns(as: string, names: readonly string[], columns: readonly Column[]): Relation {
  const found = new Map(
    columns.map(({ name, expression: value, clickhouse }, n) => {
      const column = columnOf(value, as, `c${n}`);
      return [name, withClickhouseType(column, clickhouse)] as const;
    }),
  );
  return {
    as,
    names,
    all: [...found.keys()],
    find: ([name]) => {
      const value = found.get(String(name));
      return value && { value, length: 1 };
    },
  };
}

function ofTable(as: string, names: readonly string[], table: string, fields: Table, whole: Whole): Relation {
  const longest = Math.max(0, ...[...fields.keys()].map((name) => name.split('.').length));
  const found = new Map<string, Expression>();
  return {
    as,
    names,
    all: [...fields.keys()].filter((name) => !name.includes('.')),
    find: (path) => {
      for (let length = Math.min(longest, path.length); length > 0; length -= 1) {
        const name = path.slice(0, length).join('.');
        const field = fields.get(name);
        if (field === undefined) continue;
        const known =
          found.get(name) ??
          withClickhouseType({ relation: as, column: field.column, type: field.type }, field.clickhouse);
        found.set(name, known);
        const read = whole.read.get(table) ?? new Set();
        whole.read.set(table, read.add(field.column));
        return { value: known, length };
      }
      return undefined;
    },
  };
}

/** What an expression means at a stage of a SELECT. */
function scopeOf(making: Making, stage: Stage, takesWindows = false): Scope {
  return {
    beyond: {
      field: (path, scope) => fieldOf(path, making, scope),
      call: (node, scope) => callOf(node, making, stage, scope),
      other: (syntax, scope) => otherOf(syntax, making, stage, takesWindows, scope),
      among: (value, query) => amongQuery(value, query, making),
      standing: (built) => (stage === 'groups' ? keyFor(built, making) : built),
    },
    table: new Map(),
    reader: 'Queries',
    tables: [],
    aliases: making.aliases,
    built: new Map(),
    following: [],
    variables: [],
    isSelect: true,
    visits: making.whole.visits,
  };
}

/** What an expression means inside another one, which may be what an alias stands for. */
const scopeInside = ({ following }: Scope, making: Making, stage: Stage): Scope => ({
  ...scopeOf(making, stage),
  following,
});

function fieldOf(path: readonly (string | number)[], making: Making, scope: Scope): Expression {
  const name = String(path[0]);
  const aliased = scope.following.includes(name) ? undefined : scope.aliases.get(name);
  if (aliased !== undefined) return below(standingFor(name, aliased, scope), path, 1, making, scope);
  const relation = path.length > 1 ? making.relations.find(({ names }) => names.includes(name)) : undefined;
  const qualified = relation?.find(path.slice(1));
  if (qualified !== undefined) return below(qualified.value, path, qualified.length + 1, making, scope);
  const found = making.relations.flatMap((one) => one.find(path) ?? []);
  const [first] = found;
  if (first === undefined) return unknown(path, making);
  if (found.length > 1) refuse(`Ambiguous query. Found multiple sources for field: ${name.slice(0, 200)}`);
  return below(first.value, path, first.length, making, scope);
}

/** What lies at the rest of a path, below the value that its beginning names. */
function below(
  value: Expression,
  path: readonly (string | number)[],
  length: number,
  { whole }: Making,
  { beyond }: Scope,
): Expression {
  whole.names.set(value, path.slice(0, length).join('.'));
  return place(beyond?.standing(value) ?? value, path.slice(length), path, 'property_value');
}

function unknown(path: readonly (string | number)[], { relations }: Making): never {
  const known = [...new Set(relations.flatMap(({ all }) => all))].toSorted().slice(0, 40).join(', ');
  const fields = known === '' ? '' : `. Fields are: ${known}`;
  return refuse(`Invalid HogQL query: Unable to resolve field: ${path.join('.').slice(0, 200)}${fields}`);
}

/** A call of an aggregate, or of what only a SELECT has. */
function callOf(node: Call, making: Making, stage: Stage, scope: Scope): Expression | undefined {
  if (node.name === 'arrayJoin') return unnested(node, making, scope);
  const [left, right] = node.args;
  if ((node.name === 'in' || node.name === 'notIn') && left !== undefined && right !== undefined)
    return expression({ node: 'CompareOperation', op: node.name === 'in' ? 'in' : 'not in', left, right }, scope);
  if (!isAggregateCall(node.name)) return undefined;
  if (making.group === undefined || stage !== 'groups' || scope.variables.length > 0)
    return refuse(`Aggregate functions are not supported here: ${node.name}()`);
  if (node.order_by) refuse(`ORDER BY is not supported in ${node.name}()`);
  const { group } = making;
  const rows = scopeInside(scope, making, 'rows');
  const of = (one: Syntax): Expression => expression(one, rows);
  const args = node.args.length === 1 && isStar(node.args[0] as Syntax) ? [] : node.args.map(of);
  if ((node.params?.length ?? 0) > 1) refuse(`${node.name}() takes one parameter`);
  const aggregate = aggregateOf(node.name, args, {
    isDistinct: node.distinct === true,
    level: node.params?.[0] && of(node.params[0]),
    where: node.filter_expr ? of(node.filter_expr) : undefined,
  });
  const key = JSON.stringify([
    aggregate.aggregate,
    aggregate.of.map((one) => idOf(one, making.whole)),
    aggregate.where && idOf(aggregate.where, making.whole),
    aggregate.at,
  ]);
  const known = making.aggregateOf.get(key);
  if (known !== undefined) return known;
  const column = columnOf(resultOf(aggregate), group, `a${making.aggregates.length}`);
  const type = clickhouseOfAggregate(aggregate);
  making.aggregates.push(aggregate);
  making.aggregateOf.set(key, withClickhouseType(column, type));
  return column;
}

const isStar = (syntax: Syntax): boolean => isA(syntax, 'Field') && syntax.chain.join('.') === '*';

/** A value that is as long as what an aggregate or a window gives. */
function resultOf({ of: [first], type }: Pick<Aggregate, 'of' | 'type'>): Expression {
  if (first?.type === type) return first;
  return first !== undefined && isList(type) ? operation('list', [first]) : { constant: null, type };
}

function clickhouseOfAggregate(aggregate: Aggregate): string {
  if (aggregate.aggregate.startsWith('count')) return 'UInt64';
  if (aggregate.orZero) return clickhouseType({ constant: '0', type: aggregate.type });
  const [first] = aggregate.of;
  const value = first === undefined ? 'Int64' : clickhouseType(first);
  if (first?.type === aggregate.type && isList(first.type)) return value;
  if (isList(aggregate.type)) return `Array(${value.replace(/^Nullable\((.*)\)$/, '$1')})`;
  const plain = first?.type === aggregate.type ? value : clickhouseType({ constant: '0', type: aggregate.type });
  return isNullable(aggregate) ? nullable(plain) : plain;
}

/** `arrayJoin(list)`: the row once for each element. */
function unnested({ args: [of, ...rest] }: Call, making: Making, scope: Scope): Expression {
  if (of === undefined || rest.length > 0) return refuse('arrayJoin() takes one list');
  if (scope.variables.length > 0) refuse('arrayJoin() is not supported in a lambda');
  const list = aList(expression(of, scopeInside(scope, making, 'rows')), 'arrayJoin()');
  const { whole } = making;
  if (making.unnest !== undefined && idOf(making.unnest.list, whole) !== idOf(list, whole))
    refuse('A query may go through one list with arrayJoin(); use a subquery for another');
  making.unnest ??= { list, as: relationName(whole) };
  const element = operation('element', [list, integerConstant(1)]);
  const column = columnOf(element, making.unnest.as, 'c0');
  return scope.beyond?.standing(column) ?? column;
}

/** Windows, and what is refused in a SELECT by another name than in an expression. */
function otherOf(
  syntax: Syntax,
  making: Making,
  stage: Stage,
  takesWindows: boolean,
  scope: Scope,
): Expression | undefined {
  if (syntax.node === 'Placeholder') return refuse('A placeholder has no value');
  if (isQuery(syntax)) return valueOfQuery(syntax, making, stage, scope);
  if (syntax.node !== 'WindowFunction') return undefined;
  const node = syntax as unknown as WindowFunction;
  if (!takesWindows || scope.variables.length > 0)
    refuse(`Window functions are only supported in SELECT and ORDER BY: ${node.name}()`);
  const inside = scopeInside(scope, making, stage);
  const of = (one: Syntax): Expression => expression(one, inside);
  const named = node.over_identifier ? making.windowNames[node.over_identifier] : undefined;
  if (node.over_identifier && named === undefined) refuse(`There is no window ${node.over_identifier.slice(0, 100)}`);
  const over = overOf(node.over_expr ?? named, of);
  const [args, parameters] = node.exprs === null ? [node.args ?? [], []] : [node.exprs, node.args ?? []];
  const all = args.length === 1 && isStar(args[0] as Syntax) ? [] : args;
  const window = windowOf(node.name, all.map(of), parameters.map(of), over);
  const { whole } = making;
  const ids = ofWindows([window]).map((one) => idOf(one, whole));
  const shape = [
    window.window,
    window.at,
    window.of.length,
    window.partition.length,
    window.order.map(({ down }) => down),
    window.frame,
  ];
  const key = JSON.stringify([shape, ids]);
  const known = making.windowOf.get(key);
  if (known !== undefined) return known;
  whole.windows += 1;
  if (whole.windows > MAX_WINDOWS) refuse(`A query has at most ${MAX_WINDOWS} window functions`);
  const column = columnOf(resultOf(window), making.window, `w${making.windows.length}`);
  making.windows.push(window);
  making.windowOf.set(key, withClickhouseType(column, clickhouseOfWindow(window)));
  return column;
}

const clickhouseOfWindow = ({ window, of: [first], orZero, type }: Window): string => {
  if (/^(count|row_number|rank|dense_rank)$/.test(window)) return 'UInt64';
  if (orZero) return clickhouseType({ constant: '0', type });
  const plain = first?.type === type ? clickhouseType(first) : clickhouseType({ constant: '0', type });
  return nullable(plain);
};

function overOf(written: WindowExpr | undefined, of: (syntax: Syntax) => Expression): Over {
  if (written === undefined) return { partition: [], order: [], frame: undefined };
  const frame = frameOf(written);
  const ordered = (syntax: Syntax): Expression => (hasDistance(frame) ? measurable(of(syntax)) : of(syntax));
  return {
    partition: (written.partition_by ?? []).map(of),
    order: varying(
      (written.order_by ?? [])
        .map(readOrder)
        .flatMap(({ expr, order }) => inTurn({ expression: ordered(expr), down: order === 'DESC' })),
    ),
    frame,
  };
}

/** One row of no use. */
function nothingSelected(whole: Whole): Source {
  const one = integerConstant(1);
  const query: Select = { joins: [], columns: [columnNamed('1', one)], distinct: false, order: [] };
  return { query, as: relationName(whole) };
}

/** `(SELECT ...)` as a value: the query has one column and one row at most, which is read beside each row. */
function valueOfQuery(syntax: Syntax, { named, whole, values }: Making, stage: Stage, scope: Scope): Expression {
  if (values === undefined || scope.variables.length > 0)
    return refuse('A subquery as a value is not supported after ON and in a lambda');
  countSource(whole);
  const { query, columns } = checkedQuery(syntax, named, whole);
  const [column, ...rest] = columns;
  if (column === undefined || rest.length > 0) return refuse('A subquery as a value has one column');
  const as = relationName(whole);
  const count = rowCount(query);
  if (count === 'many') refuse('A subquery as a value has one row: aggregates without GROUP BY, or LIMIT 1');
  const source = { query, as };
  values[stage].push(count === 'one' ? { kind: 'cross', source } : { kind: 'left', source, on: truth(true) });
  const { clickhouse, expression: value } = column;
  const found = withClickhouseType(columnOf(value, as, 'c0'), nullable(clickhouse));
  // Before the groups and after them it is the same value, so that what is grouped by it is known again.
  whole.idOf.set(found, idOfText(`query ${hogqlText(syntax)}`, whole));
  return found;
}

/** How many rows a query surely has: one, one at most, or perhaps more. */
function rowCount(query: Query): 'one' | 'at most one' | 'many' {
  if ('union' in query) return 'many';
  const { from, where, unnest, group, having, limit, offset } = query;
  const isOne = group === undefined ? from === undefined && unnest === undefined : group.keys.length === 0;
  if (!isOne) return limit !== undefined && limit <= 1 ? 'at most one' : 'many';
  const isThere = having === undefined && (limit ?? 1) > 0 && (offset ?? 0) === 0;
  return isThere && (group !== undefined || where === undefined) ? 'one' : 'at most one';
}

/** `x IN (SELECT ...)`. Its query is the same one each time, so that what is grouped by it is known again. */
function amongQuery(value: Expression, syntax: Syntax, { named, whole }: Making): Expression {
  let asked = whole.among.get(syntax);
  if (asked === undefined) {
    countSource(whole);
    asked = { ...checkedQuery(syntax, named, whole), as: relationName(whole) };
    whole.among.set(syntax, asked);
  }
  const { query, columns, as } = asked;
  const inner = columns.map((one, n) => columnOf(one.expression, as, `c${n}`));
  const [only, ...rest] = inner;
  const parts = isTuple(value.type) ? partsOf(value) : [value];
  const others = rest.length === 0 && only !== undefined && isTuple(only.type) ? partsOf(only) : inner;
  if (parts.length !== others.length)
    refuse(
      isTuple(value.type) ? `The subquery of IN has ${parts.length} columns` : 'The subquery of IN has one column',
    );
  const pairs = parts.map((part, n) => comparable([part, others[n] as Expression], 'IN'));
  const side = (n: 0 | 1): Expression => {
    const all = pairs.map((pair) => pair[n] as Expression);
    return isTuple(value.type) ? tupleOfParts(all) : (all[0] as Expression);
  };
  const [left, right] = [side(0), side(1)];
  const present = pairs.map(([, other]) => operation('not', [operation('is_null', [other as Expression])]));
  const listed: Select = {
    from: { query, as },
    joins: [],
    where: present.length === 1 ? (present[0] as Expression) : operation('and', present),
    columns: [columnNamed('in', right)],
    distinct: false,
    order: [],
  };
  return operation('in_query', [left], { query: listed });
}

/** The number of an expression: alike are those that give the same, whatever the row, and times in the same zone. */
function idOf(value: Expression, whole: Whole): number {
  const known = whole.idOf.get(value);
  if (known !== undefined) return known;
  const shape =
    'operator' in value
      ? JSON.stringify([
          value.operator,
          value.of.map((one) => idOf(one, whole)),
          value.with,
          value.each && idOf(value.each, whole),
          value.type,
        ])
      : JSON.stringify(value, Object.keys(value).toSorted());
  const zone = zoneOf(value) ?? clockOfQuery().zone;
  const id = idOfText(`${zone} ${shape}`, whole);
  whole.idOf.set(value, id);
  return id;
}

function idOfText(text: string, { ids }: Whole): number {
  const id = ids.get(text) ?? ids.size;
  ids.set(text, id);
  return id;
}

/** An entry of GROUP BY: an expression, an alias, or the place of a column. */
function keyOf(syntax: Syntax, { select }: SelectQuery, rows: Scope): Expression {
  const at = placeOf(syntax, select.length);
  const meant = at === undefined ? syntax : (select[at] as Syntax);
  if (hasAggregate(meant)) refuse('Aggregate functions are not supported in GROUP BY');
  return isA(meant, 'Alias') ? standingFor(meant.alias, meant.expr, rows) : expression(meant, rows);
}

/** The column that a number names by its place, from 0; undefined: it is no number. */
function placeOf(syntax: Syntax, columns: number): number | undefined {
  if (!isA(syntax, 'Constant') || typeof syntax.value !== 'object' || syntax.value === null) return undefined;
  const number = Number(syntax.value.number);
  if (!Number.isInteger(number)) return undefined;
  return number >= 1 && number <= columns ? number - 1 : refuse(`There is no column ${number}`);
}

function addKey(key: Expression, making: Making): void {
  const id = idOf(key, making.whole);
  if (making.keys.has(id) || making.group === undefined) return;
  const column = columnOf(key, making.group, `k${making.keysOf.length}`);
  making.keys.set(id, withClickhouseType(column, clickhouseType(key)));
  // What is made of a key is alike, whether it is made before or after the groups.
  making.whole.idOf.set(column, id);
  making.keysOf.push(key);
}

const keyFor = (built: Expression, making: Making): Expression =>
  'constant' in built ? built : (making.keys.get(idOf(built, making.whole)) ?? built);

/** Refuses a column of the rows where there are groups. */
function checkLoose(expressions: readonly Expression[], { group, window, whole, values }: Making): void {
  const beside = (values?.groups ?? []).map(({ source }) => source.as);
  const seen = new Set<Expression>();
  const walk = (one: Expression): void => {
    if (seen.has(one)) return;
    seen.add(one);
    if ('column' in one && one.relation !== group && one.relation !== window && !beside.includes(one.relation ?? ''))
      refuse(
        `${whole.names.get(one) ?? 'A column'} is neither in GROUP BY nor in an aggregate function, as in any(${whole.names.get(one) ?? 'x'})`,
      );
    if (!('operator' in one)) return;
    one.of.forEach(walk);
    if (one.each !== undefined) walk(one.each);
  };
  expressions.forEach(walk);
}

/** The columns of an entry of SELECT: one, or those that `*` stands for. */
function columnsOf(syntax: Syntax, making: Making, scope: Scope): Column[] {
  const path = isA(syntax, 'Field') ? syntax.chain : [];
  if (path.at(-1) === '*') return starOf(path.slice(0, -1), making, scope);
  const aliased = isA(syntax, 'Alias') ? syntax : undefined;
  const value = aliased === undefined ? expression(syntax, scope) : standingFor(aliased.alias, aliased.expr, scope);
  return [columnNamed(aliased?.alias ?? hogqlName(syntax), value)];
}

const columnNamed = (name: string, value: Expression): Column => ({
  name,
  type: value.type,
  clickhouse: clickhouseType(value),
  expression: value,
});

function starOf(table: readonly (string | number)[], making: Making, scope: Scope): Column[] {
  const [name] = table;
  const relations =
    name === undefined ? making.relations : making.relations.filter(({ names }) => names.includes(String(name)));
  if (relations.length === 0 || table.length > 1) refuse(`Unknown table ${table.join('.').slice(0, 100)} before .*`);
  return relations.flatMap((relation) =>
    relation.all.map((field) => {
      const { value } = relation.find([field]) as { readonly value: Expression };
      making.whole.names.set(value, field);
      return columnNamed(field, (scope.beyond as NonNullable<Scope['beyond']>).standing(value));
    }),
  );
}

/** Constants say nothing of the order, and DuckDB refuses them. */
const varying = (orders: readonly Order[]): Order[] =>
  orders.filter(({ column, expression: by }) => column !== undefined || !('constant' in by));

/** Rows are in the order of a tuple where they are in that of its parts, one after the other. */
const inTurn = ({ expression: by, down }: Order): Order[] =>
  isTuple(by.type) ? partsOf(by).map((part) => ({ expression: part, down })) : [{ expression: by, down }];

/** Which expression rows are ordered by, and how. */
function readOrder(syntax: OrderExpr): OrderExpr {
  refuseParts(syntax, ['node', 'expr', 'order'], { with_fill: 'WITH FILL is not supported' });
  return syntax;
}

function orderOf(syntax: OrderExpr, columns: readonly Column[], scope: Scope, whole: Whole): Order[] {
  const { expr, order } = readOrder(syntax);
  const place = placeOf(expr, columns.length);
  const value = place === undefined ? expression(expr, scope) : (columns[place] as Column).expression;
  return inTurn({ expression: value, down: order === 'DESC' }).map((one) => {
    const column = columns.findIndex(({ expression: known }) => idOf(known, whole) === idOf(one.expression, whole));
    const found = one.expression === value ? (place ?? column) : column;
    return { ...one, ...(found >= 0 && { column: found }) };
  });
}
