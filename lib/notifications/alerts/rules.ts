/** What is made of a body, and which numbers of an insight break the bounds of an alert. */
import { beginningOf } from '../../basics/text.ts';
import { invalid } from '../../ports/errors.ts';
import { toJsonText } from '../../ports/table/json-text.ts';
import type { AlertItem, AlertPatch, Threshold } from './model.ts';

/** What is set when an alert looks at something else than before: nothing was found or told of it. */
export const ANEW = { state: 'Not firing', told: toJsonText<readonly string[]>([]) } as const;

/** The fields that, when they change, make what was found another thing. */
export const WATCHED = [
  'insight_id',
  'threshold',
  'condition',
  'series_index',
  'check_ongoing_interval',
  'calculation_interval',
] as const;

const SLACK_HOST = 'hooks.slack.com';

/** Returns the form that an address is told in; undefined: that of the one before, which somebody may have chosen. */
export function formOf(url: string | null | undefined, host: string | null): AlertItem['notify_type'] | undefined {
  if (typeof url !== 'string') return undefined;
  if (new URL(url).host === SLACK_HOST) return 'slack';
  return host === SLACK_HOST || host === null ? 'webhook' : undefined;
}

/** Returns the bounds of a body. Throws a 400 for none, and for those that no number can be between. */
export function boundsOf({ configuration: { type, bounds } }: NonNullable<AlertPatch['threshold']>): Threshold {
  const { lower = null, upper = null } = bounds ?? {};
  const attr = 'threshold__configuration__bounds';
  if (lower === null && upper === null) invalid(attr, 'Set lower or upper, or both.');
  if (lower !== null && upper !== null && lower > upper) invalid(attr, 'lower must not be above upper.');
  return { type, lower, upper };
}

/** A series as trends answer it, as far as an alert looks at it. */
export interface TrendsResult {
  /** What people call it. */
  readonly name: string;
  /** What tells it from all others of its query. */
  readonly key: string;
  readonly data: readonly number[] | null;
  readonly days: readonly string[];
  readonly labels: readonly string[];
  readonly aggregated_value?: number;
}

/** What is asked of the numbers. */
interface Watch {
  readonly threshold: Threshold;
  readonly condition: AlertItem['condition'];
  readonly series_index: number;
  readonly check_ongoing_interval: boolean;
  /** There is one number of all the range, and none of intervals. */
  readonly isTotal: boolean;
  readonly hasBreakdown: boolean;
}

/** A number out of bounds. */
export interface Breach {
  /** What it is told once by: its interval and its series. */
  readonly key: string;
  /** What tells its interval from others; empty: it is of no interval. */
  readonly day: string;
  readonly sentence: string;
  readonly value: number | null;
}

export interface Evaluated {
  /** The number that was looked at; null: there are several, or it has no end. */
  readonly value: number | null;
  readonly breaches: readonly Breach[];
  /** The intervals that were looked at, by their `day`. */
  readonly days: ReadonlySet<string>;
}

/** Returns the `day` of a breach by its key. */
export const dayOf = (key: string): string => key.slice(0, key.lastIndexOf(' '));

const MAX_NAME_LENGTH = 200;

/** Why there is no number; the message says what to do. */
export class NoNumber extends Error {
  override readonly name = 'NoNumber';
}

/** What is looked at where a breakdown has no value, for nothing has happened in all of its range: nothing is less than that. */
const ALL_VALUES: TrendsResult = { name: 'All values', key: 'all values', data: [], days: [], labels: [] };

/**
 * Returns what an alert finds in results: of a breakdown in each, or a 0 for all where it has none; else in the one that
 * it names. It looks at the last whole interval; or, for an upper bound, at the one that goes on, which may yet reach a
 * lower one. A change is from the interval before. Throws `NoNumber`.
 */
export function evaluated(results: readonly TrendsResult[], watch: Watch): Evaluated {
  const chosen = results[watch.series_index];
  if (!watch.hasBreakdown && chosen === undefined) {
    throw new NoNumber(`The insight has no series ${watch.series_index}. Choose another series_index.`);
  }
  const ofBreakdown = results.length === 0 ? [ALL_VALUES] : results;
  const looked = watch.hasBreakdown ? ofBreakdown : [chosen as TrendsResult];
  const found = looked.flatMap((result) =>
    looksOf(watch).map((look) => ({ result, number: numberOf(result, look), look })),
  );
  const breaches = found.flatMap(({ result, number, look }) => breachOf(result, number, look) ?? []);
  const [first] = breaches;
  const only = watch.hasBreakdown ? null : (found[0]?.number.value ?? null);
  const days = new Set(found.flatMap(({ number: { interval } }) => interval?.day ?? []));
  return { value: first === undefined ? finite(only) : first.value, breaches, days };
}

/** Returns the looks at a result: each at one interval, with the bounds that it is held against. */
function looksOf(watch: Watch): readonly Watch[] {
  const { threshold, check_ongoing_interval, isTotal } = watch;
  if (!check_ongoing_interval || isTotal || threshold.lower === null) return [watch];
  return [
    { ...watch, threshold: { ...threshold, lower: null } },
    { ...watch, threshold: { ...threshold, upper: null }, check_ongoing_interval: false },
  ];
}

interface Looked {
  /** What the bounds are of; infinite where something came after nothing. */
  readonly value: number;
  readonly now: number;
  readonly before: number;
  /** The interval, by what tells it from those beside it, and by its name in `labels`; null: there is none. */
  readonly interval: { readonly day: string; readonly label: string } | null;
}

const finite = (value: number | null): number | null => (value === null || !Number.isFinite(value) ? null : value);

function numberOf({ data, days, labels, aggregated_value }: TrendsResult, watch: Watch): Looked {
  if (watch.isTotal) {
    const now = aggregated_value ?? 0;
    return { value: now, now, before: 0, interval: null };
  }
  const numbers = data ?? [];
  const at = numbers.length - (watch.check_ongoing_interval ? 1 : 2);
  const [now = 0, before = 0] = [numbers[at], numbers[at - 1]];
  const day = days[at];
  return {
    value: watched(now, before, watch),
    now,
    before,
    // Where clocks are turned back, two hours have one name.
    interval:
      day === undefined ? null : { day: `${day}${day === days[at - 1] ? ' again' : ''}`, label: labels[at] ?? '' },
  };
}

/** Returns the number of an interval, or by how much it is more or less than the one before. */
function watched(now: number, before: number, { condition, threshold }: Watch): number {
  if (condition === 'absolute_value') return now;
  const change = condition === 'relative_increase' ? now - before : before - now;
  if (threshold.type === 'absolute' || change === 0) return change;
  return before === 0 ? change * Infinity : change / Math.abs(before);
}

function breachOf(result: TrendsResult, { value, now, before, interval }: Looked, watch: Watch): Breach | undefined {
  const { lower, upper, type } = watch.threshold;
  const bound =
    lower !== null && value < lower
      ? `below ${written(lower, type)}`
      : upper !== null && value > upper
        ? `above ${written(upper, type)}`
        : undefined;
  if (bound === undefined) return undefined;
  const when = interval === null ? '' : ` of ${interval.label}`;
  // A value of a breakdown may be of any length.
  const what = `'${beginningOf(result.name, MAX_NAME_LENGTH)}'${when}`;
  const sentence =
    watch.condition === 'absolute_value'
      ? `${what} is ${plain(now)}, ${bound}.`
      : `${what} is ${plain(now)} after ${plain(before)}: ${change(value, watch)}, ${bound}.`;
  const day = interval?.day ?? '';
  return { key: `${day} ${result.key}`, day, sentence, value: finite(value) };
}

function change(value: number, { condition, threshold }: Watch): string {
  const word = condition === 'relative_increase' ? 'an increase' : 'a decrease';
  return Number.isFinite(value) ? `${word} of ${written(value, threshold.type)}` : `${word} from nothing`;
}

/** Returns a number in few digits, but so many that a small one is told from its bound. */
const plain = (value: number): string =>
  String(Number(Math.abs(value) < 1_000 ? value.toPrecision(5) : value.toFixed(2)));

const written = (value: number, type: Threshold['type']): string =>
  type === 'absolute' ? plain(value) : `${plain(value * 100)}%`;
