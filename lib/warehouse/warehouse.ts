import type { ParquetCompression } from '../duckdb/parquet.ts';
import type { Expression, QueryColumn } from '../hogql/expression.ts';
import type { FileDigest } from '../lake/intact.ts';
import type { Interval } from '../lake/intervals.ts';
import type { Model } from '../lake/schema.ts';
import type { Unload } from '../workflow/messages.ts';
import type { Column } from './columns.ts';
import type { Packing } from './packing.ts';

/**
 * What `begin` froze for a batch: the query and the list of immutable lake files. It lies among the run's files as
 * `<attempt>/plan.json`; every attempt and retry reads that, so each delivers the same rows.
 */
export interface FrozenPlan {
  readonly attempt: string;
  readonly exportId: string;
  readonly organizationId: string;
  readonly teamId: number;
  readonly model: Model;
  readonly query: RowQuery;
  /** Files of the lake. */
  readonly files: readonly PlannedFile[];
  readonly intervals: readonly Interval[];
  /** Not frozen, but told to the reader: which try of Unload wrote the rows. Null or absent: none did. */
  readonly unloaded?: number | null;
}

/** A file of the lake: its path, what was written into it, and the arrivals that it holds, in milliseconds, inclusive. */
export interface PlannedFile extends Partial<FileDigest> {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/** Which of a model's rows an export lets through, and as which columns. */
export interface RowQuery {
  /** Event names; null: no restriction. */
  readonly includeEvents: readonly string[] | null;
  readonly excludeEvents: readonly string[] | null;
  /** The columns of the export's own query; null or absent: it has none. */
  readonly select?: readonly QueryColumn[] | null;
  /** What an event must be like; null or absent: no restriction. */
  readonly where?: Expression | null;
}

/** How rows become lines. */
export type LineForm =
  /** All lines of the interval are packed as one, if they are. */
  | { readonly format: 'JSONLines'; readonly columns: readonly Column[]; readonly packing?: Packing | null }
  /** PostgreSQL's COPY text format. */
  | { readonly format: 'CopyText'; readonly columns: readonly Column[] };

/** How rows become files. */
export interface ParquetForm {
  readonly format: 'Parquet';
  readonly columns: readonly Column[];
  readonly compression: ParquetCompression;
  /** What would be larger comes as several files of about so many bytes. */
  readonly fileBytes: number;
}

export type Form = LineForm | ParquetForm;

/** A file that was formed of rows, on a disk of this machine. Plain JSON. */
export interface FormedFile {
  /** Absolute. */
  readonly path: string;
  /** It is one of several of its interval. */
  readonly isPart: boolean;
}

/** The port to the engine that selects rows and forms the final bytes. */
export interface Warehouse {
  /** What the machine's Unload state sends to Athena for these of the intervals; null where rows are read as they lie. */
  unload(plan: FrozenPlan, intervals: readonly number[]): Promise<Unload | null>;
  /** How many rows the interval delivers. */
  count(plan: FrozenPlan, interval: Interval, signal: AbortSignal): Promise<number>;
  /** The interval's rows as lines, in a fixed order; those that are not packed come in pieces of whole ones. Ends with an error on abort. */
  read(plan: FrozenPlan, interval: Interval, form: LineForm, signal: AbortSignal): AsyncIterable<Buffer>;
  /**
   * The interval's rows as files, in the same order. Each is there until the next one is asked for, or the end: whoever
   * asked may move it away. Ends with an error on abort.
   */
  files(plan: FrozenPlan, interval: Interval, form: ParquetForm, signal: AbortSignal): AsyncIterable<FormedFile>;
}
