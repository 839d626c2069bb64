import type * as z from 'zod';
import type { Slot } from '../../lake/intervals.ts';
import type { Outbound } from '../../ports/outbound/outbound.ts';
import type { Settings } from '../../ports/settings.ts';
import type { Column } from '../../warehouse/columns.ts';
import type { Form } from '../../warehouse/warehouse.ts';
import type { Model } from '../records/model.ts';

/** A config as stored and checked: the values that the destination's schema gives, secrets included. */
export type Config = Readonly<Record<string, unknown>>;

/** What a deployment lets destinations reach. */
export type Reach = Pick<Settings, 'privateAddresses' | 'folderRoots'>;

/** One slot on its way to one destination. */
export interface Delivery<C extends Config = Config> {
  readonly exportId: string;
  readonly runId: string;
  /** `<export id>-<plan version>`: names files and uploads of this attempt's chunk. */
  readonly token: string;
  readonly model: Model;
  readonly teamId: number;
  readonly slot: Slot;
  readonly config: C;
  /** The columns to deliver: those of the export's own query if it has one, else the destination's. */
  columns(defaults: readonly Column[]): readonly Column[];
  /** The rows in the form asked for, from the first one, each time it is called. */
  rows(form: Form): AsyncIterable<Buffer>;
  readonly outbound: Outbound;
  readonly reach: Reach;
  /** Aborted when the run is cancelled or loses its slot; a destination stops and leaves nothing visible. */
  readonly signal: AbortSignal;
  /** Tells the customer something, in the export's log. */
  say(level: 'INFO' | 'WARNING', message: string): void;
  /** Lets him read what was said so far, then waits, in milliseconds. Ends with the signal's reason on abort. */
  pause(milliseconds: number): Promise<void>;
  /** Keeps a note (plain JSON) for another attempt at this run, in place of the one before. */
  keep(note: unknown): Promise<void>;
  /** The note that was kept last, by this attempt or an earlier one; undefined: none. */
  kept(): Promise<unknown>;
}

/** What `deliver` prepared: plain JSON, kept in the spool before `commit`, so that a commit can be finished after a crash. */
export interface Receipt {
  /** Bytes delivered, after compression. */
  readonly bytes: number;
  readonly [field: string]: unknown;
}

export interface CheckStep<C extends Config = Config> {
  readonly name: string;
  readonly description: string;
  /**
   * Why the step says nothing about this config, for the user: it is `Skipped` then. Undefined, or absent: it is run.
   */
  skipped?(config: C): string | undefined;
  /** Resolves when passed; throws `Permanent` or `Transient` with the message for the user. Aborted: its time is up. */
  run(config: C, outbound: Outbound, reach: Reach, signal: AbortSignal): Promise<void>;
}

/**
 * One kind of destination, in one file. To add one: write it beside the others and list it in `index.ts`.
 *
 * `deliver` is invisible to readers (where nothing can be sent unseen, the destination says what it does instead);
 * `commit` is the one visible act, and harmless when done twice with one receipt.
 * Both throw `Transient` (tried again with backoff) or `Permanent` (the user's to fix: what, where, what to do).
 */
export interface Destination<C extends Config = Config> {
  readonly type: string;
  /** Known keys, types and defaults. Unknown keys are refused by the caller, with upstream's text. */
  readonly config: z.ZodObject;
  /** Keys that are sealed at rest and never returned. */
  readonly secrets: readonly string[];
  /** Keys that say where the secrets go; when one changes, the secrets must be sent again. */
  readonly addresses: readonly string[];
  /** True: the receiver takes one form of rows, so that an export may not choose its columns. */
  readonly hasFixedColumns?: boolean;
  /** Rules across keys, and what is not built: throws a `Failure` with upstream's text. */
  check(config: C, model: Model, reach: Reach): void;
  readonly steps: readonly CheckStep<C>[];
  deliver(delivery: Delivery<C>): Promise<Receipt>;
  commit(delivery: Delivery<C>, receipt: Receipt): Promise<void>;
  /** Removes what `deliver` prepared, after a cancel or a failure; fine when nothing is there. */
  discard(delivery: Delivery<C>, receipt: Receipt | undefined): Promise<void>;
}
