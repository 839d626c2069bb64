/** Who is new, came again, came back and stayed away, of those who do something. */
import * as z from 'zod';
import type { Syntax } from '../../hogql/syntax.ts';
import { all, call, comparison, constant, field } from '../../hogql/write.ts';
import { choice } from '../../http/fields.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, ChosenNumber, Kind, Question, Rows, World } from './kind.ts';
import { bucketIndex, edgesOf } from './parts/bucket-index.ts';
import {
  type Bucket,
  bucketOfDay,
  bucketsOf,
  firstEvent,
  INTERVALS,
  inRange,
  instantConstant,
  rangeAsked,
  resolvedDateRange,
  startOfInterval,
  type TimeRange,
} from './parts/date-range.ts';
import { MEMBERS, noBreakdown } from './parts/members.ts';
import { propertyCondition } from './parts/property-filters.ts';
import { labelOfSeries, Series, seriesCondition } from './parts/series.ts';

/** In the order of the answer. */
const STATUSES = ['new', 'returning', 'resurrecting', 'dormant'] as const;

const LifecycleQuery = z.object({
  kind: z.literal('LifecycleQuery'),
  ...MEMBERS,
  interval: choice(INTERVALS).nullish(),
  series: z
    .array(Series)
    .refine(({ length }) => length === 1, 'A lifecycle has one series.')
    .meta({ minItems: 1, maxItems: 1 }),
  breakdownFilter: noBreakdown('a lifecycle'),
});
type LifecycleQuery = z.output<typeof LifecycleQuery>;

/** What a lifecycle asks, made out. */
interface Plan {
  readonly series: Series;
  /** Those of the answer, and before them the one that tells who was there already. */
  readonly buckets: readonly Bucket[];
  /** Without that one. */
  readonly range: TimeRange;
  readonly values: Readonly<Record<'bucket' | 'created_in' | 'condition' | 'matching' | 'begin' | 'last', Syntax>>;
  readonly from: number;
  readonly to: number;
}

async function planOf(query: LifecycleQuery, world: World): Promise<Plan> {
  const interval = query.interval ?? 'day';
  const series = query.series[0] as Series;
  const [matching, passed] = await Promise.all([seriesCondition(series, world), propertyCondition(query, world)]);
  const counted = all([matching, passed, HAS_PERSON]);
  const range = await rangeAsked(query.dateRange, interval, world, () => firstEvent(world, counted));
  const shown = bucketsOf(range, interval, world);
  const [first, last] = [shown[0], shown.at(-1)];
  if (first === undefined || last === undefined)
    return invalid('dateRange__date_from', 'The range ends before it begins.');
  const from = startOfInterval(first.start - 1, interval, world);
  const [before] = bucketsOf({ from, to: first.start - 1 }, interval, world);
  const buckets = [...(before === undefined ? [] : [before]), ...shown];
  const edges = edgesOf(buckets);
  return {
    series,
    buckets,
    range,
    values: {
      bucket: bucketIndex(edges, field('timestamp')),
      created_in: bucketIndex(edges, field('since')),
      condition: all([inRange({ from, to: last.end - 1 }), counted]),
      matching: all([matching, passed]),
      begin: instantConstant(from),
      last: constant(buckets.length - 1),
    },
    from,
    to: last.end - 1,
  };
}

/** Events whose sender wants no person made of them are left out. */
const HAS_PERSON = call('notEquals', field('properties', '$process_person_profile'), constant('false'));

/**
 * HogQL whose `labelled` has a row for each `actor` and bucket in which it was active, or had been in the one before,
 * with its `status`, and whether it `is_old`: its person was made before the range. Of others somebody may have come first
 * before their person was made, with an event that says nothing of it: `withFirsts` takes the earlier of both, which takes
 * reading all events of those.
 */
const labelled = (withFirsts: boolean): string => `WITH
  ${withFirsts ? FROM_FIRSTS : FROM_PERSONS},
  around AS (
    SELECT actor, active_in, created, ${near('lag', 'active_in')} AS before, ${near('lag', 'created')} AS created_before,
      ${near('lead', 'active_in')} AS after
    FROM activity
  ),
  marks AS (
    SELECT actor, active_in, isNotNull(before) AND before = active_in - 1 AS was_here,
      if(was_here AND isNotNull(created_before) AND (isNull(created) OR created_before < created), created_before, created)
        AS earliest,
      isNotNull(after) AND after = active_in + 1 AS is_next, created, arrayJoin([0, 1]) AS shift
    FROM around
  ),
  states AS (
    SELECT actor, active_in + shift AS bucket, if(shift = 0, earliest, created) AS since, shift, was_here
    FROM marks WHERE shift = 0 OR NOT is_next
  ),
  labelled AS (
    SELECT actor, bucket, isNotNull(since) AND since < {begin} AS is_old,
      multiIf(shift = 1, 'dormant', {created_in} = bucket, 'new', was_here, 'returning', 'resurrecting') AS status
    FROM states WHERE bucket >= 1 AND bucket <= {last}
  )`;

/** What the bucket before or after, in which an actor was active, has. */
const near = (name: 'lag' | 'lead', column: string): string =>
  `${name}InFrame(${column}) OVER (
    PARTITION BY actor ORDER BY active_in ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)`;

const FROM_PERSONS = `activity AS (
    SELECT person_id AS actor, {bucket} AS active_in, min(person.created_at) AS created
    FROM events WHERE {condition} GROUP BY actor, active_in
  )`;

/** The events of the range are read once, for who was active and for whom they are the first. */
const FROM_FIRSTS = `seen AS (
    SELECT person_id AS actor, {bucket} AS active_in, countIf({matching}) > 0 AS is_active,
      minIf(person.created_at, {matching}) AS created, min(timestamp) AS first_seen
    FROM events WHERE {in_range} AND {has_person} GROUP BY actor, active_in
  ),
  before_range AS (
    SELECT person_id AS actor, min(timestamp) AS first_seen
    FROM events
    WHERE {before_range} AND (isNull(person.created_at) OR person.created_at >= {begin}) AND {has_person} GROUP BY actor
  ),
  firsts AS (
    SELECT first_actor, min(first_seen) AS first_at FROM (
      SELECT actor AS first_actor, first_seen FROM seen
      UNION ALL SELECT actor AS first_actor, first_seen FROM before_range
    ) AS sightings GROUP BY first_actor
  ),
  activity AS (
    SELECT seen.actor AS actor, seen.active_in AS active_in,
      least(coalesce(seen.created, firsts.first_at), firsts.first_at) AS created
    FROM seen LEFT JOIN firsts ON firsts.first_actor = seen.actor WHERE seen.is_active
  )`;

/** Returns the question that `select` makes of `labelled`. */
const asked = ({ values, from, to }: Plan, select: string, withFirsts: boolean): Question => ({
  hogql: `${labelled(withFirsts)} ${select}`,
  values: withFirsts
    ? {
        ...values,
        has_person: HAS_PERSON,
        in_range: inRange({ from, to }),
        before_range: comparison('<', field('timestamp'), instantConstant(from)),
      }
    : values,
  from: withFirsts ? undefined : from,
  to,
});

const COUNTS =
  'SELECT bucket, status, count() AS persons, countIf(NOT is_old) AS recent FROM labelled GROUP BY bucket, status';

/** Among so many events it shows whether there are any of somebody whose person is not old, where that is usual. */
const SAMPLE = 10_000;

/** Whether some of the first events are of somebody whose person is not old, so that asking without firsts is in vain. */
async function isSurelyWithFirsts({ values: { condition, begin }, from, to }: Plan, world: World): Promise<boolean> {
  const hogql = `SELECT countIf(isNull(created) OR created >= {begin}) FROM (
    SELECT person.created_at AS created FROM events WHERE {condition} LIMIT ${SAMPLE})`;
  const { rows } = await world.rows({ hogql, values: { condition, begin }, from, to, isAside: true });
  return Number(rows[0]?.[0]) > 0;
}

/** The counts, by the persons alone where all of these are old. */
async function countsOf(plan: Plan, world: World): Promise<Rows['rows']> {
  if (!(await isSurelyWithFirsts(plan, world))) {
    const { rows } = await world.rows(asked(plan, COUNTS, false));
    if (rows.every(([, , , recent]) => Number(recent) === 0)) return rows;
  }
  return (await world.rows(asked(plan, COUNTS, true))).rows;
}

async function answer(query: LifecycleQuery, world: World): Promise<Answer> {
  const plan = await planOf(query, world);
  const rows = await countsOf(plan, world);
  const counts = new Map(
    rows.map(([bucket, status, persons]) => [`${Number(bucket)} ${String(status)}`, Number(persons)]),
  );
  const shown = plan.buckets.slice(1);
  const { label, action } = labelOfSeries(plan.series, 0);
  return {
    results: STATUSES.map((status) => {
      const sign = status === 'dormant' ? -1 : 1;
      const data = shown.map((_, index) => sign * (counts.get(`${index + 1} ${status}`) ?? 0) + 0);
      return {
        action: { ...action, math: 'total' },
        data,
        count: data.reduce((total, one) => total + one, 0),
        days: shown.map(({ day }) => day),
        labels: shown.map((bucket) => bucket.label),
        label: `${label} - ${status}`,
        status,
      };
    }),
    resolved_date_range: resolvedDateRange(plan.range, world),
  };
}

/** Those of a status in an interval. */
async function actors(query: LifecycleQuery, { day, status }: ChosenNumber, world: World): Promise<Question> {
  const plan = await planOf(query, world);
  if (status !== undefined && !STATUSES.some((one) => one === status)) {
    invalid('source__status', `A lifecycle has the statuses ${STATUSES.join(', ')}.`);
  }
  const bucket = day === undefined ? undefined : bucketOfDay(plan.buckets.slice(1), day, world);
  const conditions = [
    'TRUE',
    ...(bucket === undefined ? [] : ['bucket = {chosen_bucket}']),
    ...(status === undefined ? [] : ['status = {chosen_status}']),
  ];
  const select = `SELECT actor AS actor_id FROM labelled WHERE ${conditions.join(' AND ')} GROUP BY actor`;
  const question = asked(plan, select, true);
  return {
    ...question,
    values: {
      ...question.values,
      chosen_bucket: constant(bucket === undefined ? 0 : plan.buckets.indexOf(bucket)),
      chosen_status: constant(status ?? ''),
    },
  };
}

export const lifecycle: Kind<LifecycleQuery> = { name: 'LifecycleQuery', schema: LifecycleQuery, answer, actors };
