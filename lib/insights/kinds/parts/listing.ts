/** Tables of columns that a caller writes: what EventsQuery and ActorsQuery have in common. */
import * as z from 'zod';
import { isObject } from '../../../basics/json.ts';
import { isAggregate } from '../../../hogql/aggregates.ts';
import type { Syntax } from '../../../hogql/syntax.ts';
import { all, call, constant, field } from '../../../hogql/write.ts';
import { integer, text } from '../../../http/fields.ts';
import type { Question, World } from '../kind.ts';
import { cellsOf } from './cells.ts';

const MAX_COLUMNS = 100;
const MAX_LIMIT = 50_000;
const MAX_OFFSET = 1_000_000;

/** So many rows are given, unless asked for others. */
const DEFAULT_LIMIT = 100;

/** The members of a query that say which columns and rows it wants. */
export const listingMembers = () => ({
  select: z.array(text()).max(MAX_COLUMNS).nullish(),
  orderBy: z.array(text()).max(MAX_COLUMNS).nullish(),
  limit: integer({ min: 1, max: MAX_LIMIT }).nullish(),
  offset: integer({ min: 0, max: MAX_OFFSET }).nullish(),
});

type ListingQuery = z.output<z.ZodObject<ReturnType<typeof listingMembers>>>;

/** A column of the answer. */
export interface ListedColumn {
  /** What it is called in `columns`. */
  readonly name: string;
  /** What is read for it: one expression, where nothing else is said. */
  readonly parts: readonly Syntax[];
  /** ClickHouse's name of its type; by default that of its only part. */
  readonly type?: (types: readonly string[]) => string;
  /** Returns its cell, of what was read; by default the only part. */
  readonly cell?: (parts: readonly unknown[]) => unknown;
}

/** The table that a query lists. */
interface Listing {
  readonly columns: readonly ListedColumn[];
  /** What follows FROM. */
  readonly from: string;
  readonly values: NonNullable<Question['values']>;
  /** Those with aggregates are of groups. */
  readonly conditions: readonly Syntax[];
  /** The column by which the newest rows come first, where the query says no order. */
  readonly newest: string;
  /** What makes the order of rows without aggregates total, so that pages do not overlap. */
  readonly key: readonly Syntax[];
  /** Of the question. */
  readonly range: Pick<Question, 'from' | 'to'>;
}

interface Order {
  readonly by: Syntax;
  readonly isDown: boolean;
}

/** Columns that are no expressions, by what stands before the `--` of their title. */
export type SpecialColumns = Readonly<Record<string, Omit<ListedColumn, 'name'>>>;

/** Returns the columns that a query wants, or the usual ones. */
export function columnsOf(
  { select }: ListingQuery,
  usual: readonly string[],
  special: SpecialColumns,
  world: World,
): Promise<ListedColumn[]> {
  const names = select?.length ? select : usual;
  return Promise.all(names.map((name) => columnOf(name, special, world)));
}

/** Returns a column that a caller wrote. */
async function columnOf(text: string, special: SpecialColumns, world: World): Promise<ListedColumn> {
  const word = text.split('--')[0]?.trim() ?? '';
  if (Object.hasOwn(special, word)) return { name: text, parts: [], ...special[word] };
  const expression = await world.expression(text);
  return { name: expression.node === 'Alias' && 'alias' in expression ? expression.alias : text, parts: [expression] };
}

/** What persons are called by: the first that is there. */
const NAMES = ['email', 'Email', 'name', 'Name', 'username', 'Username', 'UserName'] as const;

/** Returns how a person is called. */
export const displayName = (otherwise: Syntax): Syntax =>
  call(
    'coalesce',
    ...NAMES.map((name) => call('nullIf', call('toString', field('person', 'properties', name)), constant(''))),
    otherwise,
  );

/** Returns ClickHouse's name of the type of a cell that is made of several. */
export const tupleType = (types: readonly string[]): string => `Tuple(${types.join(', ')})`;

/** Returns the object of a cell of JSON; where there is none, an empty one. */
export const objectOf = (cell: unknown): unknown => (typeof cell === 'string' ? JSON.parse(cell) : {});

/** Returns whether an expression has an aggregate in it, of which its rows are no longer single. */
function hasAggregate(syntax: unknown): boolean {
  if (Array.isArray(syntax)) return syntax.some(hasAggregate);
  if (!isObject(syntax)) return false;
  if (syntax['node'] === 'SelectQuery' || syntax['node'] === 'WindowFunction') return false;
  if (syntax['node'] === 'Call' && isAggregate(String(syntax['name']))) return true;
  return Object.values(syntax).some(hasAggregate);
}

/** Returns the expression of an alias. */
function withoutAlias(syntax: Syntax): Syntax {
  return syntax.node === 'Alias' && 'expr' in syntax ? withoutAlias(syntax.expr) : syntax;
}

const DIRECTION = /\s(ASC|DESC)$/i;

/** Returns the order that a text such as `timestamp DESC` asks for; a column is found by its name. */
async function orderOf(text: string, columns: readonly ListedColumn[], world: World): Promise<readonly Order[]> {
  const order = text.trim();
  const isDown = DIRECTION.exec(order)?.[1]?.toUpperCase() === 'DESC';
  const name = order.replace(DIRECTION, '').trim();
  const column = columns.find((one) => one.name === name);
  const parts = column === undefined ? [await world.expression(name)] : column.parts.slice(0, 1);
  return parts.map((part) => ({ by: withoutAlias(part), isDown }));
}

/**
 * Returns the order where the caller says none: the count of rows, else the first aggregate, else `newest`, each from its
 * greatest; else the first column.
 */
function usualOrder(columns: readonly ListedColumn[], newest: string): readonly Order[] {
  const greatest =
    columns.find(({ name }) => name === 'count()') ??
    columns.find(({ parts }) => hasAggregate(parts)) ??
    columns.find(({ name }) => name === newest);
  const column = greatest ?? columns[0];
  return (column?.parts.slice(0, 1) ?? []).map((part) => ({ by: withoutAlias(part), isDown: greatest !== undefined }));
}

/** Rows of a table as its caller gets them. */
interface Listed {
  readonly columns: readonly string[];
  readonly types: readonly string[];
  readonly results: readonly (readonly unknown[])[];
  readonly hasMore: boolean;
  readonly limit: number;
  readonly offset: number;
}

/** Asks for the rows that a query wants of a table, and returns them as its caller gets them. */
export async function listed(query: ListingQuery, listing: Listing, world: World): Promise<Listed> {
  const { columns, newest, range } = listing;
  const order = query.orderBy?.length
    ? (await Promise.all(query.orderBy.map((one) => orderOf(one, columns, world)))).flat()
    : usualOrder(columns, newest);
  const limit = query.limit ?? DEFAULT_LIMIT;
  const offset = query.offset ?? 0;
  // One row more tells whether there are more.
  const { rows, types } = await world.rows({ ...questionOf(listing, order, limit + 1, offset), ...range });
  const cells = cellsOf({ rows, types }, world.timezone);
  return { ...shown(columns, cells.slice(0, limit), types), hasMore: rows.length > limit, limit, offset };
}

function questionOf(
  { columns, from, values, conditions, key }: Listing,
  order: readonly Order[],
  limit: number,
  offset: number,
): Question {
  const parts = columns.flatMap((column) => column.parts);
  const isGrouped = hasAggregate(parts) || conditions.some(hasAggregate);
  const groups = isGrouped ? parts.map(withoutAlias).filter((part) => !hasAggregate(part) && !isConstant(part)) : [];
  const last = isGrouped ? groups : key;
  const ordered = [...order, ...last.map((by) => ({ by, isDown: !isGrouped && order[0]?.isDown === true }))];
  const having = conditions.filter(hasAggregate);
  const by = ordered.map(({ isDown }, n) => `{order_${n}}${isDown ? ' DESC' : ''}`).join(', ');
  return {
    hogql: [
      `SELECT ${list('part', parts)} FROM ${from} WHERE {passing}`,
      ...(groups.length === 0 ? [] : [`GROUP BY ${list('group', groups)}`]),
      ...(having.length === 0 ? [] : ['HAVING {having}']),
      ...(by === '' ? [] : [`ORDER BY ${by}`]),
      'LIMIT {limit} OFFSET {offset}',
    ].join(' '),
    values: {
      ...values,
      ...Object.fromEntries([
        ...named('part', parts.map(aliased)),
        ...named('group', groups),
        ...named(
          'order',
          ordered.map((one) => one.by),
        ),
      ]),
      passing: all(conditions.filter((one) => !hasAggregate(one))),
      having: all(having),
      limit: constant(limit),
      offset: constant(offset),
    },
  };
}

/** Values of placeholders that are called by one name and their place. */
const named = (name: string, values: readonly Syntax[]): [string, Syntax][] =>
  values.map((one, n) => [`${name}_${n}`, one]);

const list = (name: string, values: readonly unknown[]): string => values.map((_, n) => `{${name}_${n}}`).join(', ');

const isConstant = (syntax: Syntax): boolean => syntax.node === 'Constant';

/** Columns of one name are told apart by their place. */
const aliased = (part: Syntax, index: number): Syntax =>
  part.node === 'Alias' ? part : { node: 'Alias', alias: `column_${index}`, expr: part };

/** Returns the rows that were read for these columns, as their caller gets them. */
function shown(
  columns: readonly ListedColumn[],
  rows: readonly (readonly unknown[])[],
  types: readonly string[],
): Pick<Listed, 'columns' | 'types' | 'results'> {
  const each = <Cell, Shown>(
    cells: readonly Cell[],
    show: (column: ListedColumn, of: readonly Cell[]) => Shown,
  ): Shown[] => {
    let end = 0;
    return columns.map((column) => show(column, cells.slice(end, (end += column.parts.length))));
  };
  return {
    columns: columns.map(({ name }) => name),
    types: each(types, ({ type }, of) => type?.(of) ?? String(of[0])),
    results: rows.map((row) => each(row, ({ cell }, of) => (cell === undefined ? of[0] : cell(of)))),
  };
}
