/** What the printers of whole SELECTs have in common: the order of the parts, and the names of what is between them. */
import { getOrMake } from '../basics/maps.ts';
import type {
  Aggregate,
  Expression,
  Join,
  Order,
  Query,
  QueryField,
  Select,
  Source,
  Type,
  WholeQuery,
  Window,
} from './expression.ts';
import { fieldsIn } from './expression.ts';
import { type Dialect, print, printCondition, type Surroundings } from './print.ts';

/** A printed aggregate, its arguments and its condition being SQL. */
export type PrintedAggregate = (
  of: readonly string[],
  filter: string,
  aggregate: Pick<Aggregate, 'at' | 'orZero' | 'type' | 'of'>,
  /** The place of a row; absent: rows are in any order. */
  by?: string,
) => string;

/** A printed window, its arguments and its frame being SQL. */
export type PrintedWindow = (of: readonly string[], over: string, window: Pick<Window, 'at' | 'orZero'>) => string;

/** How a dialect writes what expressions of one table have not. */
export interface SelectDialect {
  readonly dialect: Dialect;
  readonly aggregates: Readonly<Record<Aggregate['aggregate'], PrintedAggregate>>;
  /** Those that are more than their name. */
  readonly windows: Readonly<Partial<Record<Window['window'], PrintedWindow>>>;
  /** The rows of `from` with these columns, once for each element of the list, which is the column `c0`. */
  readonly unnested: (list: string, columns: readonly string[], from: string, type: Type) => string;
  /** A value of the outermost columns, in the form in which it is told; absent: as it is. */
  readonly told?: (value: string, type: Type) => string;
}

/** Returns the SQL of a table, to stand after FROM; `columns` are those that are read of it there. */
export type RelationOf = (table: string, columns: ReadonlySet<string>) => string;

interface Printer {
  readonly dialect: SelectDialect;
  readonly relation: RelationOf;
  readonly now: string;
}

/** Returns the SQL of a query; its columns are `c0`, `c1` … `now` is the SQL of the instant that `now()` is. */
export function printSelect(
  { with: named, query }: WholeQuery,
  dialect: SelectDialect,
  relation: RelationOf,
  now: string,
): string {
  const printer: Printer = { dialect, relation, now };
  const before = named.map((one) => `${one.name} AS (${printQuery(one.query, printer)})`);
  return `${before.length === 0 ? '' : `WITH ${before.join(', ')} `}${printQuery(query, printer, dialect.told)}`;
}

function printQuery(query: Query, printer: Printer, told?: SelectDialect['told']): string {
  if ('columns' in query) return printOne(query, printer, told);
  // A number of rows belongs to all of them.
  const all = query.union.map((one) => `(${printQuery(one, printer)})`).join(' UNION ALL ');
  const columns =
    told === undefined
      ? '*'
      : typesOf(query)
          .map((type, n) => `${told(`u.c${n}`, type)} AS c${n}`)
          .join(', ');
  return `SELECT ${columns} FROM (${all}) AS u${limits(query)}`;
}

const typesOf = (query: Query): Type[] =>
  'columns' in query
    ? query.columns.map(({ expression }) => expression.type)
    : query.union.slice(0, 1).flatMap(typesOf);

const limits = ({ limit, offset }: Pick<Select, 'limit' | 'offset'>): string =>
  `${offset ? ` OFFSET ${offset}` : ''}${limit === undefined ? '' : ` LIMIT ${limit}`}`;

/** Prints an expression of a SELECT, by what stands around its relations by now. */
type Value = (one: Expression) => string;

/** Columns are read under these names where a layer is around the relation that has them. */
type Layers = ReadonlyMap<string, string>;

function printOne(select: Select, printer: Printer, told: SelectDialect['told'] = (value) => value): string {
  const fields = fieldsOf(select);
  const read = new Map<string, Set<string>>();
  for (const { relation = '', column } of fields) getOrMake(read, relation, () => new Set()).add(column);
  const layers = new Map<string, string>();
  const surroundings: Surroundings = {
    field: ({ relation = '', column }) => fieldName(relation, column, layers),
    query: (query) => printQuery(query, printer),
  };
  const { dialect } = printer.dialect;
  const value: Value = (one) => print(one, dialect, printer.now, surroundings);
  const passing = (one: Expression, isJoin = false): string =>
    printCondition(one, dialect, printer.now, surroundings, isJoin);

  const joinText = ({ kind, source, on }: Join): string => {
    const text = sourceText(source, read, printer);
    return kind === 'cross'
      ? `CROSS JOIN ${text}`
      : `${kind.toUpperCase()} JOIN ${text} ON ${passing(on as Expression, true)}`;
  };
  const sources = [...(select.from ? [sourceText(select.from, read, printer)] : []), ...select.joins.map(joinText)];
  let from = sources.length === 0 ? '' : ` FROM ${sources.join(' ')}`;
  const { where, unnest, group, having, windows } = select;
  if (where && !(unnest && reads(where, unnest.as))) from += ` WHERE ${passing(where)}`;
  const own = [select.from, ...select.joins.map(({ source }) => source)].flatMap((one) => one?.as ?? []);
  /** Puts a layer around the relations before it, whose columns are passed on. */
  const layered = (as: string, relations: readonly string[], inner: (columns: readonly string[]) => string): void => {
    const kept = fields.filter(({ relation = '' }) => relations.includes(relation));
    const columns = kept.map(
      ({ relation = '', column }) => `${fieldName(relation, column, layers)} AS ${layerColumn(relation, column)}`,
    );
    const text = inner([...new Set(columns)]);
    for (const relation of relations) layers.set(relation, as);
    from = ` FROM (${text}) AS ${as}`;
  };
  if (unnest) {
    layered(unnest.as, own, (columns) => printer.dialect.unnested(value(unnest.list), columns, from, unnest.list.type));
    if (where && reads(where, unnest.as)) from += ` WHERE ${passing(where)}`;
  }
  if (group) {
    const keys = group.keys.map((one, n) => `${value(one)} AS k${n}`);
    const aggregates = group.aggregates.map((one, n) => `${aggregateText(one, printer, value, passing)} AS a${n}`);
    const all = [...keys, ...aggregates];
    const by = keys.length === 0 ? '' : ` GROUP BY ${keys.map((_, n) => n + 1).join(', ')}`;
    const grouped = `(SELECT ${all.length === 0 ? '1 AS k0' : all.join(', ')}${from}${by}) AS ${group.as}`;
    from = ` FROM ${[grouped, ...group.joins.map(joinText)].join(' ')}`;
    if (having) from += ` WHERE ${passing(having)}`;
  }
  if (windows) {
    const relations = group
      ? [group.as, ...group.joins.map(({ source }) => source.as)]
      : [...own, ...(unnest ? [unnest.as] : [])];
    const texts = windows.all.map((one, n) => `${windowText(one, printer, value)} AS w${n}`);
    layered(windows.as, relations, (columns) => `SELECT ${[...columns, ...texts].join(', ')}${from}`);
  }
  return answerText(select, from, value, told);
}

/** The columns of a SELECT in their order, of what `from` has: the rows, or groups, and windows over them. */
function answerText(select: Select, from: string, value: Value, told: NonNullable<SelectDialect['told']>): string {
  const tellColumn = (text: string, { expression: { type } }: Select['columns'][number], n: number): string =>
    `${told(text, type)} AS c${n}`;
  const columns = select.columns.map((one, n) => tellColumn(value(one.expression), one, n));
  const order = (names: (one: Order, n: number) => string): string => orderText(select.order, names);
  // What is told in another form is ordered by itself.
  const placed = ({ column, expression }: Order): string =>
    column === undefined || told('', expression.type) !== '' ? value(expression) : String(column + 1);
  if (select.limitBy) {
    const { count, offset, of } = select.limitBy;
    const by = select.order.map((one, n) => `${value(one.expression)} AS o${n}`);
    const place = `row_number() OVER (PARTITION BY ${of.map(value).join(', ')}${order((one) => value(one.expression))}) AS n`;
    const inner = `SELECT ${[...columns, ...by, place].join(', ')}${from}`;
    const names = select.columns.map((_, n) => `c${n}`).join(', ');
    const rows = ` WHERE n > ${offset} AND n <= ${offset + count}`;
    return `SELECT ${names} FROM (${inner}) AS l${rows}${order((_, n) => `o${n}`)}${limits(select)}`;
  }
  if (!select.distinct) return `SELECT ${columns.join(', ')}${from}${order(placed)}${limits(select)}`;
  const plain = select.columns.map((one, n) => `${value(one.expression)} AS c${n}`).join(', ');
  const distinct = `SELECT DISTINCT ${plain}${from}`;
  if (select.columns.every(({ expression: { type } }) => told('', type) === ''))
    return `${distinct}${order(({ column = 0 }) => String(column + 1))}${limits(select)}`;
  const all = select.columns.map((one, n) => tellColumn(`d.c${n}`, one, n)).join(', ');
  return `SELECT ${all} FROM (${distinct}) AS d${order(({ column }) => `d.c${column}`)}${limits(select)}`;
}

const orderText = (order: readonly Order[], names: (one: Order, n: number) => string): string =>
  order.length === 0
    ? ''
    : ` ORDER BY ${order.map((one, n) => `${names(one, n)}${one.down ? ' DESC' : ''} NULLS LAST`).join(', ')}`;

const layerColumn = (relation: string, column: string): string => `"${relation}_${column.replaceAll('"', '')}"`;

/** A column's name as SQL of either dialect. */
export const columnText = (column: string): string =>
  /^\w+$/.test(column) ? column : `"${column.replaceAll('"', '""')}"`;

const fieldName = (relation: string, column: string, layers: Layers): string => {
  const layer = layers.get(relation);
  return layer === undefined ? `${relation}.${columnText(column)}` : `${layer}.${layerColumn(relation, column)}`;
};

function sourceText(source: Source, read: ReadonlyMap<string, ReadonlySet<string>>, printer: Printer): string {
  if ('query' in source) return `(${printQuery(source.query, printer)}) AS ${source.as}`;
  if ('named' in source) return `${source.named} AS ${source.as}`;
  return `${printer.relation(source.table, read.get(source.as) ?? new Set())} AS ${source.as}`;
}

function aggregateText(aggregate: Aggregate, { dialect }: Printer, value: Value, passing: Value): string {
  const filter = aggregate.where === undefined ? '' : passing(aggregate.where);
  return dialect.aggregates[aggregate.aggregate](
    aggregate.of.map(value),
    filter,
    aggregate,
    aggregate.by && value(aggregate.by),
  );
}

function windowText(window: Window, { dialect }: Printer, value: Value): string {
  const { partition, order, frame } = window;
  const parts = [
    partition.length === 0 ? '' : ` PARTITION BY ${partition.map(value).join(', ')}`,
    orderText(order, ({ expression }) => value(expression)),
    frame === undefined ? '' : ` ${frame.by.toUpperCase()} BETWEEN ${bound(frame.from)} AND ${bound(frame.to)}`,
  ];
  const [of, over] = [window.of.map(value), parts.join('').trimStart()];
  const printed = dialect.windows[window.window];
  return printed === undefined ? `${window.window}(${of.join(', ')}) OVER (${over})` : printed(of, over, window);
}

function bound(one: 'first' | 'last' | number): string {
  if (one === 'first') return 'UNBOUNDED PRECEDING';
  if (one === 'last') return 'UNBOUNDED FOLLOWING';
  if (one === 0) return 'CURRENT ROW';
  return `${Math.abs(one)} ${one < 0 ? 'PRECEDING' : 'FOLLOWING'}`;
}

/** The columns that a SELECT reads of its relations, each once. */
function fieldsOf({ joins, unnest, where, group, having, windows, columns, order, limitBy }: Select): QueryField[] {
  const fields = fieldsIn([
    ...joins.map(({ on }) => on),
    unnest?.list,
    where,
    ...(group?.keys ?? []),
    ...(group?.aggregates ?? []).flatMap((one) => [...one.of, one.where, one.by]),
    having,
    ...(windows?.all ?? []).flatMap((one) => [...one.of, ...one.partition, ...one.order.map((by) => by.expression)]),
    ...[...columns, ...order].map(({ expression }) => expression),
    ...(limitBy?.of ?? []),
  ]);
  return [...new Map(fields.map((one) => [`${one.relation} ${one.column}`, one])).values()];
}

/** Whether an expression reads a relation. */
const reads = (expression: Expression, relation: string): boolean =>
  fieldsIn([expression]).some((field) => field.relation === relation);
