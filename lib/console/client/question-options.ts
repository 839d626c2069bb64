/** What somebody chooses from when they ask a question. */
import type { Option } from './json.ts';
import type { Schemas } from './schemas.ts';

type Trends = Schemas['TrendsQuery'];
type TrendsSeries = Trends['series'][number];
type Chosen<Value> = Option<NonNullable<Value> & string>;

export const MATHS = [
  { value: 'total', label: 'times' },
  { value: 'dau', label: 'unique persons' },
  { value: 'weekly_active', label: 'unique persons of a week' },
  { value: 'monthly_active', label: 'unique persons of a month' },
  { value: 'unique_session', label: 'unique sessions' },
  { value: 'sum', label: 'sum of' },
  { value: 'avg', label: 'average of' },
  { value: 'min', label: 'least of' },
  { value: 'max', label: 'most of' },
  { value: 'median', label: 'median of' },
] as const satisfies readonly Chosen<TrendsSeries['math']>[];

export type Math = (typeof MATHS)[number]['value'];

/** Maths that are of a property's numbers. */
export const OF_PROPERTY: readonly Math[] = ['sum', 'avg', 'min', 'max', 'median'];

export const RANGES = [
  { value: '-24h', label: 'the last 24 hours' },
  { value: '-7d', label: 'the last 7 days' },
  { value: '-30d', label: 'the last 30 days' },
  { value: '-90d', label: 'the last 90 days' },
  { value: '-180d', label: 'the last 180 days' },
  { value: 'yStart', label: 'this year' },
  { value: 'all', label: 'ever' },
] as const;

export const INTERVALS = [
  { value: 'hour', label: 'hour' },
  { value: 'day', label: 'day' },
  { value: 'week', label: 'week' },
  { value: 'month', label: 'month' },
] as const satisfies readonly Chosen<Trends['interval']>[];

export type Interval = (typeof INTERVALS)[number]['value'];

export const DISPLAYS = [
  { value: 'ActionsLineGraph', label: 'Lines' },
  { value: 'ActionsBar', label: 'Bars' },
  { value: 'ActionsAreaGraph', label: 'Areas' },
  { value: 'ActionsLineGraphCumulative', label: 'Lines that add up' },
  { value: 'BoldNumber', label: 'Number' },
  { value: 'ActionsPie', label: 'Pie' },
  { value: 'ActionsBarValue', label: 'Ranking' },
  { value: 'ActionsTable', label: 'Table' },
] as const satisfies readonly Chosen<NonNullable<Trends['trendsFilter']>['display']>[];

export type Display = (typeof DISPLAYS)[number]['value'];

export const WINDOW_UNITS = [
  { value: 'second', label: 'seconds' },
  { value: 'minute', label: 'minutes' },
  { value: 'hour', label: 'hours' },
  { value: 'day', label: 'days' },
  { value: 'week', label: 'weeks' },
  { value: 'month', label: 'months' },
] as const satisfies readonly Chosen<
  NonNullable<Schemas['FunnelsQuery']['funnelsFilter']>['funnelWindowIntervalUnit']
>[];

export type WindowUnit = (typeof WINDOW_UNITS)[number]['value'];

export const PAGEVIEW = '$pageview';
