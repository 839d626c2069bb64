/** What a function is: how many arguments it takes, and the tree that a call of it becomes. */
import { argument, constantText, operation } from '../build.ts';
import { type Expression, type Operator, type Type } from '../expression.ts';
import { refuse } from '../refusal.ts';

/** Makes the tree of a call; `name` is its function as the author wrote it, `lower()`, for the texts of refusals. */
export type Build = (of: readonly Expression[], name: string) => Expression;

export interface FunctionSpec {
  readonly least: number;
  readonly most: number;
  readonly build: Build;
}

export const given = (of: readonly Expression[], n: number): Expression => of[n] as Expression;

export const constantOf = (of: readonly Expression[], n: number, name: string): string =>
  constantText(given(of, n)) ?? refuse(`Argument ${n + 1} of ${name} must be a text constant`);

/** A function of arguments of fixed types that one operator carries out. */
export const simple = (operator: Operator, ...types: readonly Type[]): FunctionSpec => ({
  least: types.length,
  most: types.length,
  build: (of, name) =>
    operation(
      operator,
      types.map((type, n) => argument(given(of, n), type, name)),
    ),
});

export const exactly = (count: number, build: Build): FunctionSpec => ({ least: count, most: count, build });
export const between = (least: number, most: number, build: Build): FunctionSpec => ({ least, most, build });
export const atLeast = (least: number, build: Build): FunctionSpec => ({
  least,
  most: Number.POSITIVE_INFINITY,
  build,
});
