/** How much of something happens, and when: numbers of events by time, told apart by their values. */

import * as z from 'zod';
import { getOrMake } from '../../basics/maps.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import { all, any, constant, field } from '../../hogql/write.ts';
import { choice, integer } from '../../http/fields.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, ChosenNumber, Kind, Question, World } from './kind.ts';
import {
  type Breakdown,
  BreakdownFilter,
  binEdges,
  breakdownLabel,
  breakdownOf,
  breakdownRead,
  missingValue,
  OTHER,
  OTHERS_UNKNOWN,
  SEPARATOR,
  valueOfRead,
} from './parts/breakdown.ts';
import { edgesOf } from './parts/bucket-index.ts';
import {
  type AskedPeriod,
  addIntervals,
  type Bucket,
  bucketOfDay,
  bucketsOf,
  CompareFilter,
  INTERVALS,
  type IntervalUnit,
  inRange,
  instantConstant,
  periodsAsked,
  resolvedDateRange,
  startOfInterval,
  type TimeRange,
  wireInstantOf,
} from './parts/date-range.ts';
import { type Formula, readFormula } from './parts/formula.ts';
import { MATHS, type Measure, measureOf } from './parts/math.ts';
import { lacking, MEMBERS } from './parts/members.ts';
import { propertyCondition } from './parts/property-filters.ts';
import { firstOfSeries, labelOfSeries, Series, seriesCondition } from './parts/series.ts';
import { isOfChanges, readField, type Totals, totalsQuestion } from './parts/totals.ts';

const TOTAL_DISPLAYS = ['BoldNumber', 'ActionsPie', 'ActionsBarValue', 'ActionsTable', 'WorldMap'] as const;
const DISPLAYS = [
  'Auto',
  'ActionsLineGraph',
  'ActionsLineGraphCumulative',
  'ActionsAreaGraph',
  'ActionsBar',
  'ActionsStackedBar',
  'ActionsUnstackedBar',
  ...TOTAL_DISPLAYS,
] as const;

/** Each has a letter. */
const MAX_SERIES = 26;
const MAX_FORMULAS = 26;
/** Of one result: a mean of so many intervals. */
const MAX_SMOOTHING = 1000;

const TrendsSeries = Series.extend({
  math: choice([...MATHS, 'unique_group']).nullish(),
  math_property_type: z.string().nullish(),
  math_multiplier: lacking('Multipliers of numbers are', 1),
  math_property_revenue_currency: lacking('Currencies of numbers are'),
});
type TrendsSeries = z.output<typeof TrendsSeries>;

const formulaText = () => z.string().trim().max(1000);

const TrendsQuery = z.object({
  kind: z.literal('TrendsQuery'),
  ...MEMBERS,
  interval: choice(INTERVALS).nullish(),
  series: z.array(TrendsSeries).min(1, 'A query has a series at least.').max(MAX_SERIES),
  breakdownFilter: BreakdownFilter.nullish(),
  compareFilter: CompareFilter.nullish(),
  trendsFilter: z
    .object({
      display: choice(DISPLAYS).nullish(),
      formula: formulaText().nullish(),
      formulas: z.array(formulaText()).max(MAX_FORMULAS).nullish(),
      formulaNodes: z
        .array(z.object({ formula: formulaText(), custom_name: z.string().nullish() }))
        .max(MAX_FORMULAS)
        .nullish(),
      smoothingIntervals: integer({ min: 1, max: MAX_SMOOTHING }).nullish(),
    })
    .nullish(),
  conversionGoal: lacking('Conversion goals are'),
});
type TrendsQuery = z.output<typeof TrendsQuery>;

/** What is said once for all series of a query. */
interface Frame {
  readonly query: TrendsQuery;
  readonly world: World;
  readonly interval: IntervalUnit;
  /** There is one number for all of the range, and none for each interval. */
  readonly isTotal: boolean;
  readonly isCumulative: boolean;
  readonly breakdown: Breakdown | undefined;
  /** The condition that events of all series pass. */
  readonly passed: Syntax;
  /** Formulas are made of the series, which are told apart alike. */
  readonly isReckoned: boolean;
}

/** Some time that numbers are told of. */
interface Period extends AskedPeriod {
  /** None where there is one number for all of the range. */
  readonly buckets: readonly Bucket[];
}

/** The numbers of a series or a formula in a period, for one value of a breakdown. */
interface Numbers {
  /** Undefined where nothing is broken down. */
  readonly value: string | undefined;
  /** By buckets; one where there is one for all of the range. */
  readonly data: readonly number[];
}

/** The formula of results, read. */
interface FormulaNode {
  readonly label: string;
  readonly of: Formula;
}

async function answer(query: TrendsQuery, world: World): Promise<Answer> {
  const frame = await frameOf(query, world);
  const formulas = await formulasOf(frame);
  const periods = await periodsOf(frame);
  const told = await Promise.all(
    periods.map(async (period) => ({ period, series: await numbersOfSeries(period, frame) })),
  );
  const hasMore = told.some(({ series }) => series.flat().some(({ value }) => value === OTHER));
  const isShown = ({ value }: Numbers): boolean => value !== OTHER || frame.breakdown?.hidesOther !== true;
  const results =
    formulas.length === 0
      ? told.flatMap(({ period, series }) =>
          series.flatMap((all, order) => all.filter(isShown).map((one) => resultOf(one, period, order, frame))),
        )
      : formulas.flatMap((formula) =>
          told.flatMap(({ period, series }) =>
            numbersOfFormula(formula, series, frame)
              .filter(isShown)
              .map((one) => resultOf(one, period, formula, frame)),
          ),
        );
  const [current] = periods;
  return { results, hasMore, ...(current && { resolved_date_range: resolvedDateRange(current.range, world) }) };
}

async function frameOf(query: TrendsQuery, world: World): Promise<Frame> {
  const display = query.trendsFilter?.display;
  const isTotal = TOTAL_DISPLAYS.some((one) => one === display);
  return {
    query,
    world,
    interval: isTotal ? 'day' : (query.interval ?? 'day'),
    isTotal,
    isCumulative: display === 'ActionsLineGraphCumulative',
    breakdown: breakdownOf(query.breakdownFilter, { isUnlimited: display === 'WorldMap' }),
    passed: await propertyCondition(query, world),
    isReckoned: writtenFormulas(query).length > 0,
  };
}

async function periodsOf({ query, world, interval, isTotal, passed }: Frame): Promise<readonly Period[]> {
  const periods = await periodsAsked(query, interval, world, () => firstOfSeries(query.series, passed, world));
  return periods.map((one) => ({ ...one, buckets: isTotal ? [] : bucketsOf(one.range, interval, world) }));
}

/** Returns the formulas of a query, each with where it is written. */
function writtenFormulas({ trendsFilter }: TrendsQuery) {
  const { formula, formulas, formulaNodes } = trendsFilter ?? {};
  const nodes = (formulaNodes ?? []).map((node, at) => ({ ...node, attr: `formulaNodes__${at}__formula` }));
  const texts = (formulas ?? []).map((one, at) => ({ formula: one, custom_name: null, attr: `formulas__${at}` }));
  const alone = { formula: formula ?? '', custom_name: null, attr: 'formula' };
  // Clients send empty lists beside the member that they mean.
  const written = [nodes, texts, [alone]].find((all) => all.length > 0) ?? [];
  return written.filter((node) => node.formula !== '');
}

const formulasOf = async ({ query, world }: Frame): Promise<readonly FormulaNode[]> =>
  Promise.all(
    writtenFormulas(query).map(async (node) => ({
      label: (node.custom_name ?? '') || `Formula (${node.formula})`,
      of: await readFormula(node.formula, query.series.length, `trendsFilter__${node.attr}`, world),
    })),
  );

/** Returns the numbers of each series. For formulas a value that is told apart in one series is told apart in all. */
async function numbersOfSeries(period: Period, frame: Frame): Promise<readonly (readonly Numbers[])[]> {
  const { query, breakdown, isReckoned } = frame;
  const found = await Promise.all(query.series.map(async (_, order) => numbersOf(order, period, frame)));
  if (!isReckoned || breakdown === undefined) return found;
  const known = new Set(found.flat().map(({ value }) => value ?? ''));
  const kept = [...known].filter((value) => value !== OTHER && value !== missingValue(breakdown));
  return Promise.all(
    found.map(async (numbers, order) => {
      const own = new Set(numbers.map(({ value }) => value));
      const isAlike = !own.has(OTHER) || kept.every((value) => own.has(value));
      return isAlike ? numbers : numbersOf(order, period, frame, kept);
    }),
  );
}

/** Returns what is asked of a series in a period that has some time; `lead` buckets are before it, and looked back to. */
async function askedOf(order: number, period: Period, frame: Frame, kept?: readonly string[]) {
  const { query, world, isCumulative, breakdown } = frame;
  const series = query.series[order] as TrendsSeries;
  // Where numbers are summed up, who was active on a day is counted on that day, and on none after it.
  const isDaily = frame.interval === 'day' && !isCumulative;
  const measure = await measureOf(series, isDaily, `series__${order}`, world);
  const { range, edges, lead } = reachOf(measure, period, frame);
  const { named, passed } = await conditionsOf(series, frame);
  const together: Totals = { measure, named, passed, range, countsOnce: isCumulative, ...(edges && { edges }) };
  const apart = breakdown && {
    breakdown: { ...(await toldApart(breakdown, series, range, frame)), ...(kept && { kept }) },
  };
  const asked: Totals = { ...together, ...apart };
  return { asked, lead };
}

/** Returns the numbers of a series, those of the greatest total first, then of no value, then of all but the `kept` values. */
async function numbersOf(
  order: number,
  period: Period,
  frame: Frame,
  kept?: readonly string[],
): Promise<readonly Numbers[]> {
  const { world, isTotal, breakdown } = frame;
  const { buckets } = period;
  if (!isTotal && buckets.length === 0) return breakdown === undefined ? [{ value: undefined, data: [] }] : [];
  const { asked, lead } = await askedOf(order, period, frame, kept);
  const { rows, types } = await world.rows(totalsQuestion(asked));
  checkTotal(types.at(-1), order);

  const length = isTotal ? 1 : lead + buckets.length;
  const byValue = new Map<string | undefined, { readonly spot: number; readonly data: number[] }>();
  const noted = (value: string | undefined, spot: number): number[] =>
    getOrMake(byValue, value, () => ({ spot, data: Array.from({ length }, () => 0) })).data;
  if (breakdown === undefined) noted(undefined, 0);
  for (const row of rows) {
    const cells = [...row];
    const index = isTotal ? 0 : Number(cells.shift());
    const data = breakdown === undefined ? noted(undefined, 0) : noted(...valueAndSpot(cells.splice(0, 2)));
    // Actors may go behind the last bucket.
    if (index < length) data[index] = Number(cells[0] ?? 0);
  }
  return [...byValue]
    .toSorted(([, one], [, other]) => one.spot - other.spot)
    .map(([value, { data }]) => {
      const numbers = isOfChanges(asked) ? summedUp(data) : data;
      return { value, data: drawn(isTotal ? numbers : numbers.slice(lead), frame) };
    });
}

const NUMERIC = /^(?:Nullable\()?(?:U?Int|Float|Bool)/;

/** Throws a `Failure` (400) where the total of a series, an aggregate that a caller wrote, is no number. */
function checkTotal(type: string | undefined, order: number): void {
  if (type === undefined || NUMERIC.test(type)) return;
  const detail = `The aggregate in math_hogql must give a number, not ${type}. Text is read as one by toFloat().`;
  invalid(`series__${order}__math_hogql`, detail);
}

const valueAndSpot = ([spot, value]: readonly unknown[]): [value: string, spot: number] => [
  String(value),
  Number(spot),
];

/** The events that a measure reads for a period: those of the days before it too, where it looks back. */
function reachOf(measure: Measure, { range, buckets }: Period, { isTotal, world }: Frame) {
  const lead = (measure.trailingDays ?? 1) - 1;
  if (isTotal) {
    const from = lead === 0 ? range.from : addIntervals(startOfInterval(range.to, 'day', world), -lead, 'day', world);
    return { range: { from, to: range.to }, edges: undefined, lead };
  }
  const first = (buckets[0] as Bucket).start;
  const before = Array.from({ length: lead }, (_, n) => addIntervals(first, n - lead, 'day', world));
  const edges = [...before, ...edgesOf(buckets)];
  return { range: { from: lead === 0 ? range.from : (edges[0] as number), to: range.to }, edges, lead };
}

/** The conditions of the events of a series: of their name, and what they must pass besides. */
async function conditionsOf({ event, properties, fixedProperties }: TrendsSeries, { world, passed }: Frame) {
  return {
    named: await seriesCondition({ event, properties: undefined, fixedProperties: undefined }, world),
    passed: all([await propertyCondition({ properties, fixedProperties }, world), passed]),
  };
}

/** How the events of a series are told apart. */
async function toldApart(
  breakdown: Breakdown,
  series: TrendsSeries,
  range: TimeRange,
  frame: Frame,
): Promise<NonNullable<Totals['breakdown']>> {
  const { query, world, isReckoned } = frame;
  const binned = (isReckoned ? query.series : [series]).map(async (one) => {
    const { named, passed } = await conditionsOf(one, frame);
    return all([named, passed]);
  });
  const edges = await binEdges(breakdown, all([inRange(range), any(await Promise.all(binned))]), range, world);
  const read = await breakdownRead(breakdown, edges, world);
  return {
    value: valueOfRead(breakdown, read),
    read,
    made: valueOfRead(
      breakdown,
      read.map((_, n) => field(readField(n))),
    ),
    missing: missingValue(breakdown),
    limit: breakdown.limit,
  };
}

/** Returns the numbers as they are drawn: summed up, and then smoothed. */
function drawn(data: readonly number[], { query, isTotal, isCumulative }: Frame): readonly number[] {
  const width = query.trendsFilter?.smoothingIntervals ?? 1;
  if (isTotal) return data;
  const numbers = isCumulative ? summedUp(data) : data;
  return width === 1
    ? numbers
    : numbers.map((_, n) => Math.floor(mean(numbers.slice(Math.max(0, n + 1 - width), n + 1))));
}

function summedUp(data: readonly number[]): number[] {
  let sum = 0;
  return data.map((one) => (sum += one));
}

const total = (data: readonly number[]): number => data.reduce((sum, one) => sum + one, 0);
const mean = (data: readonly number[]): number => total(data) / data.length;

/** Returns the numbers of a formula for each value that a series has; a series without it counts 0. */
function numbersOfFormula(
  formula: FormulaNode,
  series: readonly (readonly Numbers[])[],
  { breakdown }: Frame,
): readonly Numbers[] {
  const values = [...new Set(series.flatMap((all) => all.map(({ value }) => value)))];
  const length = Math.max(0, ...series.flatMap((all) => all.map(({ data }) => data.length)));
  const numbers = values.map((value) => {
    const data = series.map((all) => all.find((one) => one.value === value)?.data);
    return { value, data: Array.from({ length }, (_, n) => formula.of(data.map((one) => one?.[n] ?? 0))) };
  });
  const missing = breakdown && missingValue(breakdown);
  const rank = ({ value }: Numbers): number => (value === OTHER ? 2 : value === missing && value !== undefined ? 1 : 0);
  return numbers.toSorted((one, other) => rank(one) - rank(other) || total(other.data) - total(one.data));
}

/** Returns a result as PostHog has it, of a series (by its place) or of a formula. */
function resultOf({ value, data }: Numbers, period: Period, of: number | FormulaNode, frame: Frame) {
  const { query, world, isTotal, isCumulative, breakdown } = frame;
  const { buckets, label: compared } = period;
  const isFormula = typeof of !== 'number';
  const named = isFormula ? { label: of.label, action: null } : labelOfSeries(query.series[of] as TrendsSeries, of);
  const valueLabel = breakdown && value !== undefined ? breakdownLabel(breakdown, value) : undefined;
  const label =
    valueLabel === undefined || isFormula
      ? named.label
      : query.series.length > 1
        ? `${named.label} - ${valueLabel.label}`
        : valueLabel.label;
  const numbers = isTotal
    ? { data: isFormula ? null : [], count: 0, aggregated_value: data[0] ?? 0 }
    : { data, count: isCumulative ? (data.at(-1) ?? 0) : total(data) };
  return {
    ...numbers,
    labels: buckets.map((bucket) => bucket.label),
    days: buckets.map(({ day }) => day),
    label,
    action: named.action && { ...named.action, days: buckets.map(({ start }) => wireInstantOf(start, world)) },
    filter: filterOf(query),
    ...(compared && { compare: true, compare_label: compared }),
    ...(valueLabel && { breakdown_value: valueLabel.breakdown_value }),
  };
}

/** What older clients read of the query in each result. */
const filterOf = ({ dateRange, interval, trendsFilter }: TrendsQuery) => ({
  insight: 'TRENDS',
  display: trendsFilter?.display ?? 'ActionsLineGraph',
  interval: interval ?? 'day',
  date_from: dateRange?.date_from ?? null,
  date_to: dateRange?.date_to ?? null,
});

/** Those whose events a number counts, with how many these are. */
async function actors(query: TrendsQuery, selection: ChosenNumber, world: World): Promise<Question> {
  const { series: order = 0, day, breakdown: chosen, compare = 'current' } = selection;
  const frame = await frameOf(query, world);
  const period = (await periodsOf(frame)).find(({ label }) => (label ?? 'current') === compare);
  if (query.series[order] === undefined) return invalid('source__series', 'The query has no such series.');
  if (period === undefined) return invalid('source__compare', 'The query compares nothing.');
  if (!frame.isTotal && period.buckets.length === 0) {
    return invalid('source__source__dateRange', 'The range of the query ends before it begins.');
  }
  const { asked, lead } = await askedOf(order, period, frame);
  const { measure, named, passed, breakdown } = asked;
  // One number for all of the range has no days.
  const bucket = day === undefined || frame.isTotal ? undefined : bucketOfDay(period.buckets, day, world);
  const { from } = asked.range;
  const start = bucket && Math.max(lead === 0 ? bucket.start : addIntervals(bucket.start, -lead, 'day', world), from);
  const range = {
    from: frame.isCumulative ? from : (start ?? from),
    to: bucket === undefined ? period.range.to : Math.min(bucket.end - 1, period.range.to),
  };
  const value = chosen === undefined || breakdown === undefined ? null : [chosen].flat().map(String).join(SEPARATOR);
  if (value?.split(SEPARATOR).includes(OTHER) === true) {
    invalid('source__breakdown', OTHERS_UNKNOWN);
  }
  return {
    hogql: measure.first === undefined ? PERSONS_OF_EVENTS : PERSONS_OF_FIRSTS,
    values: {
      named: measure.first === 'matching' ? all([named, passed]) : named,
      passed,
      condition: all([inRange(range), named, passed]),
      from: instantConstant(range.from),
      until: instantConstant(range.to + 1),
      value: breakdown?.value ?? constant(''),
      chosen: constant(value),
    },
    from: measure.first === undefined ? range.from : undefined,
    to: range.to,
  };
}

const PERSONS_OF_EVENTS = `SELECT person_id AS actor_id, count() AS event_count, groupUniqArray(distinct_id) AS event_distinct_ids
  FROM events WHERE {condition} AND ({chosen} IS NULL OR {value} = {chosen}) GROUP BY actor_id`;

/** Of all that a person ever did, the first counts, where it lies in the range and passes. */
const PERSONS_OF_FIRSTS = `SELECT actor_id, 1 AS event_count FROM (
    SELECT person_id AS actor_id, min(timestamp) AS first_time, minIf(timestamp, {passed}) AS first_passed,
      argMinIf({value}, timestamp, {passed}) AS first_value
    FROM events WHERE {named} AND timestamp < {until} GROUP BY actor_id
  ) AS firsts WHERE first_time = first_passed AND first_time >= {from} AND ({chosen} IS NULL OR first_value = {chosen})`;

export const trends: Kind<TrendsQuery> = { name: 'TrendsQuery', schema: TrendsQuery, answer, actors };
