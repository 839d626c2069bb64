/** Syntax back to text: HogQL in its normal form, and what ClickHouse would be sent, which the `schema` object shows. */
import {
  chainOf,
  type FrameEnd,
  isA,
  isQuery,
  type JoinExpr,
  type Known,
  type OrderExpr,
  type SelectQuery,
  type SelectSetQuery,
  type Syntax,
  saidOver,
  type WindowExpr,
  type WindowFunction,
} from './syntax.ts';

/** What a query comes to, as PostHog shows it. */
interface QuerySchema {
  readonly fields: { readonly expression: string; readonly alias: string }[];
  /** The constants of the expressions, by their names. */
  readonly values: Readonly<Record<string, string>>;
  /** The query in normal form: HogQL that means the same. */
  readonly hogql_query: string;
}

/** Words that the grammar takes for something else than a name where they stand in no quotes. */
const NO_NAMES =
  /^(?:catch|distinct|except|false|finally|fn|fun|inf|infinity|intersect|let|materialized|nan|null|throw|true|try|while|within)$/i;

/** An identifier, in backquotes where it is no plain word. */
const identifier = (name: string | number): string => {
  if (typeof name === 'number') return String(name);
  if (/^[A-Za-z_$][\w$]*$/.test(name) && !NO_NAMES.test(name)) return name;
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '``')}\``;
};

const quoted = (text: string): string =>
  `'${text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r')}'`;

interface Spelling {
  field(chain: readonly (string | number)[]): string;
  text(value: string): string;
  readonly booleans: readonly [no: string, yes: string];
  /** What a function is called. */
  named(name: string): string;
  /** What follows its arguments. */
  after(name: string): readonly string[];
  /** Whether an operator stays one where the functions that PostHog writes for it say another thing of what is missing. */
  readonly keepsOperators: boolean;
}

const ARITHMETIC: Readonly<Record<string, string>> = {
  '+': 'plus',
  '-': 'minus',
  '*': 'multiply',
  '/': 'divide',
  '%': 'modulo',
};
const COMPARISONS: Readonly<Record<string, string>> = {
  '==': 'equals',
  '!=': 'notEquals',
  '<': 'less',
  '<=': 'lessOrEquals',
  '>': 'greater',
  '>=': 'greaterOrEquals',
  like: 'like',
  'not like': 'notLike',
  ilike: 'ilike',
  'not ilike': 'notILike',
  in: 'in',
  'not in': 'notIn',
};

function printed(syntax: Syntax, spelling: Spelling): string {
  const walk = (one: Syntax): string => printed(one, spelling);
  const list = (all: readonly Syntax[]): string => all.map(walk).join(', ');
  const chain = chainOf(syntax);
  if (chain !== undefined) return spelling.field(chain);
  const node = syntax as Known;
  switch (node.node) {
    case 'Constant': {
      const { value } = node;
      if (value === null) return 'NULL';
      if (typeof value === 'boolean') return spelling.booleans[value ? 1 : 0];
      return typeof value === 'string' ? spelling.text(value) : value.number;
    }
    case 'Alias':
      return walk(node.expr);
    case 'Call': {
      const args = [...node.args.map(walk), ...spelling.after(node.name)].join(', ');
      const parameters = node.params?.length ? `(${list(node.params)})` : '';
      const filter = node.filter_expr ? ` FILTER (WHERE ${walk(node.filter_expr)})` : '';
      return `${spelling.named(node.name)}${parameters}(${node.distinct ? 'DISTINCT ' : ''}${args})${filter}`;
    }
    case 'ArithmeticOperation':
      return `${ARITHMETIC[node.op]}(${list([node.left, node.right])})`;
    case 'CompareOperation': {
      if (isNull(node.right) && (node.op === '==' || node.op === '!='))
        return `${node.op === '==' ? 'isNull' : 'isNotNull'}(${walk(node.left)})`;
      const name = COMPARISONS[node.op];
      if (name !== undefined) return `${name}(${list([node.left, node.right])})`;
      if (spelling.keepsOperators) return `(${walk(node.left)} ${node.op} ${walk(node.right)})`;
      const matched = `match(${walk(node.left)}, ${node.op.endsWith('*') ? `concat('(?i)', ${walk(node.right)})` : walk(node.right)})`;
      return node.op.startsWith('!') ? `not(${matched})` : matched;
    }
    case 'BetweenExpr': {
      if (spelling.keepsOperators)
        return `(${walk(node.expr)} ${node.negated ? 'NOT ' : ''}BETWEEN ${walk(node.low)} AND ${walk(node.high)})`;
      const inside = `and(greaterOrEquals(${list([node.expr, node.low])}), lessOrEquals(${list([node.expr, node.high])}))`;
      return node.negated ? `not(${inside})` : inside;
    }
    case 'And':
    case 'Or':
      return `${node.node.toLowerCase()}(${list(node.exprs)})`;
    case 'Not':
      return `not(${walk(node.expr)})`;
    case 'ArrayAccess':
      return `${walk(node.array)}[${walk(node.property)}]`;
    case 'TupleAccess':
      return `${walk(node.tuple)}.${node.index}`;
    case 'Tuple':
      return `tuple(${list(node.exprs)})`;
    case 'Array':
      return `[${list(node.exprs)}]`;
    case 'Lambda': {
      const args = node.args.map(identifier).join(', ');
      return `${node.args.length === 1 ? args : `(${args})`} -> ${walk(node.expr)}`;
    }
    case 'TypeCast':
      return `CAST(${walk(node.expr)} AS ${node.type_name})`;
    case 'Field':
      return spelling.field(node.chain);
    case 'SelectQuery':
      return `(${selectText(node, walk)})`;
    case 'SelectSetQuery':
      return `(${unionText(node, walk)})`;
    case 'WindowFunction':
      return windowText(node, walk);
    case 'Placeholder':
      return `{${walk(node.expr)}}`;
    default:
      return syntax.node;
  }
}

type Walk = (syntax: Syntax) => string;

const listText = (all: readonly Syntax[], walk: Walk): string => all.map(walk).join(', ');

function selectText(query: SelectQuery, walk: Walk): string {
  const named = (one: Syntax): string =>
    isA(one, 'Alias') ? `${walk(one.expr)} AS ${identifier(one.alias)}` : walk(one);
  const clause = (name: string, one: Syntax | null | undefined): string => (one ? ` ${name} ${walk(one)}` : '');
  const ctes = query.ctes?.map(({ name, cte_type, expr }) =>
    cte_type === 'subquery' ? `${identifier(name)} AS ${walk(expr)}` : `${walk(expr)} AS ${identifier(name)}`,
  );
  const windows = Object.entries(query.window_exprs ?? {}).map(
    ([name, over]) => `${identifier(name)} AS (${overText(over, walk)})`,
  );
  // Rows are grouped by a tuple where they are by its parts, which may have names.
  const keys = (query.group_by ?? []).flatMap((one) => (isA(one, 'Tuple') ? one.exprs : [one]));
  const by = query.limit_by;
  const limitBy = by ? ` LIMIT ${walk(by.n)}${clause('OFFSET', by.offset_value)} BY ${listText(by.exprs, walk)}` : '';
  return [
    ctes?.length ? `WITH ${ctes.join(', ')} ` : '',
    `SELECT ${query.distinct ? 'DISTINCT ' : ''}${query.select.map(named).join(', ')}`,
    query.select_from ? ` FROM ${fromText(query.select_from, walk)}` : '',
    clause('WHERE', query.where),
    keys.length > 0 ? ` GROUP BY ${keys.map(named).join(', ')}` : '',
    clause('HAVING', query.having),
    windows.length > 0 ? ` WINDOW ${windows.join(', ')}` : '',
    query.order_by?.length ? ` ORDER BY ${ordersText(query.order_by, walk)}` : '',
    limitBy,
    clause('LIMIT', query.limit),
    clause('OFFSET', query.offset),
  ].join('');
}

function unionText({ initial_select_query, subsequent_select_queries, ...rest }: SelectSetQuery, walk: Walk): string {
  const all = [
    walk(initial_select_query),
    ...subsequent_select_queries.map((one) => `${one.set_operator} ${walk(one.select_query)}`),
  ].join(' ');
  const [limit, offset] = [rest.limit, rest.offset].map((one) => (one ? walk(one) : ''));
  return `${all}${limit && ` LIMIT ${limit}`}${offset && ` OFFSET ${offset}`}`;
}

function fromText({ table, alias, constraint, next_join: next }: JoinExpr, walk: Walk): string {
  const own = `${walk(table)}${alias === null ? '' : ` AS ${identifier(alias)}`}`;
  const on = constraint ? ` ${constraint.constraint_type} ${walk(constraint.expr)}` : '';
  return `${own}${on}${next ? ` ${next.join_type ?? 'CROSS JOIN'} ${fromText(next, walk)}` : ''}`;
}

const ordersText = (all: readonly OrderExpr[], walk: Walk): string =>
  all.map(({ expr, order }) => `${walk(expr)} ${order}`).join(', ');

function windowText(node: WindowFunction, walk: Walk): string {
  const { name, over_expr: over, over_identifier: named } = node;
  const { parameters, of } = saidOver(node);
  const before = parameters.length === 0 ? '' : `(${listText(parameters, walk)})`;
  const call = `${name}${before}(${listText(of, walk)})`;
  return `${call} OVER ${named ? identifier(named) : `(${over ? overText(over, walk) : ''})`}`;
}

const endText = ({ frame_type, frame_value }: FrameEnd): string =>
  frame_type === 'CURRENT ROW' ? frame_type : `${frame_value ?? 'UNBOUNDED'} ${frame_type}`;

function overText({ partition_by, order_by, frame_method, frame_start, frame_end }: WindowExpr, walk: Walk): string {
  const frame =
    frame_start && (frame_end ? `BETWEEN ${endText(frame_start)} AND ${endText(frame_end)}` : endText(frame_start));
  return [
    partition_by?.length ? `PARTITION BY ${listText(partition_by, walk)}` : '',
    order_by?.length ? `ORDER BY ${ordersText(order_by, walk)}` : '',
    frame ? `${frame_method} ${frame}` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** Returns a whole query, or an expression, as HogQL in its normal form. */
export function hogqlText(syntax: Syntax): string {
  const text = printed(syntax, HOGQL);
  return isQuery(syntax) ? text.slice(1, -1) : text;
}

const isNull = (syntax: Syntax): boolean => isA(syntax, 'Constant') && syntax.value === null;

const HOGQL: Spelling = {
  field: (chain) => (chain.length === 1 && chain[0] === '*' ? '*' : chain.map(identifier).join('.')),
  text: quoted,
  booleans: ['false', 'true'],
  named: (name) => name,
  after: () => [],
  keepsOperators: false,
};

const DOCUMENTS: ReadonlySet<unknown> = new Set(['properties', 'person_properties']);

/** The name of an expression without alias: a field's own, a property's last key, a constant's text; else all of it. */
export function hogqlName(syntax: Syntax): string {
  if (isA(syntax, 'Constant') && typeof syntax.value === 'string') return syntax.value;
  const chain = chainOf(syntax);
  if (chain === undefined) return printed(syntax, HOGQL);
  const document = chain.findIndex((one) => DOCUMENTS.has(one));
  const isShort = document < 0 ? chain.length <= 2 : chain.length <= document + 2;
  return isShort ? String(chain.at(-1)) : printed(syntax, HOGQL);
}

/** Functions that ClickHouse has by another name, or with one more argument, a type. */
const CLICKHOUSE: ReadonlyMap<string, readonly [name: string, type?: string]> = new Map([
  ['toInt', ['accurateCastOrNull', 'Int64']],
  ['toFloat', ['accurateCastOrNull', 'Float64']],
  ['toUUID', ['accurateCastOrNull', 'UUID']],
  ['toDate', ['toDateOrNull']],
  ['toDateTime', ['parseDateTime64BestEffortOrNull']],
  ['now', ['now64']],
]);

/** What a query that was checked looks like to PostHog's clients. */
export function schemaOf({ select, select_from, where }: SelectQuery): QuerySchema {
  const values: [string, string][] = [];
  const kept = (value: string): string => {
    const name = `hogql_val_${values.length}`;
    values.push([name, value]);
    return `%(${name})s`;
  };
  const tables = ['events', select_from?.alias];
  const property = (document: string, path: readonly (string | number)[]): string => {
    if (path.length === 0) return document;
    const keys = path.map((key) => (typeof key === 'number' ? String(key) : kept(key)));
    return `replaceRegexpAll(nullIf(nullIf(JSONExtractRaw(${[document, ...keys].join(', ')}), ''), 'null'), '^"|"$', '')`;
  };
  const clickhouse: Spelling = {
    field: (chain) => {
      const [first, second, ...rest] = chain.length > 1 && tables.includes(String(chain[0])) ? chain.slice(1) : chain;
      if (first === 'person' && second === 'properties') return property('events.person_properties', rest);
      if (first === 'person') return `events.person_${second}`;
      const path = second === undefined ? [] : [second, ...rest];
      return property(`events.${first === '*' ? '*' : identifier(first ?? '')}`, path);
    },
    text: kept,
    booleans: ['0', '1'],
    named: (name) => CLICKHOUSE.get(name)?.[0] ?? name,
    after: (name) => [CLICKHOUSE.get(name)?.[1]].filter((type) => type !== undefined).map(kept),
    keepsOperators: false,
  };
  const hogql: Spelling = {
    ...HOGQL,
    keepsOperators: true,
    field: (chain) => {
      const [first = '', second, ...rest] = chain;
      const isAll = second === '*' && rest.length === 0 && tables.includes(String(first));
      return isAll ? `${identifier(first)}.*` : HOGQL.field(chain);
    },
  };
  const named = select.map((one) => {
    const aliased = isA(one, 'Alias') ? one : undefined;
    const expr = aliased?.expr ?? one;
    return { expr, alias: aliased?.alias, name: aliased?.alias ?? hogqlName(expr) };
  });
  const fields = named.map(({ expr, name }) => ({
    expression: printed(expr, clickhouse),
    alias: name === '*' ? name : identifier(name),
  }));
  const columns = named.map(
    ({ expr, alias }) => `${printed(expr, hogql)}${alias === undefined ? '' : ` AS ${identifier(alias)}`}`,
  );
  const table = select_from?.alias ? `events AS ${identifier(select_from.alias)}` : 'events';
  const condition = where ? ` WHERE ${printed(where, hogql)}` : '';
  return {
    fields,
    values: Object.fromEntries(values),
    hogql_query: `SELECT ${columns.join(', ')} FROM ${table}${condition}`,
  };
}
