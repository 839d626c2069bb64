/** Functions of JSON documents. */
import {
  argument,
  constantText,
  converted,
  indexOf,
  integerConstant,
  nothing,
  operation,
  textConstant,
  truth,
} from '../build.ts';
import { type Expression, type Operator, type Path } from '../expression.ts';
import { refuse } from '../refusal.ts';
import { atLeast, type Build, constantOf, type FunctionSpec, given } from './spec.ts';
import { choice, equal, integerOf, less, lessOrEqual, otherwise, wholePart } from './values.ts';

/** The way into a document that the arguments name; arrays are counted from 1. */
function pathOf(of: readonly Expression[], name: string): Path {
  return of.slice(1).map((step, n) => {
    const index = indexOf(integerOf(step) ?? 0);
    return (
      index ??
      constantText(step) ??
      refuse(`Argument ${n + 2} of ${name} must be a text constant, or a place in an array, from 1`)
    );
  });
}

export const json = (operator: Operator, then: (found: Expression) => Expression = (found) => found): FunctionSpec =>
  atLeast(1, (of, name) =>
    then(operation(operator, [argument(given(of, 0), 'json', name)], { path: pathOf(of, name) })),
  );

/**
 * What is at a path as the type that the last argument names; its 0, or no text, where it has none, and of one that is
 * nullable null.
 */
export const typedJson: Build = (of, name) => {
  const way = of.slice(0, -1);
  const at = (operator: Operator): Expression => json(operator).build(way, name);
  const [, nullable, plain] = /^(?:Nullable\((.*)\)|(.*))$/s.exec(constantOf(of, of.length - 1, name)) ?? [];
  const wanted =
    `Argument ${of.length} of ${name} must be 'String', 'Int64', 'UInt64', 'Float64' or 'Bool', ` +
    `one of these as in 'Nullable(String)', or 'Array(String)'`;
  const asFloat = (): Expression => converted(at('json_scalar'), 'float', name);
  const is = (word: string): Expression => equal([converted(at('json_raw'), 'text', name), textConstant(word)], name);
  const asTruth = (): Expression =>
    nullable === undefined
      ? is('true')
      : choice([is('true'), truth(true), is('false'), truth(false), nothing('boolean')], name);
  const asInteger = (): Expression =>
    operation('coalesce', [
      converted(at('json_scalar'), 'integer', name),
      wholePart(asFloat()),
      converted(asTruth(), 'integer', name),
    ]);
  switch (nullable ?? plain ?? '') {
    case 'String':
      return nullable === undefined ? otherwise(at('property_value'), textConstant('')) : at('property_value');
    case 'Int64':
      return asInteger();
    case 'UInt64': {
      const zero = integerConstant(0);
      if (nullable === undefined) return operation('greatest', [asInteger(), zero]);
      return choice([less([asInteger(), zero], name), nothing('integer'), asInteger()], name);
    }
    case 'Float64':
      return otherwise(asFloat(), converted(asTruth(), 'float', name));
    case 'Bool': {
      // ClickHouse holds it in a byte, and reads no other numbers.
      const [zero, one] = [integerConstant(0), integerConstant(1)];
      const isByte = operation('and', [
        lessOrEqual([zero, asFloat()], name),
        lessOrEqual([asFloat(), integerConstant(255)], name),
      ]);
      return choice([isByte, lessOrEqual([one, asFloat()], name), asTruth()], name);
    }
    case 'Array(String)':
      // ClickHouse has no lists that may be null.
      return nullable === undefined ? otherwise(at('json_texts'), operation('list', [])) : refuse(wanted);
    default:
      return refuse(wanted);
  }
};
