/** What a series counts: its `math`, as cells that are read of events and the totals that are made of cells. */
import { beginningOf, inQuotes } from '../../../basics/text.ts';
import type { Known, Syntax } from '../../../hogql/syntax.ts';
import { call, constant, field } from '../../../hogql/write.ts';
import { invalid } from '../../../ports/errors.ts';
import type { World } from '../kind.ts';
import type { Series } from './series.ts';

/**
 * How numbers are made of events. A cell is what is read of an event, or of all events of a bucket, a value and an actor
 * together; a total is made of cells, by whatever they are told apart. The texts are HogQL, constants of the program.
 */
export interface Measure {
  /** The columns of a cell, beside its `bucket`, `value` and `actor`. */
  readonly cells: Readonly<Record<string, string>>;
  /** A cell is of all events of its bucket, value and actor. */
  readonly isGrouped: boolean;
  /** Whose a cell is, a person's or a session's. */
  readonly actor?: Syntax;
  /** Makes one number, `part`, of the cells of each actor, before the total is made of these. */
  readonly perActor?: string;
  /** Makes the total. */
  readonly total: string;
  /** What the placeholders of the texts stand for. */
  readonly values?: Readonly<Record<string, Syntax>>;
  /** A cell counts on its day and on those behind it, so many days in all. */
  readonly trailingDays?: number;
  /** Only the first event of a person counts: of its name, if it passes the filters; or of those that pass. */
  readonly first?: 'named' | 'matching';
  /** Actors are counted: each counts once, however long the time is. */
  readonly countsActors?: boolean;
}

const PERSON = field('person_id');

const EVENTS: Measure = { cells: { cell: 'count()' }, isGrouped: true, total: 'sum(cell)' };
const PERSONS: Measure = {
  cells: {},
  actor: PERSON,
  isGrouped: true,
  total: 'count(DISTINCT actor)',
  countsActors: true,
};

/** Aggregates of numbers. Percentiles lie between two numbers in proportion, as ClickHouse's `quantile` has it. */
const AGGREGATES = {
  sum: (column: string) => `sum(${column})`,
  avg: (column: string) => `avg(${column})`,
  min: (column: string) => `min(${column})`,
  max: (column: string) => `max(${column})`,
  median: (column: string) => `quantile(0.5)(${column})`,
  p75: (column: string) => `quantile(0.75)(${column})`,
  p90: (column: string) => `quantile(0.9)(${column})`,
  p95: (column: string) => `quantile(0.95)(${column})`,
  p99: (column: string) => `quantile(0.99)(${column})`,
} as const;
type Aggregate = keyof typeof AGGREGATES;
const AGGREGATE_NAMES = Object.keys(AGGREGATES) as Aggregate[];

/** Those that give the same when they are made of parts. */
const OF_PARTS: readonly Aggregate[] = ['sum', 'min', 'max'];

const PER_ACTOR = '_count_per_actor';
const perActor = (aggregate: Aggregate): string => `${aggregate}${PER_ACTOR}`;

/** What `math` may be. */
export const MATHS = [
  'total',
  'dau',
  'unique_users',
  'weekly_active',
  'monthly_active',
  'unique_session',
  'first_time_for_user',
  'first_matching_event_for_user',
  ...AGGREGATE_NAMES,
  ...AGGREGATE_NAMES.filter((name) => name !== 'sum').map(perActor),
  'hogql',
] as const;

/** How the property of a math is told. */
type MathSeries = Pick<Series, 'math' | 'math_property' | 'math_hogql'> & {
  readonly math_property_type?: string | null | undefined;
};

/**
 * Returns how the numbers of a series are made. `isDaily`: the buckets are days, or all of the range, and who was
 * active in the days before counts too. Throws `Failure`
 * (400) about a member below `attr` for what is lacking or not supported.
 */
export async function measureOf(series: MathSeries, isDaily: boolean, attr: string, world: World): Promise<Measure> {
  const math = series.math ?? 'total';
  switch (math) {
    case 'total':
      return EVENTS;
    case 'dau':
    case 'unique_users':
      return PERSONS;
    case 'weekly_active':
      return isDaily ? { ...PERSONS, trailingDays: 7 } : PERSONS;
    case 'monthly_active':
      return isDaily ? { ...PERSONS, trailingDays: 30 } : PERSONS;
    case 'unique_session':
      // Events without a session are one session together.
      return { ...PERSONS, actor: call('ifNull', field('$session_id'), constant('')) };
    case 'first_time_for_user':
      return { ...EVENTS, first: 'named' };
    case 'first_matching_event_for_user':
      return { ...EVENTS, first: 'matching' };
    case 'hogql':
      return measureOfHogql(series.math_hogql ?? '', attr, world);
    default:
      return measureOfNumbers(series, math, attr);
  }
}

function measureOfNumbers(series: MathSeries, math: string, attr: string): Measure {
  const aggregate = AGGREGATE_NAMES.find((name) => math === name || math === perActor(name));
  if (aggregate === undefined) {
    const detail =
      math === 'unique_group'
        ? "Groups are not supported, and so is the math 'unique_group'."
        : `There is no math '${beginningOf(math, 100)}'.`;
    return invalid(`${attr}__math`, detail);
  }
  const made = AGGREGATES[aggregate];
  if (math !== aggregate) return { ...EVENTS, actor: PERSON, perActor: 'sum(cell)', total: made('part') };
  const property = series.math_property ?? '';
  if (property === '') invalid(`${attr}__math_property`, `The math '${math}' needs a property, as math_property.`);
  if (property === '$session_duration') {
    // A session counts once in each bucket, with all of its duration.
    return {
      cells: { cell: 'any({subject})' },
      isGrouped: true,
      actor: field('$session_id'),
      perActor: 'any(cell)',
      total: made('part'),
      values: { subject: field('session', '$session_duration') },
    };
  }
  const type = series.math_property_type || 'event';
  const lacking = LACKING_TYPES.get(type);
  if (lacking !== undefined) invalid(`${attr}__math_property_type`, lacking);
  if (!READ_TYPES.includes(type))
    invalid(
      `${attr}__math_property_type`,
      `There is no type '${beginningOf(type, 100)}': use ${inQuotes(READ_TYPES)}.`,
    );
  const isGrouped = OF_PARTS.includes(aggregate);
  return {
    cells: { cell: isGrouped ? made('{subject}') : '{subject}' },
    isGrouped,
    total: made('cell'),
    values: { subject: subjectOf(property, type) },
  };
}

/** What PostHog calls properties of events and of their persons, and what filters call them. */
const OF_PERSONS = ['person_properties', 'person'];
const READ_TYPES = ['event_properties', 'numerical_event_properties', 'event', ...OF_PERSONS];

/** What PostHog calls properties that no math reads here. */
const LACKING_TYPES: ReadonlyMap<string, string> = new Map([
  ['session_properties', "Math of properties of sessions, but '$session_duration', is not supported."],
  ...['data_warehouse_properties', 'data_warehouse_person_properties'].map(
    (type) => [type, 'Math of properties of a data warehouse is not supported.'] as const,
  ),
]);

function subjectOf(property: string, type: string): Syntax {
  if (property === '$time') return call('toUnixTimestamp', field('timestamp'));
  const chain = OF_PERSONS.includes(type) ? ['person', 'properties'] : ['properties'];
  return call('toFloat', field(...chain, property));
}

/** An aggregate that a caller wrote: the fields that it reads are the cells. */
async function measureOfHogql(hogql: string, attr: string, world: World): Promise<Measure> {
  if (hogql.trim() === '')
    invalid(`${attr}__math_hogql`, "The math 'hogql' needs an aggregate, as math_hogql: count().");
  const fields = new Map<string, Known & { readonly node: 'Field' }>();
  const total = overCells(await world.expression(hogql), [], fields);
  const columns = [...fields.values()];
  return {
    cells: Object.fromEntries(columns.map((_, n) => [`cell${n}`, `{field${n}}`])),
    isGrouped: false,
    total: '{total}',
    values: { total, ...Object.fromEntries(columns.map((column, n) => [`field${n}`, column])) },
  };
}

/** Returns the syntax with a column of the cells in the place of each field, and collects the fields. */
function overCells<T>(syntax: T, bound: readonly string[], fields: Map<string, Known & { readonly node: 'Field' }>): T {
  if (Array.isArray(syntax)) return syntax.map((one) => overCells(one, bound, fields)) as T;
  if (typeof syntax !== 'object' || syntax === null) return syntax;
  const node = syntax as unknown as Known;
  if (node.node === 'Field') {
    const [first] = node.chain;
    if (first === '*' || bound.includes(String(first))) return syntax;
    const name = JSON.stringify(node.chain);
    if (!fields.has(name)) fields.set(name, node);
    return field(`cell${[...fields.keys()].indexOf(name)}`) as T;
  }
  const names = node.node === 'Lambda' ? [...bound, ...node.args] : bound;
  return Object.fromEntries(Object.entries(syntax).map(([key, value]) => [key, overCells(value, names, fields)])) as T;
}
