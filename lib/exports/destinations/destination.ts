import { join } from 'node:path';
import type * as z from 'zod';
import type { Interval } from '../../lake/intervals.ts';
import type { Model } from '../../lake/schema.ts';
import type { Outbound } from '../../ports/outbound/outbound.ts';
import type { Settings } from '../../ports/settings.ts';
import type { Column } from '../../warehouse/columns.ts';
import type { FormedFile, LineForm, ParquetForm } from '../../warehouse/warehouse.ts';

/** A config as stored and checked: the values that the destination's schema gives, secrets included. */
export type Config = Readonly<Record<string, unknown>>;

/** What a deployment lets the destinations of an organization reach. */
export type Reach = Pick<Settings, 'privateAddresses' | 'folderRoots' | 'dataDirectory'>;

/** Returns what an organization's destinations may reach: of each root the folder that is named by its id. */
export function reachOf({ privateAddresses, folderRoots, dataDirectory }: Reach, organizationId: string): Reach {
  const roots = folderRoots?.map((root) => join(root, organizationId)) ?? folderRoots;
  return { privateAddresses, folderRoots: roots, dataDirectory };
}

/** One interval on its way to one destination: what `deliver`, `commit` and `discard` are given. */
export interface Delivery<C extends Config = Config> {
  readonly exportId: string;
  /** Returns how the owner of this export may hear of an export: by its name where both are of one project. */
  nameOf(exportId: string): Promise<string>;
  readonly runId: string;
  /** `<export id>-<plan version>`: names files and uploads of this attempt's batch. */
  readonly attempt: string;
  readonly model: Model;
  readonly teamId: number;
  readonly interval: Interval;
  readonly config: C;
  /** Returns the columns to deliver: those of the export's own query if it has one, else the destination's. */
  columns(defaults: readonly Column[]): readonly Column[];
  /** Returns the rows as lines of the form asked for, from the first one, each time it is called. */
  rows(form: LineForm): AsyncIterable<Buffer>;
  /** Returns the rows as files. Each is there until the next one is asked for: whoever asked may move it away. */
  files(form: ParquetForm): AsyncIterable<FormedFile>;
  readonly outbound: Outbound;
  readonly reach: Reach;
  /**
   * Aborted when the run is cancelled or loses its interval, its time is up or the process ends. Every request is made with
   * it; a destination stops and leaves nothing visible.
   */
  readonly signal: AbortSignal;
  /** Returns the time, in milliseconds since 1970. */
  readonly clock: () => number;
  /** Tells the customer something, in the export's log. */
  say(level: 'INFO' | 'WARNING', message: string): void;
  /**
   * Lets them read what was said so far, and the reason as the run's `latest_error`; then waits, in milliseconds. Throws
   * the signal's reason on abort.
   */
  pause(milliseconds: number, reason: string): Promise<void>;
  /** Keeps a note (plain JSON) for another attempt at this run, in place of the one before. */
  keep(note: unknown): Promise<void>;
  /** Returns the note that was kept last, by this attempt or an earlier one; undefined: none, or for another config. */
  kept(): Promise<unknown>;
}

/** Names what `deliver` prepared: plain JSON, kept before `commit`, so that a commit can be finished after a crash. */
export interface Receipt {
  /** Bytes delivered, after compression. */
  readonly bytes: number;
  readonly [field: string]: unknown;
}

/** What `deliver` prepared, to be committed or discarded. */
export interface Prepared<R extends Receipt = Receipt, H = unknown> {
  readonly receipt: R;
  /**
   * What only the process that prepared it has, such as an open session or bytes that are not sent yet. It serves one
   * `commit`. Absent after a crash: then `commit` has the receipt alone, and the rows, which are still there.
   */
  readonly held?: H;
}

/** What an export that is checked would deliver. Throws `Permanent` when its query cannot be run. */
export type Planned = () => Promise<Pick<Delivery, 'model' | 'columns'>>;

/** One of the connection checks of a destination. */
export interface CheckStep<C extends Config = Config> {
  readonly name: string;
  readonly description: string;
  /** Returns why the step says nothing about this config, for the user: it is `Skipped` then. Undefined: it is run. */
  skipped?(config: C): string | undefined;
  /**
   * Resolves when passed, with what the user should know all the same, if there is anything. Throws `Permanent` or
   * `Transient` with the message for the user. Aborted: its time is up.
   */
  run(config: C, outbound: Outbound, reach: Reach, signal: AbortSignal, planned: Planned): Promise<string | void>;
}

/**
 * One kind of destination, in one file. To add one: write it beside the others and list it; CONTRIBUTING.md says where.
 *
 * `deliver` is invisible to readers (where nothing can be sent unseen, the destination says what it does instead);
 * `commit` is the one visible act, and harmless when done twice with one receipt.
 * Both throw `Transient` (tried again with backoff) or `Permanent` (the user's to fix: what, where, what to do).
 *
 * @example
 * // Files on a server: uploaded under a hidden name, then renamed.
 * export const sftp: Destination<SftpConfig, Receipt> = {
 *   type: 'SFTP',
 *   config: z.object({ host: z.string(), user: z.string(), password: z.string(), path: z.string().default('/') }),
 *   secrets: ['user', 'password'],
 *   addresses: ['host'],
 *   check: (config) => checkFilled(config, ['host', 'user', 'password']),
 *   steps: [{ name: 'Log in', description: 'Ensure that the server takes the password.', run: logIn }],
 *
 *   async deliver(delivery) {
 *     const columns = delivery.columns(FILE_COLUMNS[delivery.model]);
 *     const bytes = await upload(hiddenName(delivery), delivery.rows({ format: 'JSONLines', columns }), delivery);
 *     return { receipt: { bytes } };
 *   },
 *   // May be the second time: fine when the file is in its place already. Gone altogether: it is uploaded again.
 *   commit: (delivery) => rename(hiddenName(delivery), shownName(delivery), delivery),
 *   // The hidden name follows from the delivery, so that it is known without a receipt too.
 *   discard: (delivery) => remove(hiddenName(delivery), delivery),
 * };
 */
export interface Destination<C extends Config = Config, R extends Receipt = Receipt, H = unknown> {
  readonly type: string;
  /** Known keys, types and defaults. Unknown keys are refused by the caller, with PostHog's text. */
  readonly config: z.ZodObject;
  /** Keys that are sealed at rest and never returned. */
  readonly secrets: readonly string[];
  /** Keys, as `outer.inner`, that say where secrets and rows go; when one changes, the secrets must be sent again. */
  readonly addresses: readonly string[];
  /** Keys that, when true, leave it unproved who is at an address; when one becomes true, secrets must be sent again. */
  readonly unproved?: readonly string[];
  /** The receiver takes one form of rows, so that an export may not choose its columns. */
  readonly hasFixedColumns?: boolean;
  /** Checks rules across keys, and what is not built. Throws a `Failure`, with PostHog's text where there is one. */
  check(config: C, model: Model, reach: Reach): void;
  readonly steps: readonly CheckStep<C>[];
  /** Proves what this machine alone can tell, when the config is to be stored. Throws as the steps do. */
  prove?(config: C, reach: Reach): Promise<void>;
  /**
   * Returns the places that files of an interval take in any case, as texts that are the same for two exports only where
   * one file would lie. Absent: what is delivered lies beside what other exports deliver.
   */
  places?(config: C, about: Pick<Delivery, 'interval' | 'model'>): readonly string[];
  /** Prepares all rows of the delivery, unseen. */
  deliver(delivery: Delivery<C>): Promise<Prepared<R, H>>;
  /** Makes visible what was prepared. */
  commit(delivery: Delivery<C>, prepared: Prepared<R, H>): Promise<void>;
  /**
   * Removes what was prepared, after a cancel or a failure; fine when nothing is there. Undefined: no receipt was kept,
   * and `deliver` may have come to any point.
   */
  discard(delivery: Delivery<C>, prepared: Prepared<R, H> | undefined): Promise<void>;
}
