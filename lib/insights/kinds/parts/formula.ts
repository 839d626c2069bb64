/** Formulas over the series of an insight: `A + 2 * B`. */

import { beginningOf, inQuotes } from '../../../basics/text.ts';
import { UNREADABLE } from '../../../hogql/refusal.ts';
import type { Known, Syntax } from '../../../hogql/syntax.ts';
import { Failure, invalid } from '../../../ports/errors.ts';
import type { World } from '../kind.ts';

/** Returns the number that a formula gives for the numbers of the series, in their order. */
export type Formula = (values: readonly number[]) => number;

/** The name of a series in formulas, by its place from 0. */
const letterOf = (place: number): string => String.fromCharCode('A'.charCodeAt(0) + place);

const OPERATIONS: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => (right === 0 ? 0 : left / right),
  '%': (left, right) => (right === 0 ? 0 : restOf(left % right, right)),
};

/** The rest has the sign of what is divided by, as PostHog's has: -7 % 3 is 2. */
const restOf = (rest: number, right: number): number => (rest !== 0 && rest < 0 !== right < 0 ? rest + right : rest);

/**
 * Reads a formula of numbers, the letters of so many series in any case, `+ - * / %` and brackets. A division by 0 is 0,
 * and so is what is beyond all numbers. Throws `Failure` (400) about `attr` for anything else.
 */
export async function readFormula(text: string, series: number, attr: string, world: World): Promise<Formula> {
  const formula = formulaOf(await written(text, attr, world), series, attr);
  return (values) => {
    const found = formula(values);
    // What is added makes 0 of -0.
    return Number.isFinite(found) ? found + 0 : 0;
  };
}

/** Returns what a formula is made of. Throws `Failure` (400) about `attr` where it is none, and says from where on. */
async function written(text: string, attr: string, world: World): Promise<Syntax> {
  try {
    return await world.expression(text);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'validation') throw error;
    const detail = error.message
      .replace(UNREADABLE, 'The formula cannot be read')
      .replace(/^The query /, 'The formula ');
    return invalid(attr, detail);
  }
}

function formulaOf(asked: Syntax, series: number, attr: string): Formula {
  const syntax = asked as Known;
  const operand = (one: Syntax): Formula => formulaOf(one, series, attr);
  if (syntax.node === 'Constant' && typeof syntax.value === 'object' && syntax.value !== null) {
    const number = Number(syntax.value.number);
    return () => number;
  }
  if (syntax.node === 'Field') return letter(syntax.chain.join('.'), series, attr);
  if (syntax.node === 'ArithmeticOperation') {
    const [left, right, apply] = [operand(syntax.left), operand(syntax.right), OPERATIONS[syntax.op]];
    if (apply !== undefined) return (values) => apply(left(values), right(values));
  }
  if (syntax.node === 'Call' && syntax.name === 'negate' && syntax.args.length === 1) {
    const value = operand(syntax.args[0] as Syntax);
    return (values) => -value(values);
  }
  return invalid(
    attr,
    'A formula is made of numbers, the letters of series, + - * / % and brackets, as in (A + B) / 2.',
  );
}

function letter(name: string, series: number, attr: string): Formula {
  const letters = Array.from({ length: series }, (_, place) => letterOf(place));
  const place = letters.indexOf(name.toUpperCase());
  if (place < 0)
    invalid(attr, `The formula names '${beginningOf(name, 50)}'. There are the series ${inQuotes(letters)}.`);
  return (values) => values[place] ?? 0;
}
