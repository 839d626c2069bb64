/** Functions that make one value of many rows, by the names that HogQL has for them, each also with `If` behind it. */
import { allAs, allOf, argument, operation, plain } from './build.ts';
import { canBeMissing } from './clickhouse-types.ts';
import type { Aggregate, AggregateName } from './expression.ts';
import { type Expression, isList, isTuple, listOf } from './expression.ts';
import { given } from './functions/spec.ts';
import { condition } from './functions/values.ts';
import { refuse } from './refusal.ts';

interface AggregateSpec {
  readonly least: number;
  readonly most: number;
  /** What a parameter before its arguments says, as in `quantile(0.9)(x)`, or that there is none; absent: it takes none. */
  readonly at?: (parameter: Expression | undefined, name: string) => number | undefined;
  readonly build: (of: readonly Expression[], name: string, isDistinct: boolean) => Omit<Aggregate, 'where'>;
}

const spec = (count: number, build: AggregateSpec['build']): AggregateSpec => ({ least: count, most: count, build });

const scalar = (value: Expression, name: string): Expression =>
  isList(value.type) || isTuple(value.type)
    ? refuse(`${name}() cannot take ${isTuple(value.type) ? 'a tuple' : 'a list'}`)
    : finite(plain(value));

/** A number that counts. An infinite one, as the text `1e400` is read, is as if it were missing: it would hide all others. */
const finite = (value: Expression): Expression =>
  value.type !== 'float' || ('operator' in value && value.operator === 'float_of_integer')
    ? value
    : operation('finite', [value]);

const float = (value: Expression, name: string): Expression => finite(argument(value, 'float', `${name}()`));

const distinct: AggregateSpec = {
  least: 1,
  most: 10,
  build: (of) => ({
    aggregate: 'count_distinct',
    of: of.map(plain),
    type: 'integer',
  }),
};

const count: AggregateSpec = {
  least: 0,
  most: 1,
  build: (of, name, isDistinct) =>
    isDistinct
      ? of.length === 0
        ? refuse('count(DISTINCT) takes a value')
        : distinct.build(of, name, false)
      : { aggregate: 'count', of, type: 'integer' },
};

const isWhole = ({ type }: Expression): boolean => type === 'integer' || type === 'boolean';

/** Whole numbers are added exactly, so that what they come to does not go by their order; floats are rounded on the way. */
const sum = spec(1, (of, name) => {
  const zero = canBeMissing(given(of, 0)) ? {} : { orZero: true as const };
  if (isWhole(given(of, 0)))
    return { aggregate: 'sum', of: allAs(of, 'integer', `${name}()`), ...zero, type: 'integer' };
  return { aggregate: 'sum_float', of: [float(given(of, 0), name)], ...zero, type: 'float' };
});
const avg = spec(1, (of, name) => {
  if (isWhole(given(of, 0))) return { aggregate: 'avg', of: allAs(of, 'integer', `${name}()`), type: 'float' };
  return { aggregate: 'avg_float', of: [float(given(of, 0), name)], type: 'float' };
});

const ofNumber = (aggregate: AggregateName): AggregateSpec =>
  spec(1, (of, name) => ({ aggregate, of: [float(given(of, 0), name)], type: 'float' }));

/** Gives back one of the values. */
const oneOf = (aggregate: AggregateName, isOrdered: boolean): AggregateSpec =>
  spec(1, (of, name) => {
    const value = isOrdered ? scalar(given(of, 0), name) : plain(given(of, 0));
    return { aggregate, of: [value], type: value.type };
  });

const oneBy = (aggregate: AggregateName): AggregateSpec =>
  spec(2, (of, name) => {
    const value = plain(given(of, 0));
    return { aggregate, of: [value, scalar(given(of, 1), name)], type: value.type };
  });

const gathered = (aggregate: AggregateName): AggregateSpec => ({
  ...spec(1, (of) => {
    const value = plain(given(of, 0));
    const type = listOf(value.type) ?? refuse('Lists of lists are not supported');
    return { aggregate, of: [value], type };
  }),
  at: mostOf,
});

const AGGREGATES: Readonly<Record<string, AggregateSpec>> = {
  count,
  countDistinct: distinct,
  uniq: distinct,
  uniqExact: distinct,
  sum,
  avg,
  min: oneOf('min', true),
  max: oneOf('max', true),
  any: oneOf('any', false),
  anyLast: oneOf('any_last', false),
  argMin: oneBy('arg_min'),
  argMax: oneBy('arg_max'),
  median: { ...ofNumber('quantile'), at: () => 0.5 },
  quantile: { ...ofNumber('quantile'), at: levelOf },
  stddevPop: ofNumber('stddev_pop'),
  stddevSamp: ofNumber('stddev_samp'),
  varPop: ofNumber('var_pop'),
  varSamp: ofNumber('var_samp'),
  groupArray: gathered('list'),
  groupUniqArray: gathered('list_distinct'),
};

/** Every name, without the forms that end with `If`. */
export const AGGREGATE_NAMES: readonly string[] = Object.keys(AGGREGATES);

const byLowerName = new Map(Object.entries(AGGREGATES).map(([name, one]) => [name.toLowerCase(), one]));

function specOf(name: string): { spec: AggregateSpec; isIf: boolean } | undefined {
  const lower = name.toLowerCase();
  const whole = byLowerName.get(lower);
  if (whole !== undefined) return { spec: whole, isIf: false };
  const conditional = lower.endsWith('if') ? byLowerName.get(lower.slice(0, -2)) : undefined;
  return conditional && { spec: conditional, isIf: true };
}

export const isAggregate = (name: string): boolean => specOf(name) !== undefined;

/** What a call says beside its arguments. */
interface Said {
  readonly isDistinct: boolean;
  /** What stands in brackets before the arguments. */
  readonly parameter: Expression | undefined;
  /** The condition after FILTER. */
  readonly where: Expression | undefined;
}

/** Returns the aggregate that a call of its name means. Refuses a wrong number or kind of arguments. */
export function aggregateOf(name: string, of: readonly Expression[], said: Said): Aggregate {
  const { spec: found, isIf } = specOf(name) as { spec: AggregateSpec; isIf: boolean };
  const args = isIf ? of.slice(0, -1) : of;
  const last = of.at(-1);
  if (isIf && last === undefined) refuse(`${name}() takes a condition as its last argument`);
  if (args.length < found.least || args.length > found.most) {
    const wanted = (isIf ? 1 : 0) + (args.length < found.least ? found.least : found.most);
    refuse(
      `Invalid HogQL query: Function '${name}' expects ${wanted} argument${wanted === 1 ? '' : 's'}, found ${of.length}`,
    );
  }
  if (said.isDistinct && !/^count(If)?$/i.test(name)) refuse(`DISTINCT is only supported in count(), not in ${name}()`);
  if (said.parameter !== undefined && found.at === undefined)
    refuse(`Parameters of functions are not supported: ${name}()`);
  const where = [isIf ? last : undefined, said.where].flatMap((one) =>
    one === undefined ? [] : [condition(one, `${name}()`)],
  );
  const at = found.at?.(said.parameter, name);
  return {
    ...found.build(args, name, said.isDistinct),
    ...(at !== undefined && { at }),
    ...(where.length > 0 && { where: allOf(where) }),
  };
}

function levelOf(parameter: Expression | undefined, name: string): number {
  if (parameter === undefined) return 0.5;
  const at = numberOf(parameter);
  return at >= 0 && at <= 1 ? at : refuse(`The parameter of ${name}() is a number from 0 to 1, as in ${name}(0.9)(x)`);
}

/** How many elements a list has at most; undefined: any number. */
function mostOf(parameter: Expression | undefined, name: string): number | undefined {
  if (parameter === undefined) return undefined;
  const most = parameter.type === 'integer' ? numberOf(parameter) : Number.NaN;
  return Number.isSafeInteger(most) && most >= 1
    ? most
    : refuse(`The parameter of ${name}() is a whole number from 1, as in ${name}(10)(x)`);
}

const numberOf = (value: Expression): number =>
  'constant' in value && typeof value.constant === 'string' ? Number(value.constant) : Number.NaN;

/** Whether an aggregate of no rows is null, and not 0 or an empty list. */
export const isNullable = ({ aggregate }: Aggregate): boolean => !/^(count|list)/.test(aggregate);
