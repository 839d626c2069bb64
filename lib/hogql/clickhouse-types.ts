/** ClickHouse's names of types, by which clients of PostHog know what a column holds. */
import { clockOfQuery } from './clock.ts';
import { ELEMENTS, type Expression, isList, type Operator, type Scalar } from './expression.ts';
import { zoneOf } from './functions.ts';

/** The names of columns' types that do not follow from their values. */
const names = new WeakMap<Expression, string>();

/** Returns the expression, which is known to have this type; undefined: the usual one. */
export function withClickhouseType(expression: Expression, name: string | undefined): Expression {
  if (name !== undefined) names.set(expression, name);
  return expression;
}

/** Operators that give null for some values that are not. */
const FAILING =
  /_of_text$|^(?:add|subtract|multiply|divide|modulo|abs|null_if|element|property|json_raw|json_scalar|integer_of_float|instant_of_seconds|substring)/;
/** Operators that never give null. */
const CERTAIN: ReadonlySet<Operator> = new Set([
  'is_null',
  'equal',
  'less',
  'less_or_equal',
  'in',
  'in_query',
  'has',
  'json_has',
  'json_length',
]);

function isNullable(expression: Expression): boolean {
  const known = names.get(expression);
  if (known !== undefined) return known.startsWith('Nullable(');
  if ('constant' in expression) return expression.constant === null;
  if (!('operator' in expression)) return false;
  const { operator, of } = expression;
  if (CERTAIN.has(operator)) return false;
  if (FAILING.test(operator)) return true;
  if (operator === 'coalesce') return of.every(isNullable);
  const values = operator === 'if' ? of.filter((_, n) => n % 2 === 1 || n === of.length - 1) : of;
  return values.some(isNullable);
}

/** Returns ClickHouse's name of the type of an expression. */
export function clickhouseType(expression: Expression): string {
  const known = names.get(expression);
  if (known !== undefined) return known;
  const { type } = expression;
  if (isList(type)) return `Array(${nameOf(ELEMENTS[type], undefined)})`;
  const name = nameOf(type, zoneOf(expression));
  return isNullable(expression) ? `Nullable(${name})` : name;
}

function nameOf(type: Scalar, zone: string | undefined): string {
  if (type === 'instant') return `DateTime64(6, '${zone ?? clockOfQuery().zone}')`;
  return { text: 'String', json: 'String', integer: 'Int64', float: 'Float64', boolean: 'Bool', date: 'Date' }[type];
}
