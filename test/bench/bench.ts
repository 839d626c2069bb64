/** The parts of the bench: each is given a folder and a signal, and returns rows of one table. */

export interface Bench {
  /** The quick form: a tenth of the data, a fifth of the time. */
  readonly small: boolean;
  /** A folder of this part's own; it is removed at the end. */
  readonly folder: string;
  /** Aborted when the bench has taken too long, or is interrupted. */
  readonly signal: AbortSignal;
  /** Tells whoever waits what is being done. */
  readonly say: (what: string) => void;
}

/** Something that was measured, beside a peer that was measured in the same run, or beside a known number. */
export interface Row {
  readonly what: string;
  readonly measured: string;
  readonly peer: string;
  /** Measured by peer. */
  readonly ratio: number;
  readonly goal?: { readonly text: string; readonly met: boolean };
  readonly note?: string;
}

export type Part = (bench: Bench) => Promise<Row[]>;

/** Returns the middle value; of an even number of them the upper of the two; of none NaN. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** `12,345` */
export const count = (value: number): string => Math.round(value).toLocaleString('en');

/** `12,345/s` */
export const rate = (value: number): string => `${count(value)}/s`;

export const atLeast = (least: number, value: number) => ({ text: `>= ${least}`, met: value >= least });
export const atMost = (most: number, value: number) => ({ text: `<= ${most}`, met: value <= most });

const TITLES = ['', 'measured', 'beside', 'ratio', 'goal', '', ''];
/** Columns of numbers. */
const RIGHT = new Set([1, 3, 4]);

/** Returns the rows as plain text, in columns. */
export function tableOf(rows: readonly Row[]): string {
  const lines = [TITLES, ...rows.map(cellsOf)];
  const widths = TITLES.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const padded = (cell: string, at: number): string =>
    RIGHT.has(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  return lines.map((line) => line.map(padded).join('  ').trimEnd()).join('\n');
}

const cellsOf = ({ what, measured, peer, ratio, goal, note = '' }: Row): string[] => [
  what,
  measured,
  peer,
  ratio.toFixed(ratio < 10 ? 2 : 1),
  goal?.text ?? '',
  goal === undefined ? '' : goal.met ? 'met' : 'MISSED',
  note,
];
