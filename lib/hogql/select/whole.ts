/** What is known of the whole of a query while it is checked, each SELECT of it included. */
import type { Scope } from '../check.ts';
import { clockOfQuery, zoneOf } from '../clock.ts';
import type { Column, Expression, Query, Type } from '../expression.ts';
import { refuse } from '../refusal.ts';
import type { NamedQuery } from '../row-order.ts';
import { TOO_COMPLEX, weightOfAll } from '../size.ts';
import type { Syntax } from '../syntax.ts';

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
export type TableFields = ReadonlyMap<string, TableField>;

const MAX_SOURCES = 60;

const MAX_WINDOWS = 100;

/** Of all expressions together. */
const MAX_WEIGHT = 20_000;

/** A query, and what its columns are to those around it. */
export interface Checked {
  readonly query: Query;
  readonly columns: readonly Column[];
}

/** Queries that are named by WITH, by their names. */
export type Named = ReadonlyMap<string, { readonly name: string; readonly columns: readonly Column[] }>;

/** What is known of the whole of a query while it is checked. */
export interface Whole {
  readonly tables: ReadonlyMap<string, TableFields>;
  readonly read: Map<string, Set<string>>;
  relations: number;
  sources: number;
  windows: number;
  weight: number;
  readonly visits: Scope['visits'];
  readonly named: NamedQuery[];
  /** Queries after IN, and what they are called. */
  readonly among: Map<Syntax, Checked & { readonly as: string }>;
  /** Expressions that are alike have one number. */
  readonly ids: Map<string, number>;
  readonly idOf: WeakMap<Expression, number>;
  /** What the author calls a column. */
  readonly names: WeakMap<Expression, string>;
  /** The names of columns, of subqueries too, that are neither field nor alias: they are called as they are computed. */
  readonly computed: Set<string>;
  /** Checks a query inside this one, which may name these. */
  check(syntax: Syntax, named: Named): Checked;
}

export const relationName = (whole: Whole): string => `r${whole.relations++}`;

/** Counts a table or a subquery that is read. */
export function countSource(whole: Whole): void {
  whole.sources += 1;
  if (whole.sources > MAX_SOURCES) refuse(`A query reads at most ${MAX_SOURCES} tables and subqueries`);
}

/** Counts a window function. */
export function countWindow(whole: Whole): void {
  whole.windows += 1;
  if (whole.windows > MAX_WINDOWS) refuse(`A query has at most ${MAX_WINDOWS} window functions`);
}

/** Counts what a part of the query weighs. */
export function weigh(expressions: readonly Expression[], whole: Whole): void {
  whole.weight += weightOfAll(expressions);
  if (whole.weight > MAX_WEIGHT) refuse(TOO_COMPLEX);
}

/** The number of an expression: alike are those that give the same, whatever the row, and times in the same zone. */
export function idOf(value: Expression, whole: Whole): number {
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

export function idOfText(text: string, { ids }: Whole): number {
  const id = ids.get(text) ?? ids.size;
  ids.set(text, id);
  return id;
}
