import type { Chart } from '../chart.ts';
import type { Json } from './read.ts';

/** What a query answered, as the API tells it. */
export interface Answered {
  readonly results: unknown;
  readonly columns?: readonly string[] | undefined;
  /** What columns are called in the place of their own names, by which settings name them. */
  readonly names?: readonly string[] | undefined;
  readonly types?: readonly unknown[] | undefined;
  readonly hasMore?: boolean | undefined;
  /** When it was computed, in ISO 8601; null: that is not known. */
  readonly computedAt?: string | null | undefined;
  /** When it was last known to be true, which it may be long after; default: when it was computed. */
  readonly trueAt?: string | undefined;
  /** `resolved_date_range` of the API: the ends of the range that was asked for. */
  readonly range?: unknown;
  /** The project's zone, in which its days are; null: that is not known. */
  readonly timezone?: string | null | undefined;
}

/** Returns the chart of what a query of one kind answered. */
export type Describer = (query: Json, answered: Answered) => Chart;

/** Returns a chart without numbers, and why. */
export const nothing = (reason: string): Chart => ({
  picture: { type: 'none', reason },
  table: { columns: [], rows: [] },
  summary: reason,
  note: null,
});

export const NO_DATA = 'There is no data in this range.';

/** Returns the sum of numbers; what is not there counts nothing. */
export const total = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

/** Returns what is said of a picture that shows the first of too many; null: it shows all. */
export const noteOf = (all: number, most: number, one: string, many: string): string | null =>
  all <= most ? null : `The first ${most} of ${counted(all, one, many)} are shown.`;

/** Returns `1 series`, `25 series`, `3 countries`. */
export const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
