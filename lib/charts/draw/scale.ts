/** Where numbers and points lie in a picture. Pictures are 1,000 units wide, and as wide as the page lets them be. */
import { type ScaleLinear, scaleLinear } from 'd3-scale';
import type { NumberFormat } from '../numbers.ts';

export const WIDTH = 1000;
/** Of a picture of series that has room, in pixels. */
export const HEIGHT = 220;
/** The room above the greatest number and below the least, so that no line is cut. */
const MARGIN = 8;
/** Numbers that are nearer to each other and to zero are drawn as zero. */
const LEAST_SPAN = 1e-9;
/** About so many lines of the grid. */
const TICKS = 5;

/** Returns a coordinate with one decimal place, which is less than what can be seen. */
export const round = (value: number): number => Math.round(value * 10) / 10;

/** Distances between lines of durations, in seconds: round numbers of a clock and a calendar. */
const DURATIONS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/** Returns the scale of numbers, which has zero in it, with round numbers at its ends and lines. `height` is in pixels. */
export function valueScale(
  values: readonly number[],
  { unit }: NumberFormat,
  height = HEIGHT,
): { y: ScaleLinear<number, number>; ticks: number[] } {
  const [least, most] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [0, 0]);
  const second = unit === 'seconds' ? 1 : unit === 'milliseconds' ? 1000 : null;
  if (second !== null && most - least > TICKS * second) {
    const step =
      (DURATIONS.find((size) => size * second * TICKS >= most - least) ?? niceDays(most - least, second)) * second;
    const [low, high] = [Math.floor(least / step), Math.ceil(most / step)];
    const ticks = Array.from({ length: high - low + 1 }, (_, at) => (low + at) * step);
    return { y: scaleLinear([low * step, high * step], [height - MARGIN, MARGIN]), ticks };
  }
  const isWhole = values.every(Number.isInteger);
  const domain = most - least < LEAST_SPAN ? [0, 1] : [least, most];
  const y = scaleLinear(domain, [height - MARGIN, MARGIN]).nice(TICKS);
  const ticks = y.ticks(TICKS).filter((tick) => !isWhole || Number.isInteger(tick));
  return { y, ticks };
}

/** Returns how many decimal places the lines of a scale need, so that no two are written alike. */
export function decimalsOf(ticks: readonly number[]): number {
  const [first = 0, next = 1] = ticks;
  return Math.max(0, Math.ceil(-Math.log10(Math.abs(next - first)) - 1e-6));
}

/** Returns a distance of whole days, in seconds. */
function niceDays(span: number, second: number): number {
  const [first = 0, next = 1] = scaleLinear([0, span / second / 86_400], [0, 1]).ticks(TICKS);
  return 86_400 * Math.max(1, next - first);
}

/** Returns where a point lies: at the ends the first and the last, in the middle the only one. */
export const pointAt = (at: number, count: number): number =>
  count <= 1 ? WIDTH / 2 : round((at * WIDTH) / (count - 1));

/** Returns where the middle of a bar lies. */
export const bandAt = (at: number, count: number): number => round(((at + 0.5) * WIDTH) / count);

/** Returns the points that are named below a picture: so many at most, evenly far from each other. */
export function namedPoints(count: number, most: number): number[] {
  const step = Math.ceil(count / most);
  return Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
}

/** The axis shows so many characters of a name. */
const MAX_LABEL = 14;

/** Ranges of days as results name them: `5–11 Jan`, `30-Jan – 5-Feb`. */
const IN_ONE_MONTH = /^(\d{1,2})–\d{1,2} ([A-Z][a-z]{2})$/;
const OVER_MONTHS = /^(\d{1,2}-[A-Z][a-z]{2}(?:-\d{4})?) – .*$/;

/**
 * Returns the names of points as an axis shows them: without the year where all have the same, a range of days by its
 * beginning, cut where they are long.
 */
export function axisLabels(points: readonly string[]): string[] {
  const years = new Set(points.map((point) => /^\d{1,2}-[A-Z][a-z]{2}-(\d{4})/.exec(point)?.[1]));
  const isOneYear = years.size === 1 && !years.has(undefined);
  return points.map((point) => {
    const begin = point.replace(IN_ONE_MONTH, '$1-$2').replace(OVER_MONTHS, '$1');
    const short = isOneYear ? begin.replace(/^(\d{1,2}-[A-Z][a-z]{2})-\d{4}/, '$1') : begin;
    return cutName(short, MAX_LABEL);
  });
}

/** Returns a name in so many letters at most. */
export function cutName(name: string, most: number): string {
  const letters = Array.from(name);
  return letters.length <= most ? name : `${letters.slice(0, most - 1).join('')}…`;
}
