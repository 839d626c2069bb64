/** Who came back: of those who did one thing in an interval, how many did another in each of the intervals after it. */
import * as z from 'zod';
import { DAY_MS, HOUR_MS } from '../../basics/units.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import { all, any, call, constant, field } from '../../hogql/write.ts';
import { choice, integer, text } from '../../http/fields.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, ChosenNumber, Kind, Question, World } from './kind.ts';
import {
  type Breakdown,
  BreakdownFilter,
  binEdges,
  breakdownOf,
  breakdownValue,
  MISSING,
  OTHER,
  OTHERS_UNKNOWN,
  SEPARATOR,
} from './parts/breakdown.ts';
import { bucketIndex, edgesOf } from './parts/bucket-index.ts';
import {
  addIntervals,
  type Bucket,
  bucketsOf,
  firstEvent,
  inRange,
  instantConstant,
  rangeAsked,
  resolvedDateRange,
  startOfInterval,
  type TimeRange,
  wireInstantOf,
} from './parts/date-range.ts';
import { lacking, MEMBERS } from './parts/members.ts';
import { propertyCondition, propertyFilters } from './parts/property-filters.ts';

const PERIODS = ['Hour', 'Day', 'Week', 'Month'] as const;
type Period = (typeof PERIODS)[number];

const INTERVAL_OF = { Hour: 'hour', Day: 'day', Week: 'week', Month: 'month' } as const;

/** How long an interval is where it is counted from the event of each person. */
const WINDOW_MS: Readonly<Record<Period, number>> = {
  Hour: HOUR_MS,
  Day: DAY_MS,
  Week: 7 * DAY_MS,
  Month: 30 * DAY_MS,
};

const DEFAULT_INTERVALS = 8;
/** Of rows, and of the values of each. */
const MAX_INTERVALS = 400;
const MAX_MINIMUM = 1_000_000;

/** An event that persons have to do. */
const Entity = z.object({
  id: z
    .union([z.string(), z.number().transform(String)])
    .nullish()
    .describe('The name of the event; null: any event.'),
  type: choice(['events', 'actions', 'data_warehouse']).nullish(),
  properties: propertyFilters(),
});
type Entity = z.output<typeof Entity>;

const TYPES = ['retention_recurring', 'retention_first_time', 'retention_first_ever_occurrence'] as const;

const RetentionFilter = z.object({
  period: choice(PERIODS).nullish(),
  totalIntervals: integer({ min: 1, max: MAX_INTERVALS }).nullish(),
  targetEntity: Entity.nullish(),
  returningEntity: Entity.nullish(),
  retentionType: choice(TYPES).nullish(),
  cumulative: z.boolean().nullish(),
  minimumOccurrences: integer({ min: 1, max: MAX_MINIMUM }).nullish(),
  timeWindowMode: choice(['strict_calendar_dates', '24_hour_windows']).nullish(),
  aggregationType: choice(['count', 'sum', 'avg']).nullish(),
  aggregationProperty: text().nullish(),
  aggregationPropertyType: choice(['event', 'person']).nullish(),
  retentionCustomBrackets: lacking('Brackets of intervals are'),
  customAggregationTarget: lacking('Retention of something else than persons is', false),
});
type RetentionFilter = z.output<typeof RetentionFilter>;

const RetentionQuery = z.object({
  kind: z.literal('RetentionQuery'),
  ...MEMBERS,
  retentionFilter: RetentionFilter.nullish(),
  breakdownFilter: BreakdownFilter.nullish(),
});
type RetentionQuery = z.output<typeof RetentionQuery>;

/** What a retention query asks, made out: HogQL that selects from `visits`, and its values. */
interface Plan {
  readonly period: Period;
  /** The intervals that have a row each, in order. */
  readonly buckets: readonly Bucket[];
  /** How many values a row has. */
  readonly width: number;
  /** Whole intervals. */
  readonly range: TimeRange;
  readonly breakdown: Breakdown | undefined;
  readonly isSummed: boolean;
  /**
   * What stands before a SELECT. Its `visits` has a row for each `actor`, interval in which they began (`start`, from 0)
   * and interval of their being there, `gap` intervals later: 0, and those in which they came back. With a breakdown each
   * `value` is as if there were no others; sums have the `amount` of a visit.
   */
  readonly visits: string;
  readonly values: Readonly<Record<string, Syntax>>;
  /** The earliest event that matters; undefined: any. */
  readonly from: number | undefined;
}

async function planOf(query: RetentionQuery, world: World): Promise<Plan> {
  const filter = query.retentionFilter ?? {};
  const period = filter.period ?? 'Day';
  const { isSummed, isRolling } = checkedModes(filter);
  const [target, returning, passed] = await Promise.all([
    entityCondition(filter.targetEntity, 'targetEntity', world),
    entityCondition(filter.returningEntity, 'returningEntity', world),
    propertyCondition(query, world),
  ]);
  const width = filter.totalIntervals ?? DEFAULT_INTERVALS;
  const buckets = await bucketsOfRetention(query, period, width, all([passed, target.condition]), world);
  const [first, last] = [buckets[0] as Bucket, buckets.at(-1) as Bucket];
  const range = { from: first.start, to: last.end - 1 };
  const ever = EVER[filter.retentionType ?? 'retention_recurring'];
  const isReturning = ever === undefined ? returning.condition : all([returning.condition, inRange(range)]);
  const relevant = all([
    ever === undefined ? inRange(range) : call('less', field('timestamp'), instantConstant(last.end)),
    eitherOf(ever?.isFirstOfName === true ? target.named : target.condition, isReturning),
    passed,
  ]);
  const breakdown = breakdownOf(query.breakdownFilter);
  const edges = edgesOf(buckets);
  const index = bucketIndex(edges, field('timestamp'));
  const isBefore = call('less', field('timestamp'), instantConstant(first.start));
  return {
    period,
    buckets,
    width,
    range,
    breakdown,
    isSummed,
    visits: (isRolling ? byWindows : isSummed ? bySums : byCalendar)(breakdown === undefined ? '' : ', value', ever),
    values: {
      target: target.condition,
      named: target.named,
      returning: returning.condition,
      condition: relevant,
      bucket: ever === undefined ? index : call('if', isBefore, constant(BEFORE), index),
      width: constant(width),
      minimum: constant(filter.minimumOccurrences ?? 1),
      beginning: instantConstant(first.start),
      anchored: bucketIndex(edges, field('anchor')),
      window: constant(WINDOW_MS[period] * 1000),
      ...(isSummed ? { amount: amountOf(filter) } : {}),
      ...(breakdown === undefined
        ? {}
        : { value: await valueIn(breakdown, all([relevant, inRange(range)]), range, world) }),
    },
    from: ever === undefined ? range.from : undefined,
  };
}

/** The number of all the time before the first interval. */
const BEFORE = -1;

/** Returns the value of an event, by which the answer is broken down. */
const valueIn = async (breakdown: Breakdown, condition: Syntax, range: TimeRange, world: World): Promise<Syntax> =>
  breakdownValue(breakdown, await binEdges(breakdown, condition, range, world), world);

/** Returns what holds where one of two conditions does; files are skipped by one that is not said twice. */
const eitherOf = (one: Syntax, other: Syntax): Syntax =>
  JSON.stringify(one) === JSON.stringify(other) ? one : any([one, other]);

/** Throws `Failure` (400) for what PostHog's API has no answer to either, and for a sum of nothing, where it counts. */
function checkedModes(filter: RetentionFilter): { readonly isSummed: boolean; readonly isRolling: boolean } {
  const type = filter.aggregationType ?? 'count';
  const isSummed = type !== 'count';
  if (isSummed && (filter.aggregationProperty ?? '') === '') {
    const detail = `The aggregation '${type}' needs a property, as aggregationProperty.`;
    invalid('retentionFilter__aggregationProperty', detail);
  }
  const isRolling = filter.timeWindowMode === '24_hour_windows';
  if (isRolling && filter.cumulative === true) {
    invalid('retentionFilter__cumulative', 'Cumulative retention is not supported for 24 hour windows.');
  }
  if (isSummed && (isRolling || filter.cumulative === true)) {
    const detail = 'Sums and averages are not supported with cumulative retention, nor with 24 hour windows.';
    invalid('retentionFilter__aggregationType', detail);
  }
  return { isSummed, isRolling };
}

/**
 * Returns the intervals that have a row each. The last is that of the range's end, whole; the first that of its beginning,
 * and where there is none so many are counted back as a row has values.
 */
async function bucketsOfRetention(
  { dateRange }: RetentionQuery,
  period: Period,
  width: number,
  target: Syntax,
  world: World,
): Promise<readonly Bucket[]> {
  const interval = INTERVAL_OF[period];
  const { from, to } = await rangeAsked(dateRange, interval, world, () => firstEvent(world, target));
  const last = startOfInterval(to, interval, world);
  const hasFrom = (dateRange?.date_from ?? '') !== '';
  const first = hasFrom ? from : addIntervals(last, 1 - width, interval, world);
  if (first > to) invalid('dateRange__date_from', 'The range ends before it begins.');
  const buckets = bucketsOf({ from: first, to }, interval, world);
  if (buckets.length > MAX_INTERVALS) {
    invalid(
      'dateRange__date_from',
      `Retention has at most ${MAX_INTERVALS} intervals, and this range has ${buckets.length}.`,
    );
  }
  return buckets;
}

const DEFAULT_EVENT = '$pageview';

/** Returns what events have to be for an entity; `named` is the same without the entity's own filters. */
async function entityCondition(
  entity: Entity | null | undefined,
  name: string,
  world: World,
): Promise<{ readonly named: Syntax; readonly condition: Syntax }> {
  if (entity?.type === 'actions') invalid(`retentionFilter__${name}__type`, 'Actions are not supported.');
  if (entity?.type === 'data_warehouse')
    invalid(`retentionFilter__${name}__type`, 'The data warehouse is not supported.');
  const event = entity === null || entity === undefined ? DEFAULT_EVENT : (entity.id ?? null);
  const named = event === null ? all([]) : call('equals', field('event'), constant(event));
  return { named, condition: all([named, await propertyCondition({ properties: entity?.properties }, world)]) };
}

const propertyOf = (type: 'event' | 'person' | null | undefined, name: string): Syntax =>
  type === 'person' ? field('person', 'properties', name) : field('properties', name);

const amountOf = ({ aggregationProperty, aggregationPropertyType }: RetentionFilter): Syntax =>
  call('ifNull', call('toFloat', propertyOf(aggregationPropertyType, aggregationProperty ?? '')), constant(0));

/**
 * Persons begin once, where they did the target event first, of all time. `isFirstOfName`: and only if that first one fits
 * the filters of the event.
 */
type Ever = { readonly isFirstOfName: boolean } | undefined;

const EVER: Readonly<Record<(typeof TYPES)[number], Ever>> = {
  retention_recurring: undefined,
  retention_first_time: { isFirstOfName: false },
  retention_first_ever_occurrence: { isFirstOfName: true },
};

/** Where persons began: in each interval in which they did the target event, or in the first of all. */
function cohorts(by: string, ever: Ever): string {
  if (ever === undefined) return `cohorts AS (SELECT actor${by}, bucket AS start FROM activity WHERE starts > 0)`;
  return `cohorts AS (
    SELECT actor${by}, min(if(starts > 0, bucket, NULL)) AS start FROM activity GROUP BY actor${by}
    HAVING min(if(starts > 0, bucket, NULL)) >= 0 ${ever.isFirstOfName ? 'AND min(named_at) = min(target_at)' : ''}
  )`;
}

const FIRSTS = ', min(if({named}, timestamp, NULL)) AS named_at, min(if({target}, timestamp, NULL)) AS target_at';

const visitsOf = (by: string, more: string): string => `
  visits AS (
    SELECT cohorts.actor AS actor${by && ', cohorts.value AS value'}, cohorts.start AS start,
      activity.bucket - cohorts.start AS gap${more}
    FROM cohorts INNER JOIN activity ON activity.actor = cohorts.actor${by && ' AND activity.value = cohorts.value'}
    WHERE activity.bucket >= cohorts.start AND activity.bucket < cohorts.start + {width}
      AND (activity.bucket = cohorts.start OR activity.returns >= {minimum})
  )`;

/** Intervals are those of the calendar. */
const byCalendar = (by: string, ever: Ever): string => `WITH
  activity AS (
    SELECT person_id AS actor${by && ', {value} AS value'}, {bucket} AS bucket,
      countIf({target}) AS starts, countIf({returning}) AS returns${ever?.isFirstOfName === true ? FIRSTS : ''}
    FROM events WHERE {condition} GROUP BY actor${by}, bucket
  ),
  ${cohorts(by, ever)}, ${visitsOf(by, '')}`;

/**
 * The same with the sum of a property: of the interval in which persons began that of the target events, and of those
 * that return after the first of them; later that of the events that return.
 */
const bySums = (by: string, ever: Ever): string => `WITH
  relevant AS (
    SELECT person_id AS actor${by && ', {value} AS value'}, {bucket} AS bucket, timestamp AS moment,
      {target} AS is_start, {returning} AS is_return, {named} AS is_named, {amount} AS amount
    FROM events WHERE {condition}
  ),
  begun AS (
    SELECT actor${by}, bucket, moment, is_start, is_return, is_named, amount,
      min(if(is_start, moment, NULL)) OVER (PARTITION BY actor${by}, bucket) AS began_at
    FROM relevant
  ),
  activity AS (
    SELECT actor${by}, bucket, countIf(is_start) AS starts, countIf(is_return) AS returns,
      sumIf(amount, is_start OR (is_return AND moment > began_at)) AS begun_amount, sumIf(amount, is_return) AS later_amount,
      min(if(is_named, moment, NULL)) AS named_at, min(if(is_start, moment, NULL)) AS target_at
    FROM begun GROUP BY actor${by}, bucket
  ),
  ${cohorts(by, ever)}, ${visitsOf(by, ', if(activity.bucket = cohorts.start, activity.begun_amount, activity.later_amount) AS amount')}`;

/** Intervals have one length each, and begin with each person's first target event. */
const byWindows = (by: string, ever: Ever): string => `WITH
  relevant AS (
    SELECT person_id AS actor${by && ', {value} AS value'}, timestamp AS moment,
      {target} AS is_start, {returning} AS is_return, {named} AS is_named
    FROM events WHERE {condition}
  ),
  anchors AS (
    SELECT actor${by}, min(if(is_start, moment, NULL)) AS anchor FROM relevant GROUP BY actor${by}
    HAVING min(if(is_start, moment, NULL)) >= {beginning}
      ${ever?.isFirstOfName === true ? 'AND min(if(is_start, moment, NULL)) = min(if(is_named, moment, NULL))' : ''}
  ),
  steps AS (
    SELECT anchors.actor AS actor${by && ', anchors.value AS value'}, anchors.anchor AS anchor, relevant.is_return AS is_return,
      intDiv(toUnixTimestamp64Micro(relevant.moment) - toUnixTimestamp64Micro(anchors.anchor), {window}) AS gap
    FROM anchors INNER JOIN relevant ON relevant.actor = anchors.actor${by && ' AND relevant.value = anchors.value'}
    WHERE relevant.moment >= anchors.anchor
  ),
  visits AS (
    SELECT actor${by}, {anchored} AS start, gap FROM steps WHERE gap < {width}
    GROUP BY actor${by}, anchor, gap HAVING gap = 0 OR countIf(is_return) >= {minimum}
  )`;

async function answer(query: RetentionQuery, world: World): Promise<Answer> {
  const plan = await planOf(query, world);
  const isCumulative = query.retentionFilter?.cumulative === true;
  const question = {
    hogql: `${plan.visits}, ${counted(plan, isCumulative)} ${plan.breakdown !== undefined ? keptValues(isCumulative) : PLAIN}`,
    values: { ...plan.values, limit: constant(plan.breakdown?.limit ?? 0), other: constant(OTHER) },
    from: plan.from,
    to: plan.range.to,
  };
  const { rows } = await world.rows(question);
  const found = rows.map(([value, start, gap, persons, amount]) => ({
    value: String(value),
    start: Number(start),
    gap: Number(gap),
    persons: Number(persons),
    amount: Number(amount),
  }));
  const values = [...new Set(found.map(({ value }) => value))].filter(
    (value) => plan.breakdown?.hidesOther !== true || value !== OTHER,
  );
  const isAverage = query.retentionFilter?.aggregationType === 'avg';
  return {
    results: (plan.breakdown !== undefined ? values : ['']).flatMap((value) => {
      const grid = gridOf(
        plan,
        found.filter((one) => one.value === value),
        isCumulative,
      );
      return plan.buckets.map(({ start }, row) => ({
        label: `${plan.period} ${row}`,
        date: wireInstantOf(start, world),
        values: (grid[row] ?? []).map(({ persons, amount }, gap) => ({
          count: persons,
          label: `${plan.period} ${gap}`,
          ...(plan.isSummed ? { aggregation_value: isAverage ? amount / Math.max(persons, 1) : amount } : {}),
        })),
        ...(plan.breakdown !== undefined ? { breakdown_value: valueOf(value) } : {}),
      }));
    }),
    resolved_date_range: resolvedDateRange(plan.range, world),
  };
}

/** Returns a value of a breakdown as answers tell it: what is missing is empty, several are a list. */
function valueOf(value: string): string | readonly string[] {
  const parts = value.split(SEPARATOR).map((part) => (part === MISSING ? '' : part));
  return parts.length === 1 ? (parts[0] ?? '') : parts;
}

/** Returns the query that counts visits; of cumulative retention those of each person that are furthest. */
function counted({ breakdown, isSummed }: Plan, isCumulative: boolean): string {
  const by = breakdown !== undefined ? 'value, ' : '';
  const furthest = `(SELECT actor, ${by}start, max(gap) AS furthest FROM visits GROUP BY actor, ${by}start)`;
  return `counted AS (
    SELECT ${by}start, ${isCumulative ? 'furthest AS ' : ''}gap, count() AS persons, ${isSummed ? 'sum(amount)' : '0'} AS total_amount
    FROM ${isCumulative ? furthest : 'visits'} GROUP BY ${by}start, gap
  )`;
}

const PLAIN = "SELECT '' AS kept, start, gap, persons, total_amount FROM counted";

/** The values of a breakdown in the order of those who began with them; behind the limit they are one. */
const keptValues = (isCumulative: boolean): string => `, ranked AS (
    SELECT value AS ranked_value, row_number() OVER (ORDER BY began DESC, value ASC) AS place
    FROM (SELECT value, sum(persons) AS began FROM counted ${isCumulative ? '' : 'WHERE gap = 0 '}GROUP BY value) AS totals
  )
  SELECT if(ranked.place <= {limit}, counted.value, {other}) AS kept, counted.start AS start, counted.gap AS gap,
    sum(counted.persons) AS persons, sum(counted.total_amount) AS amount, min(ranked.place) AS first_place
  FROM counted INNER JOIN ranked ON ranked.ranked_value = counted.value
  GROUP BY kept, start, gap ORDER BY first_place, start, gap`;

interface Cell {
  readonly persons: number;
  readonly amount: number;
}

/** Returns the cells of each row; of cumulative retention those who came back then or later. */
function gridOf(
  { buckets, width }: Plan,
  found: readonly (Cell & { readonly start: number; readonly gap: number })[],
  isCumulative: boolean,
): readonly (readonly Cell[])[] {
  const grid: Cell[][] = buckets.map(() => Array.from({ length: width }, () => ({ persons: 0, amount: 0 })));
  for (const { start, gap, persons, amount } of found) {
    const row = grid[start] ?? [];
    row.forEach((cell, at) => {
      if (at === gap || (isCumulative && at < gap)) {
        row[at] = { persons: cell.persons + persons, amount: cell.amount + amount };
      }
    });
  }
  return grid;
}

/** Those who began in an interval of the answer, with how many intervals later they came back, or of cumulative retention still count. */
async function actors(query: RetentionQuery, { interval, breakdown }: ChosenNumber, world: World): Promise<Question> {
  const plan = await planOf(query, world);
  const value = breakdown === undefined ? undefined : [breakdown].flat().map((part) => String(part) || MISSING);
  if (value?.includes(OTHER) === true) invalid('source__breakdown', OTHERS_UNKNOWN);
  const isCumulative = query.retentionFilter?.cumulative === true;
  const conditions = [
    ...(interval === undefined ? [] : ['start = {row}']),
    ...(plan.breakdown !== undefined && value !== undefined ? ['value = {chosen}'] : []),
  ];
  return {
    hogql: `${plan.visits} SELECT actor AS actor_id, ${isCumulative ? 'range(0, max(gap) + 1)' : 'arraySort(groupUniqArray(gap))'} AS appearances FROM visits
      ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`} GROUP BY actor`,
    values: { ...plan.values, row: constant(interval ?? 0), chosen: constant(value?.join(SEPARATOR) ?? '') },
    from: plan.from,
    to: plan.range.to,
  };
}

export const retention: Kind<RetentionQuery> = { name: 'RetentionQuery', schema: RetentionQuery, answer, actors };
