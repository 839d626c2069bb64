/** Funnels: how many persons do one event after another, how far they get, and how long it takes. */
import * as z from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import { all, any, type Columns, call, constant, field, fieldsOf, over, select } from '../../hogql/write.ts';
import { choice, integer } from '../../http/fields.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, Kind, Question, Rows, Selection, World } from './kind.ts';
import {
  type Breakdown,
  BreakdownFilter,
  breakdownLabel,
  breakdownOf,
  breakdownValue,
  MISSING,
  missingValue,
  SEPARATOR,
} from './parts/breakdown.ts';
import { bucketIndex } from './parts/bucket-index.ts';
import {
  bucketsOf,
  firstEvent,
  INTERVALS,
  inRange,
  type Range,
  rangeAsked,
  resolvedDateRange,
} from './parts/date-range.ts';
import { areRunsApart, bestRunsOf, type FunnelShape, groupsOf, keyOf, runsOf } from './parts/funnel-runs.ts';
import { lacking, MEMBERS } from './parts/members.ts';
import { areDisjoint, propertyCondition, propertyFilters } from './parts/property-filters.ts';
import { Series, seriesCondition } from './parts/series.ts';

const MAX_STEPS = 12;
const MAX_EXCLUSIONS = 10;
const MAX_BINS = 90;

const WINDOW_UNITS_MS = {
  second: SECOND_MS,
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
} as const;
type WindowUnit = keyof typeof WINDOW_UNITS_MS;

/** A longer window is as good as none. */
const MAX_WINDOW_MS = 36_525 * DAY_MS;

/** A step may be the first event of a person only; whatever else its series counts, here it is its persons. */
const FIRST_ONLY: readonly string[] = ['first_time_for_user', 'first_time_for_user_with_filters'];

const Step = Series.extend({
  math: z
    .string()
    .refine((math) => !FIRST_ONLY.includes(math), { error: 'Steps of first events only are not supported.' })
    .nullish(),
  optionalInFunnel: lacking('Optional steps are', false),
});
type Step = z.output<typeof Step>;

const step = () => integer({ min: 0, max: MAX_STEPS - 1 }).nullish();

const FunnelsFilter = z.object({
  funnelVizType: choice(['steps', 'trends', 'time_to_convert']).nullish(),
  funnelOrderType: choice(['ordered', 'strict', 'unordered']).nullish(),
  funnelWindowInterval: integer({ min: 1, max: 1_000_000 }).nullish(),
  funnelWindowIntervalUnit: choice(Object.keys(WINDOW_UNITS_MS) as WindowUnit[]).nullish(),
  funnelFromStep: step(),
  funnelToStep: step(),
  exclusions: z
    .array(
      Series.extend({
        funnelFromStep: integer({ min: 0, max: MAX_STEPS }),
        funnelToStep: integer({ min: 0, max: MAX_STEPS }),
      }),
    )
    .max(MAX_EXCLUSIONS)
    .nullish(),
  breakdownAttributionType: choice(['first_touch', 'last_touch', 'all_events', 'step']).nullish(),
  breakdownAttributionValue: step(),
  funnelAggregateByHogQL: z.string().nullish(),
  binCount: integer().nullish(),
  customAggregationTarget: lacking('Funnels of a data warehouse are', false),
  hideIncompleteConversionWindowPeriods: lacking('Leaving out periods is', false),
});
type FunnelsFilter = z.output<typeof FunnelsFilter>;

const FunnelsQuery = z.object({
  kind: z.literal('FunnelsQuery'),
  ...MEMBERS,
  series: z
    .array(Step)
    .refine(({ length }) => length >= 2, { error: 'A funnel has at least two steps.' })
    .refine(({ length }) => length <= MAX_STEPS, { error: `A funnel has at most ${MAX_STEPS} steps.` }),
  interval: choice(INTERVALS).nullish(),
  funnelsFilter: FunnelsFilter.nullish(),
  breakdownFilter: BreakdownFilter.nullish(),
  compareFilter: z.object({ compare: lacking('Comparisons of funnels are', false) }).nullish(),
  fixedProperties: propertyFilters(),
});
type FunnelsQuery = z.output<typeof FunnelsQuery>;

export const funnels: Kind<FunnelsQuery> = { name: 'FunnelsQuery', schema: FunnelsQuery, answer, actors };

/** A funnel that was found to make sense. */
interface Funnel {
  readonly query: FunnelsQuery;
  readonly filter: FunnelsFilter;
  readonly range: Range;
  readonly shape: FunnelShape;
  readonly breakdown: Breakdown | undefined;
  /** The steps between which it tells times and rates, counted from 0. */
  readonly from: number;
  readonly to: number;
}

async function answer(query: FunnelsQuery, world: World): Promise<Answer> {
  const funnel = await funnelOf(query, world);
  const results = await ANSWERS[funnel.filter.funnelVizType ?? 'steps'](funnel, world);
  return { results, resolved_date_range: resolvedDateRange(funnel.range, world) };
}

const ANSWERS = { steps: stepsAnswer, trends: trendsAnswer, time_to_convert: timeToConvert } as const;

async function funnelOf(query: FunnelsQuery, world: World): Promise<Funnel> {
  const filter = query.funnelsFilter ?? {};
  const { series } = query;
  const exclusions = filter.exclusions ?? [];
  const [from, to] = [filter.funnelFromStep ?? 0, filter.funnelToStep ?? series.length - 1];
  if (to >= series.length || from >= to)
    invalid('funnelsFilter__funnelToStep', `'funnelToStep' is from ${from + 1} to ${series.length - 1}.`);
  const order = filter.funnelOrderType ?? 'ordered';
  checkExclusions(series, exclusions, order);
  const steps = await Promise.all(series.map((one) => seriesCondition(one, world)));
  const passed = await propertyCondition(query, world);
  const range = await rangeAsked(query.dateRange, query.interval ?? 'day', world, () =>
    firstEvent(world, all([call('or', ...steps), passed])),
  );
  const breakdown = breakdownOf(query.breakdownFilter);
  if (breakdown?.parts.some(({ bins }) => bins !== undefined))
    invalid('breakdownFilter__breakdown_histogram_bin_count', 'A funnel has no breakdown by bins.');
  const by = filter.funnelAggregateByHogQL ?? '';
  const isOfPersons = by === '' || by === 'person_id';
  const actor = isOfPersons ? field('person_id') : call('toString', await world.expression(by));
  const isSomebody = [call('isNotNull', actor), call('notEquals', actor, constant(''))];
  const unitMs = WINDOW_UNITS_MS[filter.funnelWindowIntervalUnit ?? 'day'];
  const attribution = attributionOf(filter, series.length);
  const isOfStep = breakdown !== undefined && typeof attribution === 'object' && order !== 'unordered';
  const ofValue = isOfStep ? attribution.step : undefined;
  const shape: FunnelShape = {
    order,
    steps,
    overlaps: (a, b) => mayOverlap(series[a] as Step, series[b] as Step),
    // Of a step that a value is taken from, events of that value alone count.
    equals: (a, b) => a !== ofValue && b !== ofValue && areAlike(series[a] as Step, series[b] as Step),
    windowUs: Math.min((filter.funnelWindowInterval ?? 14) * unitMs, MAX_WINDOW_MS) * 1000,
    exclusions: await Promise.all(
      exclusions.map(async (one) => ({
        condition: await seriesCondition(one, world),
        from: one.funnelFromStep,
        to: one.funnelToStep,
      })),
    ),
    where: all([inRange(range), passed, ...(isOfPersons ? [] : isSomebody)]),
    actor,
    breakdown: breakdown && {
      value: await breakdownValue(breakdown, [], world),
      missing: missingValue(breakdown),
      attribution,
    },
  };
  if (order === 'unordered') checkUnordered(shape);
  return { query, filter, range, shape, breakdown, from, to };
}

function attributionOf(
  { breakdownAttributionType: type, breakdownAttributionValue: value }: FunnelsFilter,
  steps: number,
): NonNullable<FunnelShape['breakdown']>['attribution'] {
  if (type !== 'step') return type ?? 'first_touch';
  if ((value ?? 0) >= steps)
    invalid('funnelsFilter__breakdownAttributionValue', `The steps are counted from 0 to ${steps - 1}.`);
  return { step: value ?? 0 };
}

type Exclusion = NonNullable<FunnelsFilter['exclusions']>[number];

function checkExclusions(series: readonly Step[], exclusions: readonly Exclusion[], order: FunnelShape['order']): void {
  exclusions.forEach((exclusion, at) => {
    const { funnelFromStep: from, funnelToStep: to } = exclusion;
    const refuse = (detail: string): never => invalid(`funnelsFilter__exclusions__${at}`, detail);
    if (from >= to) refuse('Exclusion event range is invalid. End of range should be greater than start.');
    if (to >= series.length) refuse('Exclusion event range is invalid. End of range is greater than number of steps.');
    if (order === 'unordered' && (from !== 0 || to !== series.length - 1))
      refuse('Partial exclusions are not supported in unordered funnels: they reach from the first to the last step.');
    if (series.slice(from, to + 1).some((one) => areAlike(one, exclusion) || isWider(exclusion, one)))
      refuse("Exclusion steps cannot contain an event that's part of funnel steps.");
  });
}

type Condition = Pick<Step, 'event' | 'properties' | 'fixedProperties'>;

const nameOf = ({ event }: Condition): string => event ?? '';
const filtersOf = ({ properties, fixedProperties }: Condition) =>
  [properties, fixedProperties].filter((one) => one !== null && one !== undefined && one.of.length > 0);

const areAlike = (a: Condition, b: Condition): boolean =>
  nameOf(a) === nameOf(b) && JSON.stringify(filtersOf(a)) === JSON.stringify(filtersOf(b));

/** Whether whatever is the one is the other, as far as it shows. */
const isWider = (a: Condition, b: Condition): boolean =>
  filtersOf(a).length === 0 && (nameOf(a) === '' || nameOf(a) === nameOf(b));

function mayOverlap(a: Condition, b: Condition): boolean {
  if (nameOf(a) !== nameOf(b) && nameOf(a) !== '' && nameOf(b) !== '') return false;
  return !filtersOf(a).some((one) => filtersOf(b).some((other) => one && other && areDisjoint(one, other)));
}

/** Of an unordered funnel, steps that share events must be the same. */
function checkUnordered(shape: FunnelShape): void {
  for (const group of groupsOf(shape)) {
    const [first = 0, ...rest] = group;
    const other = rest.find((one) => !shape.equals(first, one));
    if (other !== undefined)
      invalid(
        `series__${other}`,
        `Steps ${first + 1} and ${other + 1} may be the same event, which is not supported in an unordered funnel. ` +
          'Tell them apart by their events, or by a property that is exactly one value.',
      );
  }
}

/** Numbers, as ranks go by how many steps were reached, and of as many by who was first. */
const RANK_STEP = 2 ** 52;

/**
 * Returns a query whose rows are persons (with a breakdown, persons and values; and `more` that tells runs apart): how
 * many steps they reached (`furthest`), and the times `u0` and so on of the run that got there first. Of runs that end
 * together the one that begins last counts. A person whose furthest run is excluded is not there.
 */
function furthestOf(shape: FunnelShape, more: Columns = {}): Syntax {
  const keys = [...keyOf(shape), ...Object.keys(more)];
  const kept = Object.fromEntries(keys.map((name) => [name, more[name] ?? field(name)]));
  const same = fieldsOf(keys);
  const rank = call('minus', call('multiply', field('reached'), constant(RANK_STEP)), field('done'));
  const areApart = areRunsApart(shape);
  if (areApart && (shape.order === 'strict' || (shape.order === 'ordered' && Object.keys(more).length === 0)))
    return select({
      columns: {
        ...same,
        furthest: call('max', field('reached')),
        ...Object.fromEntries(shape.steps.map((_, n) => [`u${n}`, call('argMax', field(`t${n}`), rank)])),
      },
      from: select({
        columns: { ...kept, ...fieldsOf(['reached', 'done', ...shape.steps.map((_, n) => `t${n}`)]) },
        from: shape.order === 'strict' ? runsOf(shape) : bestRunsOf(shape),
      }),
      groupBy: keys.map((name) => field(name)),
    });
  const hasExclusions = shape.exclusions.length > 0;
  const ends = select({
    columns: {
      ...kept,
      reached: field('reached'),
      is_excluded: field('is_excluded'),
      done: field('done'),
      ...Object.fromEntries(shape.steps.map((_, n) => [`b${n}`, call('max', field(`t${n}`))])),
    },
    from: runsOf(shape),
    groupBy: [...keys, 'reached', 'is_excluded', 'done'].map((name) => field(name)),
  });
  const isClean = call('not', field('is_excluded'));
  const ofClean = (name: string, ...of: Syntax[]): Syntax =>
    hasExclusions ? call(`${name}If`, ...of, isClean) : call(name, ...of);
  const furthest = select({
    columns: {
      ...same,
      of_all: call('max', field('reached')),
      furthest: ofClean('max', field('reached')),
      ...Object.fromEntries(shape.steps.map((_, n) => [`u${n}`, ofClean('argMax', field(`b${n}`), rank)])),
    },
    from: ends,
    groupBy: keys.map((name) => field(name)),
  });
  if (!hasExclusions) return furthest;
  const columns = { ...same, furthest: field('furthest'), ...fieldsOf(shape.steps.map((_, n) => `u${n}`)) };
  return select({ columns, from: furthest, where: call('equals', field('furthest'), field('of_all')) });
}

const hasReached = (steps: number): Syntax => call('greaterOrEquals', field('furthest'), constant(steps));

const microsecondsBetween = (from: number, to: number): Syntax => call('minus', field(`u${to}`), field(`u${from}`));
const inSeconds = (microseconds: Syntax): Syntax => call('divide', microseconds, constant(1_000_000));

/** Asks the world for the rows of a query, by the names of their columns. */
async function ask(
  { range }: Pick<Funnel, 'range'>,
  query: Syntax,
  world: World,
  order?: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const hogql = `SELECT * FROM {answer} AS answer${order === undefined ? '' : ` ORDER BY ${order}`}`;
  const { columns, rows }: Rows = await world.rows({
    hogql,
    values: { answer: query },
    from: range.from,
    to: range.to,
  });
  return rows.map((row) => Object.fromEntries(columns.map((name, n) => [name, row[n]])));
}

async function stepsAnswer(funnel: Funnel, world: World): Promise<unknown> {
  const { shape, breakdown } = funnel;
  const names = shape.steps.map((_, n) => n);
  const numbers = Object.fromEntries(
    names.flatMap((n) => [
      [`count${n}`, call('countIf', hasReached(n + 1))],
      ...(n === 0
        ? []
        : [
            // Integers are added exactly, so no order of the rows shows in the last bit.
            [`average${n}`, inSeconds(call('avg', microsecondsBetween(n - 1, n)))],
            [`median${n}`, call('median', inSeconds(microsecondsBetween(n - 1, n)))],
          ]),
    ]),
  ) as Columns;
  const persons = furthestOf(shape);
  if (breakdown === undefined) {
    const [row = {}] = await ask(funnel, select({ columns: numbers, from: persons }), world);
    return stepResults(funnel, row);
  }
  const isOther = isBeyond(breakdown);
  const { value: _, ...numbered } = keptOf(shape);
  const shown = select({
    columns: {
      ...numbered,
      place: field('place'),
      is_other: isOther,
      shown: call('if', isOther, constant(''), field('value')),
    },
    from: placedOf(shape, persons),
  });
  const answered = select({
    columns: { ...fieldsOf(['is_other', 'shown']), first: call('min', field('place')), ...numbers },
    from: shown,
    groupBy: [field('is_other'), field('shown')],
  });
  const rows = await ask(funnel, answered, world, 'first');
  return rows
    .filter((row) => row['is_other'] !== true || !breakdown.hidesOther)
    .map((row) => {
      const value = row['is_other'] === true ? [OTHER] : valuesOf(row['shown'], breakdown);
      return stepResults(funnel, row).map((one) => ({ ...one, breakdown: value, breakdown_value: value }));
    });
}

const keptOf = ({ steps }: FunnelShape): Columns => fieldsOf(['value', 'furthest', ...steps.map((_, n) => `u${n}`)]);

/** Returns the persons with the `place` of their value, by how many of it got furthest. */
function placedOf(shape: FunnelShape, persons: Syntax): Syntax {
  const names = shape.steps.map((_, n) => n);
  const kept = keptOf(shape);
  const reaching = Object.fromEntries(
    names.map((n) => [
      `total${n}`,
      over('count', [call('if', hasReached(n + 1), constant(1), constant(null))], { partitionBy: [field('value')] }),
    ]),
  );
  const orderBy = [...names.toReversed().map((n) => ({ descending: field(`total${n}`) })), field('value')];
  const counted = select({ columns: { ...kept, ...reaching, actor: field('actor') }, from: persons });
  const place = over('dense_rank', [], { partitionBy: [], orderBy });
  return select({ columns: { ...kept, actor: field('actor'), place }, from: counted });
}

const isBeyond = ({ limit }: Breakdown): Syntax => call('greater', field('place'), constant(limit));

/** What PostHog calls all values beyond the limit in funnels. */
const OTHER = 'Other';

/** Returns the values of a breakdown; what is missing is empty. */
const valuesOf = (value: unknown, breakdown: Breakdown): string[] =>
  [breakdownLabel(breakdown, String(value)).breakdown_value].flat().map((one) => (one === MISSING ? '' : one));

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

function stepResults({ query, shape }: Funnel, row: Readonly<Record<string, unknown>>) {
  const isUnordered = shape.order === 'unordered';
  return query.series.map((one, n) => {
    const event = nameOf(one) === '' ? null : nameOf(one);
    return {
      action_id: isUnordered ? null : event,
      name: isUnordered ? `Completed ${n + 1} step${n === 0 ? '' : 's'}` : (event ?? 'All events'),
      custom_name: isUnordered ? null : (one.custom_name ?? null),
      order: n,
      people: [],
      count: Number(row[`count${n}`] ?? 0),
      type: 'events',
      average_conversion_time: n === 0 ? null : numberOrNull(row[`average${n}`]),
      median_conversion_time: n === 0 ? null : numberOrNull(row[`median${n}`]),
    };
  });
}

/** The number of the bucket in which a run begins. */
function bucketOf({ query, range }: Funnel, world: World) {
  const buckets = bucketsOf(range, query.interval ?? 'day', world);
  const edges = [...buckets.map(({ start }) => start), buckets.at(-1)?.end ?? range.to + 1];
  return { buckets, index: bucketIndex(edges, call('fromUnixTimestamp64Micro', field('t0'))) };
}

async function trendsAnswer(funnel: Funnel, world: World): Promise<unknown> {
  const { shape, breakdown, from, to } = funnel;
  const { buckets, index } = bucketOf(funnel, world);
  const keys = breakdown === undefined ? ['bucket'] : ['value', 'bucket'];
  const counts = { entered: call('countIf', hasReached(from + 1)), converted: call('countIf', hasReached(to + 1)) };
  const counted = select({
    columns: { ...fieldsOf(keys), ...counts },
    from: furthestOf(shape, { bucket: index }),
    groupBy: keys.map((name) => field(name)),
  });
  const dataOf = (rows: readonly Readonly<Record<string, unknown>>[]) => {
    const data = buckets.map(() => 0);
    for (const { bucket, entered, converted } of rows) {
      const rate = Number(entered) === 0 ? 0 : (Number(converted) / Number(entered)) * 100;
      data[Number(bucket)] = Number(rate.toFixed(2));
    }
    return {
      count: buckets.length,
      data,
      days: buckets.map(({ day }) => day),
      labels: buckets.map(({ label }) => label),
    };
  };
  if (breakdown === undefined) return [dataOf(await ask(funnel, counted, world))];
  const kept = fieldsOf([...keys, 'entered', 'converted']);
  const total = over('sum', [field('entered')], { partitionBy: [field('value')] });
  const totals = select({ columns: { ...kept, total }, from: counted });
  const orderBy = [{ descending: field('total') }, field('value')];
  const place = over('dense_rank', [], { partitionBy: [], orderBy });
  const placed = select({ columns: { ...kept, place }, from: totals });
  const isShown = call('lessOrEquals', field('place'), constant(breakdown.limit));
  const rows = await ask(
    funnel,
    select({ columns: { ...kept, place: field('place') }, from: placed, where: isShown }),
    world,
    'place, bucket',
  );
  const byValue = Map.groupBy(rows, ({ value }) => value);
  return [...byValue].map(([value, own]) => ({ ...dataOf(own), breakdown_value: valuesOf(value, breakdown) }));
}

/** The width of bins where all took the same time. */
const LONE_BIN_SECONDS = 60;
const MAX_AUTOMATIC_BINS = 60;

async function timeToConvert(funnel: Funnel, world: World): Promise<unknown> {
  const { shape, breakdown, filter, from, to } = funnel;
  if (breakdown !== undefined) invalid('breakdownFilter', 'The time to convert has no breakdown.');
  const converted = select({
    columns: { took: microsecondsBetween(from, to) },
    from: furthestOf(shape),
    where: hasReached(to + 1),
  });
  const everything = { partitionBy: [] };
  const [seconds, low, high, total] = [field('seconds'), field('low'), field('high'), field('total')];
  const took = field('took');
  const known = select({
    columns: {
      seconds: inSeconds(took),
      low: call('floor', inSeconds(over('min', [took], everything))),
      high: call('ceil', inSeconds(over('max', [took], everything))),
      average: inSeconds(over('avg', [took], everything)),
      total: over('count', [took], everything),
    },
    from: converted,
  });
  // About the cube root of the persons.
  const automatic = Array.from({ length: MAX_AUTOMATIC_BINS - 1 }, (_, n) => n + 1);
  const bins =
    typeof filter.binCount === 'number'
      ? constant(Math.min(Math.max(filter.binCount, 1), MAX_BINS))
      : call(
          'multiIf',
          ...automatic.flatMap((n) => [call('lessOrEquals', total, constant(n ** 3)), constant(n)]),
          constant(MAX_AUTOMATIC_BINS),
        );
  const span = call('ceil', call('divide', call('minus', high, low), field('bins')));
  const measured = select({
    columns: { seconds, low, high, average: field('average'), bins },
    from: known,
  });
  const width = call('if', call('greater', span, constant(0)), span, constant(LONE_BIN_SECONDS));
  const widths = select({
    columns: { seconds, low, average: field('average'), bins: field('bins'), width },
    from: measured,
  });
  const bin = call('floor', call('divide', call('minus', seconds, low), field('width')));
  const names = ['bin', 'low', 'width', 'bins', 'average'];
  const binned = select({ columns: { ...fieldsOf(names), bin }, from: widths });
  const counted = select({
    columns: { ...fieldsOf(names), persons: call('count') },
    from: binned,
    groupBy: names.map((name) => field(name)),
  });
  const rows = await ask(funnel, counted, world);
  const [first] = rows;
  if (first === undefined) return { bins: [], average_conversion_time: null };
  const persons = new Map(rows.map((row) => [Number(row['bin']), Number(row['persons'])]));
  const [start, step_, count] = [Number(first['low']), Number(first['width']), Number(first['bins'])];
  return {
    bins: Array.from({ length: count + 1 }, (_, n) => [start + n * step_, persons.get(n) ?? 0]),
    average_conversion_time: Number(first['average']),
  };
}

async function actors(query: FunnelsQuery, selection: Selection, world: World): Promise<Question> {
  const funnel = await funnelOf(query, world);
  const { shape, range, breakdown, from, to } = funnel;
  const by = query.funnelsFilter?.funnelAggregateByHogQL ?? '';
  if (by !== '' && by !== 'person_id')
    return invalid('source__source__funnelsFilter', 'The funnel counts no persons: it has `funnelAggregateByHogQL`.');
  const ofValue = (value: Selection['funnelStepBreakdown'], others: readonly Syntax[]): Syntax[] => {
    if (breakdown === undefined || value === undefined) return [];
    const told = [value].flat().map((one) => (one === '' ? MISSING : String(one)));
    const isValue = call('equals', field('value'), constant(told.join(SEPARATOR)));
    return [told.join() === OTHER ? any([isValue, ...others]) : isValue];
  };
  const start = selection.funnelTrendsEntrancePeriodStart;
  const questionOf = (persons: Syntax, conditions: readonly Syntax[], others: readonly Syntax[] = []): Question => ({
    hogql: 'SELECT DISTINCT actor AS actor_id FROM {persons} AS persons WHERE {condition}',
    values: { persons, condition: all([...conditions, ...ofValue(selection.funnelStepBreakdown, others)]) },
    from: range.from,
    to: range.to,
  });
  if (start !== undefined) {
    const { buckets, index } = bucketOf(funnel, world);
    const bucket = buckets.findIndex(
      ({ day }) => day === start || day === `${start}:00` || day.startsWith(`${start} `),
    );
    if (bucket < 0) return invalid('source__funnelTrendsEntrancePeriodStart', 'The funnel has no such period.');
    const isDropOff = selection.funnelTrendsDropOff === true;
    const reached = isDropOff ? [hasReached(from + 1), call('not', hasReached(to + 1))] : [hasReached(to + 1)];
    return questionOf(furthestOf(shape, { bucket: index }), [
      call('equals', field('bucket'), constant(bucket)),
      ...reached,
    ]);
  }
  const number = selection.funnelStep ?? 1;
  if (number === 0 || number === -1 || Math.abs(number) > shape.steps.length)
    return invalid(
      'source__funnelStep',
      `A step is 1 to ${shape.steps.length}, or for those who dropped off, -2 and less.`,
    );
  const isAt = number > 0 ? hasReached(number) : call('equals', field('furthest'), constant(Math.abs(number) - 1));
  const persons = furthestOf(shape);
  if (breakdown === undefined) return questionOf(persons, [isAt]);
  return questionOf(placedOf(shape, persons), [isAt], [isBeyond(breakdown)]);
}
