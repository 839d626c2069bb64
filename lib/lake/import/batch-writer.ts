/** From rows to batches, for whoever adds to the lake: one is filled, on disk, while the one before is published. */
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MIB, MINUTE_MS } from '../../basics/units.ts';
import type { DatabaseJob } from '../../duckdb/pool.ts';
import { type Arrived, historyEnd } from '../arrival.ts';
import type { LakeFile, PublishedFile } from '../catalog.ts';
import { intactCopies, intactFiles } from '../intact.ts';
import { learnedProperties } from '../learned-properties.ts';
import type { Adder, LakeWriter, Lease, Publishing } from '../lease.ts';
import { bothRefused, type RefusedChanges } from '../persons/refusals.ts';
import { openPersonStates } from '../persons/states.ts';
import { publish } from '../publish.ts';
import type { Model } from '../schema.ts';
import { forgottenAmong } from './forgotten.ts';
import {
  type KnownHours,
  LONGEST_ROW,
  type Overlapping,
  openStaging,
  type StagedRow,
  type Staging,
  type StagingOptions,
  stagedLine,
} from './staging.ts';
import type { UuidLists } from './uuid-lists.ts';

/** A batch: this many rows, or bytes while it is staged, or milliseconds of reading, or what its rows weigh. */
const BATCH = { rows: 1_000_000, bytes: 512 * MIB, timeMs: MINUTE_MS, weight: 256e9 };

/**
 * What sorts rows holds some thousands of neighbours at a time, so the longer they are, the fewer bytes a batch may
 * have. The weight is bytes times length: 500 MB of rows of 500 bytes, 128 MB of 2 kB, 25 MB of 10 kB; from 16 kB on
 * length counts no more, so that a few of the longest go together: 16 MB.
 */
const weightOf = (length: number): number => length * Math.min(length, 16_000);
/** Staged rows go to the disk in writes of this many characters. */
const WRITE = MIB;
const BYTES_OF_A_CHARACTER = 3;

/** The files of one model. */
export const ofModel = (files: readonly PublishedFile[], model: Model): PublishedFile[] =>
  files.filter((file) => file.model === model);

interface AddingOptions extends StagingOptions {
  /** Lists the files of events in which what is added may be known already, for each batch anew. */
  readonly before: () => Promise<readonly LakeFile[]>;
  readonly arrived: Arrived;
  /** Tell which of those files may hold what. Default: each is looked into. */
  readonly lists?: UuidLists | undefined;
}

/** Returns what `work` does with a writer of batches and the writer's folder, which is gone then. */
export async function adding<T>(
  context: LakeWriter,
  adder: Adder,
  options: AddingOptions,
  work: (batches: BatchWriter, folder: string) => Promise<T>,
): Promise<T> {
  return context.databases.use(async (job) => {
    const staging = await openStaging(job, adder.projectId, options);
    const batches = new BatchWriter({ ...options, context, adder, staging, job });
    try {
      return await work(batches, job.folder);
    } finally {
      await batches.settled();
    }
  });
}

interface BatchWriterOptions extends AddingOptions {
  readonly context: Publishing;
  readonly adder: Adder;
  readonly staging: Staging;
  readonly job: Pick<DatabaseJob, 'database' | 'folder'>;
}

/** Of the process: each landing looks at the files of the days before, which were compared for the one before it. */
const isIntact = intactFiles();

/** Takes rows one by one, and publishes them in batches, each under a lease, in their order. */
export class BatchWriter {
  readonly #options: BatchWriterOptions;
  readonly #copies: string;
  readonly #published: PublishedFile[] = [];
  #known = 0;
  #forgotten = 0;
  readonly #knownHours = { events: new Set<number>(), persons: new Set<number>() };
  #refused: RefusedChanges = {};
  #underWay: Promise<void> = Promise.resolve();
  /** Rows of the batch that is filled, which are not on disk yet. */
  #lines = '';
  #rows = 0;
  #batch: { readonly number: number; rows: number; bytes: number; weight: number; readonly began: number };

  constructor(options: BatchWriterOptions) {
    this.#options = options;
    this.#copies = join(options.job.folder, 'copies');
    this.#batch = this.#empty(0);
  }

  /** Adds a row to the batch. False: the row is too large, and was not added. */
  add(row: Omit<StagedRow, 'row'>): boolean {
    const line = stagedLine({ ...row, row: this.#rows });
    if (line.length > LONGEST_ROW / BYTES_OF_A_CHARACTER) return false;
    this.#lines += `${line}\n`;
    this.#rows += 1;
    this.#batch.rows += 1;
    this.#batch.weight += weightOf(line.length);
    return true;
  }

  /** Whether the batch takes no more: the next row is added after a `pass`. */
  get isFull(): boolean {
    return (['rows', 'bytes', 'weight'] as const).some((limit) => this.#batch[limit] >= BATCH[limit]);
  }

  /** Writes rows to the disk, and publishes the batch when it is full, if it is time. Throws when an earlier one has failed. */
  async pass(): Promise<void> {
    const { context, adder } = this.#options;
    adder.signal.throwIfAborted();
    if (this.#lines.length >= WRITE) await this.#write();
    const isLate = context.clock() - this.#batch.began > BATCH.timeMs;
    if (this.isFull || isLate) await this.#cut();
  }

  /** Sees all batches through. `known`: events that the lake had, or must not have (`forgotten`), `refused`: changes of persons that were not made. */
  async end() {
    await this.#cut();
    await this.#underWay;
    const published: readonly PublishedFile[] = this.#published;
    const knownHours: KnownHours = { events: [...this.#knownHours.events], persons: [...this.#knownHours.persons] };
    return { published, known: this.#known, forgotten: this.#forgotten, knownHours, refused: this.#refused };
  }

  /** Waits for a batch that is on its way, and starts none. Never throws. */
  settled(): Promise<void> {
    return this.#underWay.catch(() => {});
  }

  #empty(number: number) {
    return { number, rows: 0, bytes: 0, weight: 0, began: this.#options.context.clock() };
  }

  #path(): string {
    return join(this.#options.job.folder, `batch-${this.#batch.number}`);
  }

  async #write(): Promise<void> {
    const text = Buffer.from(this.#lines);
    this.#lines = '';
    await appendFile(this.#path(), text);
    this.#batch.bytes += text.length;
  }

  /** Ends the batch: it is published while the next one is filled. */
  async #cut(): Promise<void> {
    if (this.#batch.rows === 0) return;
    await this.#write();
    await this.#underWay;
    const path = this.#path();
    this.#underWay = this.#options.adder.batch((lease) => this.#publish(lease, path));
    this.#underWay.catch(() => {});
    this.#batch = this.#empty(this.#batch.number + 1);
  }

  /** What the lake has is looked up under the lease: others may have added to it since the batch before. */
  async #publish(lease: Lease, file: string): Promise<void> {
    const { context, staging, arrived, job } = this.#options;
    const before = await this.#options.before();
    const learned = await learnedProperties(context.table, lease.projectId);
    const batch = await staging.load(file, this.#overlapping(before), (hashes) =>
      forgottenAmong(context.table, lease.projectId, hashes),
    );
    await rm(file);
    this.#known += batch.known;
    this.#forgotten += batch.forgotten;
    for (const hour of batch.knownHours.events) this.#knownHours.events.add(hour);
    for (const hour of batch.knownHours.persons) this.#knownHours.persons.add(hour);
    if (batch.rows === 0) return;
    const persons =
      batch.personChanges === 0 ? undefined : await openPersonStates(context, lease, this.#copies, isIntact);
    let [refused, statedIn]: [RefusedChanges, readonly number[]] = [{}, []];
    const files = await publish(
      context,
      lease,
      async ({ at, live }, folder) => {
        const written = await staging.write({
          at,
          historyEnd: historyEnd(arrived, live, context.settings.historyDays),
          folder,
          lake: context.lake,
          ...(persons === undefined ? {} : { persons }),
          learned,
          signal: lease.signal,
        });
        ({ refused, statedIn } = written);
        return written.files;
      },
      persons?.newest(),
    );
    this.#refused = bothRefused(this.#refused, refused);
    for (const hour of statedIn) this.#knownHours.persons.add(hour);
    this.#published.push(...files);
    if (persons === undefined) return;
    persons.add(files);
    await persons.renew(job.database);
  }

  /** Of these files, which are all that there were before. */
  #overlapping(all: readonly LakeFile[]): Overlapping {
    const { context, lists, adder } = this.#options;
    const { projectId } = adder;
    const copies = (files: readonly LakeFile[]) => intactCopies(context.lake, isIntact, files, this.#copies);
    return async (min, max, connection) => {
      const files = all.filter((file) => file.min_timestamp <= max && file.max_timestamp >= min);
      await lists?.keep(projectId, all);
      if (lists === undefined || files.length === 0) return { paths: await copies(files), rows: 'staged' };
      const held = await lists.mayHold({ connection, projectId, files, copies });
      return { paths: await copies(held.files), rows: held.rows };
    };
  }
}
