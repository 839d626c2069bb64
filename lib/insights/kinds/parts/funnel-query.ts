/** What a funnel is asked by, and what it must be to make sense. */
import * as z from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../basics/units.ts';
import { all, call, constant, field } from '../../../hogql/write.ts';
import { choice, integer } from '../../../http/fields.ts';
import { invalid } from '../../../ports/errors.ts';
import type { World } from '../kind.ts';
import { type Breakdown, BreakdownFilter, breakdownOf, breakdownValue, missingValue } from './breakdown.ts';
import { firstEvent, INTERVALS, inRange, rangeAsked, type TimeRange } from './date-range.ts';
import { type FunnelShape, groupsOf } from './funnel-runs.ts';
import { lacking, MEMBERS } from './members.ts';
import { areDisjoint, propertyCondition, propertyFilters } from './property-filters.ts';
import { Series, seriesCondition } from './series.ts';

const MAX_STEPS = 12;
const MAX_EXCLUSIONS = 10;

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

export const FunnelsQuery = z.object({
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
export type FunnelsQuery = z.output<typeof FunnelsQuery>;

/** A funnel that was found to make sense. */
export interface Funnel {
  readonly query: FunnelsQuery;
  readonly filter: FunnelsFilter;
  readonly range: TimeRange;
  readonly shape: FunnelShape;
  readonly breakdown: Breakdown | undefined;
  /** The steps between which it tells times and rates, counted from 0. */
  readonly from: number;
  readonly to: number;
}

/** Returns the funnel that a query asks for. Throws a `Failure` (400) for one that makes no sense. */
export async function funnelOf(query: FunnelsQuery, world: World): Promise<Funnel> {
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

/** The event of a step; empty: any. */
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
