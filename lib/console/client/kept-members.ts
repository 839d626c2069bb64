/** Members of queries that a form has no field for: they stay as they are while the form changes others. */
import { isSame, type Json, object } from './json.ts';

/** The members that a form has fields for: all of one, or some of what is in it, of each where it is a list. */
export interface Form {
  readonly [name: string]: true | Form;
}

/** Values that say the same as nothing, by the names of their members: PostHog's clients send many of them. */
const USUAL: Json = {
  filterTestAccounts: false,
  samplingFactor: 1,
  date_from: '',
  date_to: '',
  explicitDate: false,
  compare: false,
  interval: 'day',
  math: 'total',
  math_multiplier: 1,
  math_property_type: 'event_properties',
  optionalInFunnel: false,
  breakdown_normalize_url: false,
  normalize_url: false,
  breakdown_hide_other_aggregation: false,
  formula: '',
  smoothingIntervals: 1,
  funnelVizType: 'steps',
  funnelOrderType: 'ordered',
  funnelWindowInterval: 14,
  funnelWindowIntervalUnit: 'day',
  breakdownAttributionType: 'first_touch',
  period: 'Day',
  totalIntervals: 8,
  retentionType: 'retention_recurring',
  cumulative: false,
  minimumOccurrences: 1,
  timeWindowMode: 'strict_calendar_dates',
  aggregationType: 'count',
  customAggregationTarget: false,
  computedAs: 'non_cumulative',
  intervalCount: 1,
  stepLimit: 5,
  edgeLimit: 50,
};

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a part of a query without members that say nothing: values as they are without them, and empty lists. */
export function said(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(said);
  if (!isObject(part)) return part;
  const members = Object.entries(part).filter(
    ([name, value]) => USUAL[name] !== value && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(members.map(([name, value]) => [name, said(value)]));
}

/** Returns what a form has fields for of a part of a query. */
export function within(form: true | Form, part: unknown): unknown {
  if (form === true) return part;
  if (Array.isArray(part)) return part.map((one) => within(form, one));
  if (!isObject(part)) return part;
  const members = Object.entries(part).flatMap(([name, value]) => {
    const field = Object.hasOwn(form, name) ? form[name] : undefined;
    return field === undefined ? [] : [[name, within(field, value)]];
  });
  return Object.fromEntries(members);
}

/** Members that say what the others are about: what is about something else is not what was kept. */
const ABOUT: readonly string[] = ['event', 'id', 'date_from', 'date_to'];

/** Members that say one thing together, in several ways: one takes the place of all. */
const TOGETHER: readonly (readonly string[])[] = [
  ['formula', 'formulas', 'formulaNodes'],
  ['math_property', 'math_property_type'],
  [
    'breakdown',
    'breakdown_type',
    'breakdowns',
    'breakdown_normalize_url',
    'breakdown_histogram_bin_count',
    'breakdown_group_type_index',
  ],
];

/**
 * Returns a part of a query that was kept with what a form has changed in it: what it made of the part before, and makes
 * of it now. What the form makes as before is as it was kept, member by member, and so is what it knows nothing of.
 */
export function patched(kept: unknown, before: unknown, now: unknown): unknown {
  if (isSame(before, now)) return kept;
  if (!isObject(kept) || !isObject(now)) return now;
  const made = object(before);
  const isOther = (name: string): boolean => !isSame(made[name], now[name]);
  if (ABOUT.some(isOther)) return now;
  const gone = TOGETHER.filter((names) => names.some(isOther)).flat();
  const names = new Set([...Object.keys(kept), ...Object.keys(now)]);
  const members = [...names].map((name) => [
    name,
    gone.includes(name) ? now[name] : patched(kept[name], made[name], now[name]),
  ]);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}
