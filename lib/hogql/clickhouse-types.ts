/** ClickHouse's names of types, by which clients of PostHog know what a column holds. */
import { clockOfQuery, zoneOf } from './clock.ts';
import { type Expression, elementType, isList, isTuple, type Operator, partTypes, type Type } from './expression.ts';

/** The names of columns' types that do not follow from their values. */
const names = new WeakMap<Expression, string>();

/** Returns the expression, which is known to have this type; undefined: the usual one. */
export function withClickhouseType(expression: Expression, name: string | undefined): Expression {
  if (name !== undefined) names.set(expression, name);
  return expression;
}

/** Operators that give null for some values that are not. */
const FAILING = /_of_text$|^(?:element|property|json_raw|json_scalar|integer_of_float|instant_of_seconds|substring)/;
/** Operators that never give null. */
const CERTAIN: ReadonlySet<Operator> = new Set([
  'is_null',
  'equal',
  'less',
  'less_or_equal',
  'in',
  'in_query',
  'has',
  'has_any',
  'has_all',
  'json_has',
  'json_length',
]);

/** Whether a value may be missing. One that overflows, or is divided by zero, is not: ClickHouse gives another number. */
export function canBeMissing(expression: Expression): boolean {
  const known = names.get(expression);
  if (known !== undefined) return known.startsWith('Nullable(');
  if ('constant' in expression) return expression.constant === null;
  if (!('operator' in expression)) return false;
  const { operator, of } = expression;
  if (CERTAIN.has(operator)) return false;
  if (FAILING.test(operator)) return true;
  if (operator === 'coalesce') return of.every(canBeMissing);
  const values = operator === 'if' ? of.filter((_, n) => n % 2 === 1 || n === of.length - 1) : of;
  return values.some(canBeMissing);
}

/** Returns ClickHouse's name of the type of an expression. */
export function clickhouseType(expression: Expression): string {
  const known = names.get(expression);
  if (known !== undefined) return known;
  const { type } = expression;
  if (isTuple(type)) return ofParts(expression) ?? nameOf(type, zoneOf(expression));
  if (isList(type)) {
    const [first] = 'operator' in expression ? expression.of : [];
    const element = type.startsWith('tuples(') && first !== undefined ? (elementOf(expression) ?? first) : undefined;
    return element === undefined || !isTuple(element.type)
      ? nameOf(type, zoneOf(expression))
      : `Array(${clickhouseType(element)})`;
  }
  const part = ofPart(expression);
  if (part !== undefined) return part;
  const name = nameOf(type, zoneOf(expression));
  return canBeMissing(expression) ? nullable(name) : name;
}

/** Returns the name of a type that may be null; lists and tuples never are, in ClickHouse. */
export const nullable = (name: string): string =>
  /^(?:Nullable|Array|Tuple)\(/.test(name) ? name : `Nullable(${name})`;

/** Returns the names of the types that a `Tuple(…)` is of; undefined: it is none. */
export function partNames(name: string): readonly string[] | undefined {
  const inside = /^Tuple\((.*)\)$/.exec(name)?.[1];
  if (inside === undefined) return undefined;
  const parts: string[] = [];
  let depth = 0;
  for (const piece of inside.split(', ')) {
    if (depth === 0) parts.push(piece);
    else parts.push(`${parts.pop()}, ${piece}`);
    depth += piece.split('(').length - piece.split(')').length;
  }
  return parts;
}

/** The name of a tuple that is made of parts, or that is one of several alike. */
function ofParts(expression: Expression): string | undefined {
  if (!('operator' in expression)) return undefined;
  const { operator, of } = expression;
  if (operator === 'tuple') return `Tuple(${of.map(clickhouseType).join(', ')})`;
  const alike = of.find(({ type }) => type === expression.type);
  if (alike !== undefined) return clickhouseType(alike);
  const [first] = of;
  return operator === 'element' && first !== undefined ? /^Array\((.*)\)$/.exec(clickhouseType(first))?.[1] : undefined;
}

/** What the elements of a list are like. */
function elementOf(list: Expression): Expression | undefined {
  if (!('operator' in list)) return undefined;
  return list.operator === 'map' ? list.each : list.of[0];
}

/** The name of the type of a part of a tuple. */
function ofPart(expression: Expression): string | undefined {
  if (!('operator' in expression) || expression.operator !== 'tuple_part') return undefined;
  const [tuple] = expression.of;
  return tuple && partNames(clickhouseType(tuple))?.[(expression.with?.place ?? 1) - 1];
}

function nameOf(type: Type, zone: string | undefined): string {
  if (isTuple(type))
    return `Tuple(${partTypes(type)
      .map((part, n) => nameOf(part, zone?.split(',')[n] || undefined))
      .join(', ')})`;
  if (isList(type)) return `Array(${nameOf(elementType(type), zone)})`;
  if (type === 'instant') return `DateTime64(6, '${zone ?? clockOfQuery().zone}')`;
  return { text: 'String', json: 'String', integer: 'Int64', float: 'Float64', boolean: 'Bool', date: 'Date' }[type];
}
