/** How often persons do something: persons by the number of intervals in which they did it. */
import * as z from 'zod';
import { all, call, constant, field } from '../../hogql/write.ts';
import { choice, integer } from '../../http/fields.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, ChosenNumber, Kind, Question, World } from './kind.ts';
import { bucketIndex, edgesOf } from './parts/bucket-index.ts';
import {
  type AskedPeriod,
  type Bucket,
  bucketsOf,
  CompareFilter,
  INTERVALS,
  inRange,
  periodsAsked,
  resolvedDateRange,
} from './parts/date-range.ts';
import { MEMBERS, noBreakdown } from './parts/members.ts';
import { propertyCondition } from './parts/property-filters.ts';
import { firstOfSeries, labelOfSeries, Series, seriesCondition } from './parts/series.ts';

const MAX_INTERVAL_COUNT = 1000;

/** How many events of an interval make it count. */
const Criteria = z.object({
  operator: choice(['gte', 'lte', 'exact']),
  value: integer({ min: 1 }),
});

/** Whatever a series counts elsewhere, here it is its persons. */
const PersonMath = z
  .string()
  .refine((math) => math !== 'hogql' && math !== 'unique_group', { error: 'Stickiness counts persons only.' })
  .nullish();

const StickinessQuery = z.object({
  kind: z.literal('StickinessQuery'),
  ...MEMBERS,
  interval: choice(INTERVALS).nullish(),
  intervalCount: integer({ min: 1, max: MAX_INTERVAL_COUNT }).nullish(),
  series: z.array(Series.extend({ math: PersonMath })).min(1),
  stickinessFilter: z
    .object({ computedAs: choice(['non_cumulative', 'cumulative']).nullish(), stickinessCriteria: Criteria.nullish() })
    .nullish(),
  compareFilter: CompareFilter.nullish(),
  breakdownFilter: noBreakdown('a stickiness'),
});
type StickinessQuery = z.output<typeof StickinessQuery>;

/** One line of the answer: a series in a period. */
interface Line extends AskedPeriod {
  readonly series: Series;
  readonly order: number;
  readonly buckets: readonly Bucket[];
}

async function linesOf(query: StickinessQuery, world: World): Promise<readonly Line[]> {
  const interval = query.interval ?? 'day';
  const periods = await periodsAsked(query, interval, world, async () =>
    firstOfSeries(query.series, await propertyCondition(query, world), world),
  );
  return periods.flatMap((period) => {
    const buckets = bucketsOf(period.range, interval, world);
    return query.series.map((series, order) => ({ ...period, series, order, buckets }));
  });
}

const OPERATORS = { gte: 'greaterOrEquals', lte: 'lessOrEquals', exact: 'equals' } as const;

/** Returns a question with a row for each person that did it at all, and in how many `intervals`. */
async function personsOf(query: StickinessQuery, line: Line, world: World): Promise<Question> {
  const criteria = query.stickinessFilter?.stickinessCriteria ?? { operator: 'gte', value: 1 };
  const [matching, passed] = await Promise.all([seriesCondition(line.series, world), propertyCondition(query, world)]);
  const index = bucketIndex(edgesOf(line.buckets), field('timestamp'));
  // Intervals are joined from the last one back, so that only the first may be shorter.
  const fromLast = call('minus', constant(line.buckets.length - 1), index);
  const joined = query.intervalCount ?? 1;
  return {
    hogql: `SELECT actor AS actor_id, count() AS intervals FROM (
        SELECT person_id AS actor, {bucket} AS bucket FROM events WHERE {condition}
        GROUP BY actor, bucket HAVING {enough}
      ) AS active GROUP BY actor`,
    values: {
      bucket: joined === 1 ? index : call('intDiv', fromLast, constant(joined)),
      condition: all([inRange(line.range), matching, passed]),
      enough: call(OPERATORS[criteria.operator], call('count'), constant(criteria.value)),
    },
    from: line.range.from,
    to: line.range.to,
  };
}

async function answer(query: StickinessQuery, world: World): Promise<Answer> {
  const lines = await linesOf(query, world);
  const isCumulative = query.stickinessFilter?.computedAs === 'cumulative';
  const interval = query.interval ?? 'day';
  const results = await Promise.all(
    lines.map(async (line) => {
      const length = Math.ceil(line.buckets.length / (query.intervalCount ?? 1));
      const days = Array.from({ length }, (_, index) => index + 1);
      const persons = await personsOf(query, line, world);
      const hogql = `SELECT intervals, count() AS persons FROM (${persons.hogql}) AS persons GROUP BY intervals`;
      const { rows } = length === 0 ? { rows: [] } : await world.rows({ ...persons, hogql });
      const counts = new Map(rows.map(([intervals, count]) => [Number(intervals), Number(count)]));
      const data = days.map((day) => counts.get(day) ?? 0);
      const more = isCumulative ? ' or more' : '';
      return {
        ...labelOfSeries(line.series, line.order),
        data: isCumulative ? data.map((_, index) => sum(data.slice(index))) : data,
        days,
        labels: days.map((day) => `${day} ${interval}${day === 1 ? '' : 's'}${more}`),
        count: sum(data),
        ...(line.label && { compare: true, compare_label: line.label }),
      };
    }),
  );
  const [line] = lines;
  return { results, ...(line === undefined ? {} : { resolved_date_range: resolvedDateRange(line.range, world) }) };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** Those who did it in so many intervals. */
async function actors(query: StickinessQuery, selection: ChosenNumber, world: World): Promise<Question> {
  const lines = await linesOf(query, world);
  const { series = 0, compare, day, operator } = selection;
  const line = lines.find((one) => one.order === series && (one.label ?? 'current') === (compare ?? 'current'));
  if (line === undefined) return invalid('source__series', 'The query has no such series.');
  const persons = await personsOf(query, line, world);
  if (day === undefined) return persons;
  const intervals = Number(day);
  if (!Number.isSafeInteger(intervals)) invalid('source__day', 'Of a stickiness, the day is a number of intervals.');
  const isCumulative = query.stickinessFilter?.computedAs === 'cumulative';
  const compared = OPERATORS[isCumulative ? 'gte' : (operator ?? 'exact')];
  return {
    ...persons,
    hogql: `SELECT actor_id, intervals FROM (${persons.hogql}) AS persons WHERE {chosen}`,
    values: { ...persons.values, chosen: call(compared, field('intervals'), constant(intervals)) },
  };
}

export const stickiness: Kind<StickinessQuery> = { name: 'StickinessQuery', schema: StickinessQuery, answer, actors };
