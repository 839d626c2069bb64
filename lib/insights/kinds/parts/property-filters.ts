/** Filters by properties, as queries of insights have them: one condition over `events`, written in HogQL's syntax. */
import * as z from 'zod';
import { isObject } from '../../../basics/json.ts';
import { numberText } from '../../../basics/raw-number.ts';
import { beginningOf, inQuotes } from '../../../basics/text.ts';
import { likeHolding, namesNumber, namesTime } from '../../../hogql/patterns.ts';
import type { Syntax } from '../../../hogql/syntax.ts';
import { all, any, call, comparison, constant, field, list, subquery } from '../../../hogql/write.ts';
import { notAChoice } from '../../../http/fields.ts';
import { Failure, invalid } from '../../../ports/errors.ts';
import { NO_FILTERS, QUERY_FILTERS } from '../../filter-schema.ts';
import type { World } from '../kind.ts';

/** The types of filters; the first is that of a filter which names none. */
const TYPES = ['event', 'person', 'session', 'event_metadata', 'hogql'] as const;
type FilterType = (typeof TYPES)[number];
/** Those of what passes persons, who are of no event. */
const PERSON_TYPES: readonly FilterType[] = ['person', 'hogql'];

/** Columns of an event that a filter of type `event_metadata` may name. */
export const METADATA = [
  'event',
  'distinct_id',
  'person_id',
  'uuid',
  'timestamp',
  'created_at',
  'elements_chain',
  '$session_id',
] as const;

const MAX_FILTERS = 100;
/** Each has to be parsed. */
const MAX_EXPRESSIONS = 20;
const MAX_VALUES = 1000;
const MAX_DEPTH = 10;

type Scalar = string | number | boolean;

interface PropertyFilter {
  readonly type: FilterType;
  /** The name of a property or a column; of type hogql, a condition. */
  readonly key: string;
  readonly operator: Operator;
  /** Empty where the operator takes none. */
  readonly values: readonly Scalar[];
}

/** What `properties` says, after it was read: an event must pass it. */
interface FilterGroup {
  readonly join: 'AND' | 'OR';
  /** Empty: every event passes. */
  readonly of: readonly (FilterGroup | PropertyFilter)[];
}

/** What queries and series say of properties. */
interface Filtered {
  readonly properties?: FilterGroup | null | undefined;
  readonly fixedProperties?: FilterGroup | null | undefined;
  readonly filterTestAccounts?: boolean | null | undefined;
}

/**
 * Returns a field of filters: a list, each of which must hold, or a group `{"type": "AND" | "OR", "values": [...]}` of
 * filters and groups. Every event passes a filter that is not complete (no key, no value).
 */
export const propertyFilters = () => filtersOf(TYPES).register(z.globalRegistry, QUERY_FILTERS);

/** Returns the same of persons: of the types `person`, which a filter that names none has, and `hogql`. */
export const personFilters = () =>
  filtersOf(PERSON_TYPES).register(z.globalRegistry, {
    ...QUERY_FILTERS,
    description: 'Of the types `person`, which is the default here, and `hogql`.',
  });

const filtersOf = (types: readonly FilterType[]) =>
  z
    .unknown()
    .transform((sent, context): FilterGroup | null | undefined => {
      if (sent === undefined || sent === null) return sent;
      try {
        return readFilters(sent, types);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        context.addIssue({ code: 'custom', message: error.message, path: [...error.path] });
        return z.NEVER;
      }
    })
    .optional();

/**
 * Returns the condition that events pass. It is true or false, or null where it is false. Throws a `Failure` (400) for an
 * expression that cannot be read, and for filters of the project's test accounts that cannot be asked.
 */
export async function propertyCondition(
  { properties, fixedProperties, filterTestAccounts }: Filtered,
  world: World,
): Promise<Syntax> {
  const groups = [properties, fixedProperties].filter((one) => one !== null && one !== undefined);
  const testAccounts = filterTestAccounts === true ? [testAccountCondition(world)] : [];
  return all(await Promise.all([...groups.map((group) => conditionOf(group, world)), ...testAccounts]));
}

/** Who asks has not written these filters: what is wrong with them is told as of the project. */
async function testAccountCondition(world: World): Promise<Syntax> {
  try {
    const condition = await conditionOf(readFilters(world.testAccountFilters, TYPES), world);
    await world.check(condition);
    return condition;
  } catch (error) {
    const isTheirs = error instanceof Fault || (error instanceof Failure && error.kind === 'validation');
    if (!isTheirs) throw error;
    return invalid('filterTestAccounts', `The project's filters of test accounts cannot be used. ${error.message}`);
  }
}

async function conditionOf(filter: FilterGroup | PropertyFilter, world: World): Promise<Syntax> {
  if ('of' in filter) {
    if (filter.of.length === 0) return all([]);
    const conditions = await Promise.all(filter.of.map((one) => conditionOf(one, world)));
    return filter.join === 'AND' ? all(conditions) : any(conditions);
  }
  const { type, key, operator, values } = filter;
  if (type === 'hogql') return world.expression(key);
  const { test, isNot = false, needsAny }: OperatorSpec = OPERATORS[operator];
  const isNeeded = needsAny === 'always' || (needsAny === 'of-several' && values.length > 1);
  const passed = (subject: Syntax): Syntax =>
    isNeeded ? all([call('isNotNull', subject), not(test(subject, values))]) : test(subject, values);
  const found =
    type === 'session'
      ? comparison('in', field('properties', '$session_id'), subquery('sessions', 'session_id', passed(field(key))))
      : passed(subjectOf(type, key));
  return isNot && !isNeeded ? not(found) : found;
}

function subjectOf(type: 'event' | 'person' | 'event_metadata', key: string): Syntax {
  if (type === 'person') return field('person', 'properties', key);
  if (key === '$session_id') return field('properties', key);
  if (type === 'event_metadata') return field(key);
  return key === '$elements_chain' ? field('elements_chain') : field('properties', key);
}

/** What is missing passes a negation. */
const not = (condition: Syntax): Syntax => call('not', call('ifNull', condition, constant(false)));

/** An operator: what a value has to pass, given at least one value where it takes any. */
interface OperatorSpec {
  readonly test: (subject: Syntax, values: readonly Scalar[]) => Syntax;
  /** The filter wants that the test does not hold: what is missing passes. */
  readonly isNot?: boolean;
  /** But what is missing does not pass, or does not where there are several values. */
  readonly needsAny?: 'always' | 'of-several';
  /** It takes no value; two numbers, in order; dates. By default any values. */
  readonly takes?: 'nothing' | 'range' | 'dates';
}

const each =
  (test: (subject: Syntax, value: Scalar) => Syntax): OperatorSpec['test'] =>
  (subject, values) =>
    any(values.map((value) => test(subject, value)));

/** Texts are equal letter by letter; a number equals however it is written in the event. */
const equal: OperatorSpec['test'] = (subject, values) => {
  const numbers = values.filter((value) => typeof value === 'number');
  const texts = values.filter((value) => typeof value !== 'number').map(String);
  const [text] = texts;
  const amongTexts = texts.length > 1 ? comparison('in', subject, list(texts)) : undefined;
  return any([
    ...(text === undefined ? [] : [amongTexts ?? call('equals', subject, constant(text))]),
    ...numbers.map((value) => call('equals', call('toFloat', subject), constant(value))),
  ]);
};

const isLike = (subject: Syntax, pattern: string): Syntax =>
  call('ilike', call('toString', subject), constant(pattern));

const holdsAny = each((subject, value) => isLike(subject, likeHolding(String(value))));

/** `_` and `%` of a single value stand for any signs, as PostHog takes them; those of several are themselves. */
const holds: OperatorSpec['test'] = (subject, values) =>
  values.length > 1 ? holdsAny(subject, values) : isLike(subject, `%${values[0]}%`);

const matches = each((subject, value) => call('match', call('toString', subject), constant(String(value))));

/** Returns the number that a value is, even as a text; undefined where it is none. */
function numberOf(value: Scalar | undefined): number | undefined {
  const found = typeof value === 'string' && namesNumber(value) ? Number(value) : value;
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

/** Compares as numbers where the value is one, else as texts. */
const sized = (name: string) =>
  each((subject, value) => {
    const number = numberOf(value);
    return number === undefined
      ? call(name, subject, constant(String(value)))
      : call(name, call('toFloat', subject), constant(number));
  });

const RELATIVE = /^-?(\d{1,4})([hdwmqyMs])$/;
const UNITS: Readonly<Record<string, readonly [name: string, factor: number]>> = {
  h: ['subtractHours', 1],
  d: ['subtractDays', 1],
  w: ['subtractWeeks', 1],
  m: ['subtractMonths', 1],
  q: ['subtractMonths', 3],
  y: ['subtractYears', 1],
  M: ['subtractMinutes', 1],
  s: ['subtractSeconds', 1],
};

const isDate = (value: Scalar): value is string =>
  typeof value === 'string' && (RELATIVE.test(value) || namesTime(value));

/** Compares instants. A value without an offset is the project's clock, a day its midnight; `-7d` is so long ago. */
const dated = (name: string) =>
  each((subject, value) => {
    const [, count, unit = ''] = RELATIVE.exec(String(value)) ?? [];
    const [shift, factor] = UNITS[unit] ?? ['', 1];
    const instant =
      count === undefined
        ? call('toDateTime', constant(value))
        : call(shift, call('now'), constant(Number(count) * factor));
    return call(name, call('toDateTime', subject), instant);
  });

const exact: OperatorSpec = { test: equal };
const isNot: OperatorSpec = { test: equal, isNot: true };
const atLeast: OperatorSpec = { test: sized('greaterOrEquals') };
const atMost: OperatorSpec = { test: sized('lessOrEquals') };
const isThere = (subject: Syntax): Syntax => call('isNotNull', subject);

const OPERATORS = {
  exact,
  is_not: isNot,
  in: exact,
  not_in: isNot,
  icontains: { test: holds },
  not_icontains: { test: holds, isNot: true, needsAny: 'of-several' },
  icontains_multi: { test: holdsAny },
  not_icontains_multi: { test: holdsAny, isNot: true, needsAny: 'always' },
  regex: { test: matches },
  not_regex: { test: matches, isNot: true },
  gt: { test: sized('greater') },
  gte: atLeast,
  lt: { test: sized('less') },
  lte: atMost,
  min: atLeast,
  max: atMost,
  between: {
    test: (subject, [low, high]) =>
      all([sized('greaterOrEquals')(subject, [low as Scalar]), sized('lessOrEquals')(subject, [high as Scalar])]),
    takes: 'range',
  },
  not_between: {
    test: (subject, [low, high]) =>
      any([sized('less')(subject, [low as Scalar]), sized('greater')(subject, [high as Scalar])]),
    takes: 'range',
  },
  is_set: { test: isThere, takes: 'nothing' },
  is_not_set: { test: isThere, isNot: true, takes: 'nothing' },
  is_date_exact: { test: dated('equals'), takes: 'dates' },
  is_date_before: { test: dated('less'), takes: 'dates' },
  is_date_after: { test: dated('greater'), takes: 'dates' },
} as const satisfies Readonly<Record<string, OperatorSpec>>;

type Operator = keyof typeof OPERATORS;
/** The operators that a filter may have. */
export const operatorNames = (): Operator[] => Object.keys(OPERATORS) as Operator[];
const isOperator = (name: unknown): name is Operator => typeof name === 'string' && Object.hasOwn(OPERATORS, name);

/** Returns whether no event passes both filters, as far as they show: a property would have to be two texts at once. */
export const areDisjoint = (a: FilterGroup, b: FilterGroup): boolean =>
  demandedTexts(a).some(({ type, key, values }) =>
    demandedTexts(b).some(
      (other) => other.type === type && other.key === key && !other.values.some((value) => values.includes(value)),
    ),
  );

const demandedTexts = ({ join, of }: FilterGroup): PropertyFilter[] =>
  of.flatMap((one) => {
    if (join === 'OR' && of.length > 1) return [];
    if ('of' in one) return demandedTexts(one);
    const isExact = OPERATORS[one.operator] === exact && one.values.every((value) => typeof value === 'string');
    return isExact && one.type !== 'hogql' && one.type !== 'session' ? [one] : [];
  });

/** Something that was sent cannot be a filter; `path` leads to it. */
class Fault extends Error {
  readonly path: readonly (string | number)[];

  constructor(path: readonly (string | number)[], message: string) {
    super(message);
    this.path = path;
  }
}

type Path = readonly (string | number)[];

/** How many filters were read, and how many of them are expressions; the types that they may have, the default first. */
interface Reading {
  readonly types: readonly FilterType[];
  filters: number;
  expressions: number;
}

function readFilters(sent: unknown, types: readonly FilterType[]): FilterGroup {
  const reading: Reading = { types, filters: 0, expressions: 0 };
  if (Array.isArray(sent)) return joined('AND', readAll(sent, [], 0, reading));
  if (isObject(sent) && Object.keys(sent).length === 0) return EVERYTHING;
  return readGroup(sent, [], 0, reading);
}

const readAll = (values: readonly unknown[], path: Path, depth: number, reading: Reading): FilterGroup['of'] =>
  values.map((value, at) => {
    const here = [...path, at];
    const isGroup = isObject(value) && Array.isArray(value['values']);
    return isGroup ? readGroup(value, here, depth + 1, reading) : readFilter(value, here, reading);
  });

function readGroup(sent: unknown, path: Path, depth: number, reading: Reading): FilterGroup {
  if (!isObject(sent) || !Array.isArray(sent['values'])) throw new Fault(path, NO_FILTERS);
  if (depth > MAX_DEPTH) throw new Fault(path, `Groups of filters are nested more than ${MAX_DEPTH} deep.`);
  const { type, values } = sent;
  if (type !== 'AND' && type !== 'OR') throw new Fault([...path, 'type'], notAChoice(type ?? '', ['AND', 'OR']));
  return joined(type, readAll(values, [...path, 'values'], depth, reading));
}

/** What a filter that is not complete comes to. */
const EVERYTHING: FilterGroup = { join: 'AND', of: [] };
const isEverything = (one: FilterGroup | PropertyFilter): boolean => 'of' in one && one.of.length === 0;

function joined(join: FilterGroup['join'], of: FilterGroup['of']): FilterGroup {
  if (join === 'OR' && of.some(isEverything)) return EVERYTHING;
  return { join, of: of.filter((one) => !isEverything(one)) };
}

function readFilter(sent: unknown, path: Path, reading: Reading): FilterGroup | PropertyFilter {
  if (!isObject(sent))
    throw new Fault(path, 'A filter is an object: {"type": "event", "key": "plan", "value": "pro"}.');
  reading.filters += 1;
  if (reading.filters > MAX_FILTERS) throw new Fault(path, `There are more than ${MAX_FILTERS} filters.`);
  if (sent['type'] === 'empty') return EVERYTHING;
  const type = typeOf(sent['type'], reading, path);
  const operator = sent['operator'] ?? 'exact';
  const { key } = sent;
  if (key === undefined || key === null || key === '') return EVERYTHING;
  if (typeof key !== 'string') throw new Fault([...path, 'key'], 'Not a valid string.');
  if (type === 'hogql') {
    reading.expressions += 1;
    if (reading.expressions > MAX_EXPRESSIONS)
      throw new Fault(path, `There are more than ${MAX_EXPRESSIONS} filters of type 'hogql'.`);
    return { type, key, operator: 'exact', values: [] };
  }
  if (type === 'event_metadata' && !METADATA.some((one) => one === key))
    throw new Fault([...path, 'key'], `Events have no '${beginningOf(key, 100)}'. They have: ${inQuotes(METADATA)}.`);
  if (type === 'person' && key === 'distinct_id')
    throw new Fault([...path, 'key'], "Filter by 'distinct_id' with the type 'event_metadata'.");
  if (!isOperator(operator)) throw new Fault([...path, 'operator'], notAChoice(operator, operatorNames()));
  const values = readValues(sent['value'], operator, [...path, 'value']);
  return values === undefined ? EVERYTHING : { type, key, operator, values };
}

function typeOf(sent: unknown, { types }: Reading, path: Path): FilterType {
  const type = types.find((one) => one === (sent ?? types[0]));
  if (type !== undefined) return type;
  const detail = `A filter of type '${beginningOf(String(sent), 100)}' is not supported here. These are: ${inQuotes(types)}.`;
  throw new Fault([...path, 'type'], detail);
}

/** Returns undefined where there is nothing to compare with: such a filter is not complete. */
function readValues(sent: unknown, operator: Operator, path: Path): readonly Scalar[] | undefined {
  const { takes }: OperatorSpec = OPERATORS[operator];
  if (takes === 'nothing') return [];
  if (sent === undefined || sent === null) return undefined;
  const values = [sent].flat().map((value): Scalar => {
    const number = numberText(value);
    if (typeof value === 'string' || typeof value === 'boolean') return value;
    if (number !== undefined && !Number.isFinite(Number(number)))
      throw new Fault(path, `The number ${beginningOf(number, 100)} is too large.`);
    if (number !== undefined) return Number(number);
    throw new Fault(path, 'The value of a filter is a text, a number or a boolean, or a list of them.');
  });
  if (values.length > MAX_VALUES) throw new Fault(path, `A filter has at most ${MAX_VALUES} values.`);
  if (takes === 'range') {
    const [low, high, ...rest] = values.map(numberOf);
    if (low === undefined || high === undefined || rest.length > 0 || low > high)
      throw new Fault(path, `The operator '${operator}' takes a list of two numbers, the smaller one first.`);
  }
  if (takes === 'dates' && !values.every(isDate))
    throw new Fault(path, `The operator '${operator}' takes a date: 2026-11-21, 2026-11-21T10:00:00Z or -7d.`);
  return values.length === 0 ? undefined : values;
}
