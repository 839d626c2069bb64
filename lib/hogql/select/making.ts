/** What is known of one SELECT while it is checked. */
import type { Aggregate, Expression, Join, Window } from '../expression.ts';
import type { Syntax, WindowExpr } from '../syntax.ts';
import type { Named, Whole } from './whole.ts';

/** What a SELECT may take columns from. */
export interface Relation {
  readonly as: string;
  /** What the author may call it. */
  readonly names: readonly string[];
  /** The column that a path begins with, and how much of the path is its name; undefined: there is none. */
  find(path: readonly (string | number)[]): { readonly value: Expression; readonly length: number } | undefined;
  /** The names that `*` stands for. */
  readonly all: readonly string[];
  /** The names of columns that `*` leaves out, which are paths: `person.id`. */
  readonly below: readonly string[];
}

/** Where an expression of a SELECT stands: what reads rows, and what reads groups if there are any. */
export type Stage = 'rows' | 'groups';

/** What a SELECT computes once for all that are alike, in the order in which they were found, and the column of it. */
interface Held<Value> {
  readonly value: Value;
  readonly column: Expression;
}

/** Returns what is held, by the numbers of the columns. */
export const heldIn = <Value>(held: ReadonlyMap<unknown, Held<Value>>): Value[] =>
  [...held.values()].map(({ value }) => value);

/** A SELECT while it is checked: what was found of it so far. */
export interface Making {
  readonly whole: Whole;
  readonly named: Named;
  readonly relations: Relation[];
  readonly aliases: ReadonlyMap<string, Syntax>;
  readonly windowNames: Readonly<Record<string, WindowExpr>>;
  readonly keys: Map<number, Held<Expression>>;
  readonly aggregates: Map<string, Held<Aggregate>>;
  readonly windows: Map<string, Held<Window>>;
  unnest: { readonly list: Expression; readonly as: string } | undefined;
  /** Queries whose one value is read, by the stage that reads it; undefined: none may be, as after ON. */
  readonly values: Readonly<Record<Stage, Join[]>> | undefined;
  /** The relations of the groups and of the windows. */
  readonly group: string | undefined;
  readonly window: string;
}
