/** From syntax to the checked tree of an expression: every name and type is known after this, or refused in words. */
import { beginningOf } from '../basics/text.ts';
import {
  anyOf,
  column,
  comparable,
  indexOf,
  integerConstant,
  isNothing,
  nothing,
  operation,
  partOf,
  partsOf,
  plain,
  textConstant,
  truth,
  tupleOfParts,
  unified,
} from './build.ts';
import { movedInto, zoneOf } from './clock.ts';
import {
  type Expression,
  elementType,
  isList,
  isTuple,
  type List,
  type Operator,
  type Path,
  type QueryTable,
  type Scalar,
  type Tuple,
  type Unit,
} from './expression.ts';
import { arithmetic, divided } from './functions/numbers.ts';
import { like, matches } from './functions/texts.ts';
import { shifted, unitOf } from './functions/times.ts';
import { aList, condition, elementOf, equal, less, lessOrEqual, ordered, partByPart } from './functions/values.ts';
import { FUNCTION_NAMES, functionOf, OVER_LISTS } from './functions.ts';
import { refuse, within } from './refusal.ts';
import { readsOnly, TOO_COMPLEX } from './size.ts';
import { type Call, type CompareOperation, chainOf, isA, isQuery, type Known, type Syntax, tupleOf } from './syntax.ts';

/** Fields that HogQL's events have, and that are not exported. */
const NOT_EXPORTED =
  /^(\$session_id|\$window_id|\$group_\d|group_\d|elements_chain_\w+|session|pdi|poe|goe_\d|person_mode|override|event_\w+)$/;

const AGGREGATES =
  /^(count|sum|avg|min|max|any|anyLast|anyHeavy|uniq|uniqExact|uniqHLL12|uniqMap|median|stddev\w*|var\w*|covar\w*|corr|quantiles?\w*|argMin|argMax|group\w+|top\w+|sumMap|minMap|maxMap|avgWeighted|first_value|last_value|array_agg|string_agg|retention|sequence\w+|windowFunnel|histogram|skew\w+|kurt\w+|entropy|count_distinct)(If|Array|Map|Distinct|OrNull|OrDefault|State|Merge)*$/i;

/** What is said of syntax for which there are no words of its own. */
export const UNSUPPORTED = 'Unsupported HogQL query';

/** Where a node stands in the text. */
const PLACES: readonly string[] = ['start', 'end'];

/** Refuses what has any part beyond those that are read, at its place if it has one; `false` and null are as if absent. */
export function refuseParts(node: object, read: readonly string[], texts: Readonly<Record<string, string>>): void {
  const found = new Set(
    Object.entries(node).flatMap(([key, value]) =>
      value === null || value === false || read.includes(key) || PLACES.includes(key) ? [] : [key],
    ),
  );
  for (const [key, words] of Object.entries(texts)) {
    const part: unknown = [(node as Readonly<Record<string, unknown>>)[key]].flat()[0];
    if (found.has(key)) within(Object(part), () => refuse(words));
  }
  if (found.size > 0) refuse(UNSUPPORTED);
}

/** What expressions may say in a SELECT, beyond what they may say of one table. */
interface Beyond {
  /** What a field is of. */
  field(path: readonly (string | number)[], scope: Scope): Expression;
  /** What a call is of a function that only a SELECT has; undefined: it is another. */
  call(node: Call, scope: Scope): Expression | undefined;
  /** What other syntax is; undefined: nothing. */
  other(syntax: Syntax, scope: Scope): Expression | undefined;
  /** `x IN (SELECT ...)` */
  among(value: Expression, query: Syntax): Expression;
  /** What stands for an expression that was built: a key of the group, or the expression itself. */
  standing(built: Expression): Expression;
}

/** What names mean where an expression stands. */
export interface Scope {
  readonly beyond?: Beyond;
  readonly table: QueryTable;
  /** Whose query it is. */
  readonly reader: string;
  /** Names of the table. */
  readonly tables: readonly string[];
  /** Expressions of the query by their aliases. */
  readonly aliases: ReadonlyMap<string, Syntax>;
  /** What aliases stand for, as trees: each is built once. */
  readonly built: Map<Syntax, Expression>;
  /** Aliases that are being followed: one may not lead to itself. */
  readonly following: readonly string[];
  /** Elements of lists by their names, from outside to inside. */
  readonly variables: readonly { readonly name: string; readonly type: Scalar | Tuple; readonly zone?: string }[];
  readonly isSelect: boolean;
  /** How many nodes are being visited, one inside another, and how many were visited in all. */
  readonly visits: { now: number; all: number; readonly most?: number };
}

/** The parser's trees are deeper than ours: brackets and names of columns are nodes too. */
const MAX_VISITS = { now: 200, all: 20_000 };

/** What an alias stands for: the same tree wherever it stands, so without the elements of lists around it. */
export function standingFor(alias: string, syntax: Syntax, scope: Scope): Expression {
  const built = scope.built.get(syntax);
  if (built !== undefined) return built;
  if (scope.following.includes(alias)) refuse(`Alias ${alias} stands for itself`);
  const found = expression(syntax, { ...scope, following: [...scope.following, alias], variables: [] });
  scope.built.set(syntax, found);
  return found;
}

export function expression(syntax: Syntax, scope: Scope): Expression {
  const { visits } = scope;
  visits.all += 1;
  visits.now += 1;
  if (visits.now > MAX_VISITS.now || visits.all > (visits.most ?? MAX_VISITS.all)) refuse(TOO_COMPLEX);
  const found = within(syntax, () => built(syntax, scope));
  visits.now -= 1;
  return standing(found, scope);
}

/** What stands for an expression that was built where the scope is: in a SELECT that has groups it may be a key of them. */
export const standing = (built: Expression, { beyond }: Scope): Expression => beyond?.standing(built) ?? built;

function built(syntax: Syntax, scope: Scope): Expression {
  const path = chainOf(syntax);
  if (path !== undefined) return field(path, scope);
  const of = (one: Syntax): Expression => expression(one, scope);
  const node = syntax as Known;
  switch (node.node) {
    case 'Constant':
      return constant(node);
    case 'Alias':
      return of(node.expr);
    case 'Call':
      return called(node, scope);
    case 'ArithmeticOperation':
      return calculated(node.op, node.left, node.right, scope);
    case 'CompareOperation':
      return compared(node, scope);
    case 'BetweenExpr': {
      const [value, low, high] = [of(node.expr), of(node.low), of(node.high)];
      const inside = operation('between', ordered([value, low, high], 'BETWEEN'));
      return node.negated ? operation('not', [inside]) : inside;
    }
    case 'And':
    case 'Or': {
      const conditions = node.exprs.map((one) => condition(of(one), node.node.toUpperCase()));
      return operation(node.node === 'And' ? 'and' : 'or', conditions);
    }
    case 'Not':
      return operation('not', [condition(of(node.expr), 'NOT')]);
    case 'ArrayAccess':
      return elementOf(of(node.array), of(node.property), '[ ]');
    case 'TupleAccess': {
      const value = of(node.tuple);
      return isTuple(value.type) ? partOf(value, node.index, '.') : elementOf(value, integerConstant(node.index), '.');
    }
    case 'Array': {
      if (node.exprs.length === 0) refuse('A list of nothing, [], is not supported: its elements have no type');
      const elements = unified(node.exprs.map(of), 'A list');
      if (elements.some(({ type }) => isList(type))) refuse('Lists of lists are not supported');
      return operation('list', elements.map(plain));
    }
    case 'TypeCast':
      return call(castOf(node.type_name), [of(node.expr)]);
    case 'Tuple':
      return tupleOfParts(node.exprs.map(of));
    case 'Lambda':
      return refuse(`Lambdas are only supported in ${LISTED.format(Object.keys(OVER_LISTS).map((one) => `${one}()`))}`);
    case 'Field':
    case 'SelectQuery':
    case 'SelectSetQuery':
    case 'WindowFunction':
    case 'Placeholder':
    default:
      return scope.beyond?.other(syntax, scope) ?? refuse(otherText(syntax.node, scope));
  }
}

const LISTED = new Intl.ListFormat('en-GB');

const OTHERS: Readonly<Record<string, string>> = {
  SelectQuery: 'Subqueries in SELECT expressions are not supported',
  SelectSetQuery: 'Subqueries in SELECT expressions are not supported',
  WindowFunction: 'Window functions are not supported',
  Placeholder: 'Placeholders are not supported',
  ColumnsExpr: 'COLUMNS and EXCLUDE are not supported',
  SpreadExpr: 'Spreading columns is not supported',
  IsDistinctFrom: 'IS DISTINCT FROM and <=> are not supported; = and != compare nulls too',
  HogQLXTag: 'Tags are not supported',
  Dict: 'Dictionaries are not supported',
  ExprCall: 'Types with parameters are not supported in casts',
};

const otherText = (node: string, { isSelect }: Scope): string =>
  node.startsWith('Select') && !isSelect ? 'Subqueries are not supported' : (OTHERS[node] ?? UNSUPPORTED);

function constant({ value, value_type }: Extract<Known, { node: 'Constant' }>): Expression {
  if (value === null) return nothing();
  if (typeof value === 'boolean') return truth(value);
  if (typeof value === 'string') {
    if (value_type === 'number') return refuse(`Number out of range: ${value}`);
    if (value.includes('\0') || !value.isWellFormed()) refuse('Null characters are not allowed');
    return textConstant(value);
  }
  if (/^-?\d+$/.test(value.number)) return { constant: value.number, type: 'integer' };
  return { constant: value.number, type: 'float' };
}

/** A path without the name of the table that it may begin with. */
export const withoutTable = (chain: readonly (string | number)[], { tables }: Scope): readonly (string | number)[] =>
  chain.length > 1 && tables.includes(String(chain[0])) ? chain.slice(1) : chain;

/** The element of a list that a name stands for in a lambda; undefined: it is none. */
function variableOf(name: string, { variables }: Scope): Expression | undefined {
  const variable = variables.findLastIndex((one) => one.name === name);
  const found = variables[variable];
  return found && movedInto(found.zone, { variable, type: found.type });
}

/** A field, a property, an element of a list in a lambda, or what an alias stands for. */
function field(path: readonly (string | number)[], scope: Scope): Expression {
  const [first, ...rest] = withoutTable(path, scope);
  const name = String(first);
  const element = variableOf(name, scope);
  if (element !== undefined) return place(element, rest, path);
  if (scope.beyond !== undefined) return scope.beyond.field(path, scope);
  if (name === 'person') return person(rest, path, scope);
  const known = scope.table.get(name);
  if (known !== undefined) return place(known, rest, path);
  if (name === 'set' || name === 'set_once')
    return place(operation('json_raw', [column(scope.table, 'properties')], { path: [`$${name}`] }), rest, path);
  const aliased = scope.aliases.get(name);
  if (aliased === undefined) return unknownField(name, path, scope);
  return place(standingFor(name, aliased, scope), rest, path);
}

function unknownField(name: string, path: readonly (string | number)[], { table, reader }: Scope): never {
  if (!NOT_EXPORTED.test(name))
    return refuse(`Invalid HogQL query: Unable to resolve field: ${beginningOf(path.join('.'), 200)}`);
  const supported = [...table.keys()].toSorted().join(', ');
  return refuse(`${reader} cannot read these fields: ${name}. Supported fields are: ${supported}.`);
}

/** The event's own copy of its person. */
function person(
  [first, ...rest]: readonly (string | number)[],
  path: readonly (string | number)[],
  scope: Scope,
): Expression {
  if (first === 'properties') return place(column(scope.table, 'person_properties'), rest, path);
  if (first === 'id') return place(column(scope.table, 'person_id'), rest, path);
  return unknownField(path.join('.'), path, scope);
}

/** What lies at a path below a value. */
export function place(
  value: Expression,
  path: readonly (string | number)[],
  whole: readonly (string | number)[],
  property: 'property' | 'property_value' = 'property',
): Expression {
  if (path.length === 0) return value;
  if (value.type === 'json') return operation(property, [value], { path: path.map(keyOrPlace) });
  const [first, ...rest] = path;
  if (isTuple(value.type) && typeof first === 'number') return place(partOf(value, first, '.'), rest, whole, property);
  if (isList(value.type) && typeof first === 'number')
    return place(elementOf(value, integerConstant(first), '.'), rest, whole, property);
  return refuse(`Invalid HogQL query: Unable to resolve field: ${beginningOf(whole.join('.'), 200)}`);
}

function keyOrPlace(step: string | number): Path[number] {
  if (typeof step === 'number') return indexOf(step) ?? refuse('Places in arrays are counted from 1');
  if (step.includes('\0') || !step.isWellFormed()) refuse('Null characters are not allowed');
  return step;
}

const INTERVAL = /^toInterval([A-Z][a-z]+)$/;

const isInterval = (syntax: Syntax): boolean => isA(syntax, 'Call') && INTERVAL.test(syntax.name);

/** `INTERVAL 2 DAY`: how many, and of what; undefined: it is something else. */
function intervalOf(syntax: Syntax, scope: Scope): { count: Expression; unit: Unit } | undefined {
  if (!isA(syntax, 'Call')) return undefined;
  const unit = INTERVAL.exec(syntax.name)?.[1];
  const [count] = syntax.args;
  return unit === undefined || count === undefined || syntax.args.length !== 1
    ? undefined
    : { count: expression(count, scope), unit: unitOf(unit) };
}

const ARITHMETIC: Readonly<Record<string, readonly [whole: Operator, float: Operator]>> = {
  '+': ['add', 'add_float'],
  '-': ['subtract', 'subtract_float'],
  '*': ['multiply', 'multiply_float'],
  '%': ['modulo', 'modulo_float'],
};

function calculated(op: string, left: Syntax, right: Syntax, scope: Scope): Expression {
  const interval = op === '+' || op === '-' ? intervalOf(right, scope) : undefined;
  if (interval !== undefined) return shifted(expression(left, scope), interval.count, interval.unit, op === '-', op);
  const before = op === '+' ? intervalOf(left, scope) : undefined;
  if (before !== undefined) return shifted(expression(right, scope), before.count, before.unit, false, op);
  const of = [expression(left, scope), expression(right, scope)];
  const operators = ARITHMETIC[op];
  return operators === undefined ? divided(of, op) : arithmetic(of, op, ...operators);
}

function compared({ op, left, right }: CompareOperation, scope: Scope): Expression {
  if (op === 'in' || op === 'not in') return among(left, right, op === 'not in', scope);
  const of = [expression(left, scope), expression(right, scope)];
  const [a, b] = of as [Expression, Expression];
  switch (op) {
    case '==':
    case '!=': {
      const other = isNothing(a) ? b : isNothing(b) ? a : undefined;
      const found = other === undefined ? equal(of, '=') : operation('is_null', [other]);
      return op === '==' ? found : operation('not', [found]);
    }
    case '<':
      return less([a, b], op);
    case '<=':
      return lessOrEqual([a, b], op);
    case '>':
      return less([b, a], op);
    case '>=':
      return lessOrEqual([b, a], op);
    case 'like':
    case 'not like':
    case 'ilike':
    case 'not ilike':
      return like(a, b, op.toUpperCase(), { anyCase: op.endsWith('ilike'), not: op.startsWith('not') });
    case '=~':
    case '!~':
    case '=~*':
    case '!~*':
      return matches(a, b, op, { anyCase: op.endsWith('*'), not: op.startsWith('!') });
    default:
      return refuse(`The operator ${op.toUpperCase()} is not supported`);
  }
}

/** `x IN (1, 2)`: only among constants. */
function among(left: Syntax, right: Syntax, isNot: boolean, scope: Scope): Expression {
  const value = expression(left, scope);
  const found =
    scope.beyond !== undefined && isQuery(right)
      ? scope.beyond.among(value, right)
      : isTuple(value.type)
        ? amongTuples(value, right, scope)
        : amongConstants(value, listed(right), scope);
  return isNot ? operation('not', [found]) : found;
}

/** What stands in the list of an IN. */
const listed = (syntax: Syntax): readonly Syntax[] =>
  tupleOf(syntax) ?? (isA(syntax, 'Array') ? syntax.exprs : [syntax]);

function amongConstants(value: Expression, list: readonly Syntax[], scope: Scope): Expression {
  const values = list.map((one) => expression(one, scope));
  if (!values.every((one) => 'constant' in one)) refuse('IN takes constants');
  const present = values.filter((one) => !isNothing(one));
  if (present.length === 0) return truth(false);
  // Each constant is compared by its own type, as by =: a number beside texts makes no numbers of them.
  const alike = Map.groupBy(present, ({ type }) => (type === 'integer' ? 'float' : type));
  return anyOf([...alike.values()].map((some) => operation('in', comparable([value, ...some], 'IN'))));
}

/** `(a, b) IN ((1, 2), (3, 4))`, or of one tuple `(a, b) IN (1, 2)`. */
function amongTuples(value: Expression, right: Syntax, scope: Scope): Expression {
  const list = listed(right);
  const tuples = list.some((one) => tupleOf(one) === undefined) ? [right] : list;
  const each = tuples.map((one) =>
    partByPart(partsOf(value), tupleOf(one) ?? [one], (part, other) => amongConstants(part, [other], scope)),
  );
  return each.length === 0 ? truth(false) : anyOf(each);
}

const CASTS: readonly (readonly [RegExp, string])[] = [
  [/^(u?int(8|16|32|64)?|integer|bigint|smallint)$/, 'toInt'],
  [/^(float(32|64)?|double|real)$/, 'toFloat'],
  [/^(string|text|varchar)$/, 'toString'],
  [/^bool(ean)?$/, 'toBool'],
  [/^date$/, 'toDate'],
  [/^(datetime(64)?|timestamp)$/, 'toDateTime'],
  [/^uuid$/, 'toUUID'],
];

function castOf(type: string): string {
  const plain = type.toLowerCase().replace(/^nullable\((.*)\)$/, '$1');
  return (
    CASTS.find(([pattern]) => pattern.test(plain))?.[1] ?? refuse(`Casts to ${beginningOf(type, 50)} are not supported`)
  );
}

/** With two arguments they take a time and an interval. */
const SHIFTS = /^(?:dateAdd|date_add|dateSub|date_subtract|date_sub)$/;

/** A lambda inside another is evaluated for each element of both lists. */
const MAX_LAMBDAS = 3;

function called(node: Call, scope: Scope): Expression {
  const { name } = node;
  const beyond = scope.beyond?.call(node, scope);
  if (beyond !== undefined) return beyond;
  if (AGGREGATES.test(name) && functionOf(name) === undefined)
    refuse(`Aggregate functions are not supported: ${name}()`);
  refuseParts(node, ['node', 'name', 'args'], {
    params: `Parameters of functions are not supported: ${name}()`,
    distinct: `DISTINCT is not supported in ${name}()`,
    filter_expr: `FILTER is not supported in ${name}()`,
    order_by: `ORDER BY is not supported in ${name}()`,
  });
  if (Object.hasOwn(OVER_LISTS, name)) return overList(node, scope);
  if (INTERVAL.test(name))
    refuse('Intervals are only supported beside + and -, and in dateAdd(), dateSub() and toStartOfInterval()');
  const [left, right, ...more] = node.args;
  if (left !== undefined && right !== undefined && more.length === 0) {
    // Comparisons and times that are moved, as their normal form has them.
    if (name === 'in' || name === 'notIn') return among(left, right, name === 'notIn', scope);
    if (SHIFTS.test(name) || ((name === 'plus' || name === 'minus') && (isInterval(left) || isInterval(right))))
      return calculated(/sub|minus/i.test(name) ? '-' : '+', left, right, scope);
  }
  // Before what it is given, which may be refused for standing in a function that there is not.
  functionNamed(name);
  // The unit may be written without quotes.
  const [unit] = node.args;
  const isUnit =
    /^date_?(Diff|Add|Sub|Trunc)$/i.test(name) && unit !== undefined && isA(unit, 'Field') && unit.chain.length === 1;
  const args = isUnit
    ? [textConstant(String(unit.chain[0])), ...node.args.slice(1).map((one) => expression(one, scope))]
    : node.args.map((one, n) =>
        name === 'toStartOfInterval' && n === 1 ? intervalText(one, scope) : expression(one, scope),
      );
  return call(name, args);
}

/** An interval as `toStartOfInterval` is given it: `15 minute`. */
function intervalText(syntax: Syntax, scope: Scope): Expression {
  const interval = intervalOf(syntax, scope);
  if (interval === undefined) return expression(syntax, scope);
  const { count, unit } = interval;
  return textConstant(`${'constant' in count ? count.constant : '?'} ${unit}`);
}

function call(name: string, args: readonly Expression[]): Expression {
  const spec = functionNamed(name);
  if (args.length < spec.least || args.length > spec.most) {
    const wanted =
      spec.least === spec.most
        ? `${spec.least}`
        : spec.most === Number.POSITIVE_INFINITY
          ? `at least ${spec.least}`
          : `${spec.least} to ${spec.most}`;
    refuse(
      `Invalid HogQL query: Function '${name}' expects ${wanted} argument${wanted === '1' ? '' : 's'}, found ${args.length}`,
    );
  }
  return spec.build(args, `${name}()`);
}

const functionNamed = (name: string) => functionOf(name) ?? unknownFunction(name);

function unknownFunction(name: string): never {
  const close = FUNCTION_NAMES.find((known) =>
    known.toLowerCase().startsWith(name.toLowerCase().replace(/(8|16|32|64)?(OrNull|OrZero)?$/i, '')),
  );
  const advice = close === undefined ? '' : `. Perhaps you meant '${close}(...)'?`;
  return refuse(`Invalid HogQL query: Unsupported function call '${beginningOf(name, 100)}(...)'${advice}`);
}

/** A function that goes through a list: of one element at a time. */
function overList({ name, args: [each, list, ...rest] }: Call, scope: Scope): Expression {
  if (each === undefined || list === undefined || rest.length > 0 || !isA(each, 'Lambda')) {
    return refuse(`${name}() takes a lambda and one list, as in ${name}(x -> lower(x), list)`);
  }
  const { args, expr } = each;
  if (args.length !== 1) refuse(`The lambda of ${name}() takes one element`);
  const { variables } = scope;
  if (variables.length >= MAX_LAMBDAS) refuse(`Lambdas are nested more than ${MAX_LAMBDAS} deep`);
  const of = aList(expression(list, scope), `${name}()`);
  const around = variables.at(-1);
  if (around !== undefined && !readsOnly(of, variables.length - 1))
    refuse(`In a lambda, ${name}() takes a list that is made of its element '${around.name}' alone, or of constants`);
  const zone = zoneOf(of);
  const element = { name: String(args[0]), type: elementType(of.type as List), ...(zone && { zone }) };
  const body = expression(expr, { ...scope, variables: [...variables, element] });
  const isMap = OVER_LISTS[name] === 'map';
  if (isMap && isList(body.type)) refuse('Lists of lists are not supported');
  const found = operation(isMap ? 'map' : 'filter', [of], undefined, {
    variable: variables.length,
    body: isMap ? plain(body) : condition(body, `The lambda of ${name}()`),
  });
  if (name === 'arrayFirst') return elementOf(found, integerConstant(1), name);
  if (name !== 'arrayCount' && name !== 'arrayExists') return found;
  const count = operation('list_length', [found]);
  return name === 'arrayCount' ? count : operation('less', [integerConstant(0), count]);
}
