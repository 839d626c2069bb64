/** What a result looks like, as plain data: which picture, of which numbers, in which words. */
import type { NumberFormat } from './numbers.ts';

/** Something with a name and a number. */
export interface Item {
  readonly name: string;
  readonly value: number | null;
}

/** Numbers at points of time, or at numbers of intervals. */
export interface Series {
  readonly name: string;
  /** One for each point; null: there is none. */
  readonly values: readonly (number | null)[];
  /** The series whose colour it has: that of the period before looks like its own, but paler. */
  readonly colour: number;
  readonly isPrevious: boolean;
}

/** Numbers of several points, side by side. `stacked` and `areas` stand on each other. */
export interface SeriesPicture {
  readonly type: 'series';
  readonly form: 'lines' | 'areas' | 'stacked' | 'grouped';
  readonly points: readonly string[];
  readonly series: readonly Series[];
  readonly format: NumberFormat;
  /** The periods of so many of the last points were not over: their numbers still grow, but for those of the period before. */
  readonly unfinished: number;
}

/** A funnel of one breakdown value, or of all. Shares are of the first step. */
export interface FunnelGroup {
  readonly name: string | null;
  readonly steps: readonly {
    readonly name: string;
    readonly count: number;
    readonly share: number;
    readonly shareOfPrevious: number | null;
    /** Seconds from the step before; null: unknown. */
    readonly medianTime: number | null;
  }[];
}

/** Cohorts of a retention, and how many of each came back. */
interface GridRow {
  readonly name: string;
  /** The first is the cohort's size. A cell that is null lies in the future. */
  readonly counts: readonly (number | null)[];
  /** What is summed or averaged of those persons, where that is asked: it is shown in the place of their share. */
  readonly amounts?: readonly (number | null)[];
}

/** Steps from one place to the next. */
export interface Link {
  readonly source: string;
  readonly target: string;
  readonly value: number;
}

export type Picture =
  | SeriesPicture
  | { readonly type: 'ranking'; readonly items: readonly Item[]; readonly format: NumberFormat }
  | { readonly type: 'pie'; readonly items: readonly Item[]; readonly format: NumberFormat }
  | {
      readonly type: 'number';
      readonly items: readonly (Item & { readonly previous: number | null })[];
      readonly format: NumberFormat;
    }
  | {
      readonly type: 'map';
      /** By the code of the country in two letters. */
      readonly values: ReadonlyMap<string, number>;
      readonly format: NumberFormat;
    }
  | { readonly type: 'funnel'; readonly groups: readonly FunnelGroup[] }
  | { readonly type: 'grid'; readonly rows: readonly GridRow[]; readonly columns: readonly string[] }
  | { readonly type: 'flow'; readonly links: readonly Link[] }
  | { readonly type: 'table' }
  | { readonly type: 'none'; readonly reason: string };

/** A picture of one type. */
export type PictureOf<T extends Picture['type']> = Extract<Picture, { readonly type: T }>;

/** A cell of a table. Numbers are aligned to the right. */
export type Cell = string | number | null;

/** The numbers of a chart for those who read. */
export interface NumberTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Its cells are values as somebody asked for them: ids and years are not written as amounts, and null is no empty text. */
  readonly isExact?: boolean;
}

/** A result, ready to be drawn. */
export interface Chart {
  readonly picture: Picture;
  /** All numbers of the result, also those that the picture leaves out. */
  readonly table: NumberTable;
  /** The picture in a sentence, for those who do not see it. */
  readonly summary: string;
  /** What the picture leaves out, in a sentence; null: nothing. */
  readonly note: string | null;
}

/** Returns whether a chart has no number but zero. */
export const isEmptyChart = ({ picture, table }: Chart): boolean =>
  picture.type === 'none' ||
  (picture.type !== 'table' && table.rows.every((row) => row.every((cell) => typeof cell !== 'number' || cell === 0)));
