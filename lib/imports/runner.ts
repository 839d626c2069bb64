/** Has imports by request run: each in its organization's turn, and again after whatever has ended it before its time. */

import { Recent } from '../basics/recent.ts';
import { messageOf } from '../basics/text.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import { neededBackfills } from '../exports/resource/import-backfills.ts';
import type { ImportProgress } from '../lake/import/import.ts';
import type { Context } from '../ports/context.ts';
import { inWords } from '../ports/disk-failures.ts';
import { Damaged, Failure, Transient } from '../ports/errors.ts';
import type { FileStore } from '../ports/files/files.ts';
import { fromJsonText, toJsonText } from '../ports/table/json-text.ts';
import { keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import { Busy, type Value } from '../ports/table/table.ts';
import { tryWrite } from '../ports/table/until-written.ts';
import { WorkerLost } from '../workers/pool.ts';
import { type ImportItem, type ReadingOptions } from './model.ts';
import type { ImportResult, ImportTask } from './run.ts';
import { importFolders, removeImport, removeParts } from './spool.ts';
import { CLOSED, endOf, MAX_IMPORT_ATTEMPTS, NOTHING_READ } from './store.ts';

/** Imports that run at the same time; of one organization one, and of one user one. */
const AT_ONCE = 2;

/** So many organizations and users are remembered. */
const MAX_SERVED = 10_000;

/** Another import holds the project: it is looked again after so long. */
const HELD_MS = 5 * SECOND_MS;
/** What may pass is tried again after so long. */
const PAUSE_MS = MINUTE_MS;

/** A file that is not whole, or an import that has failed and was not started again, is given up after so long. */
const GIVEN_UP_MS = DAY_MS;

/** How often it is looked for files of imports that are gone. */
const SWEEP_MS = 60 * MINUTE_MS;

interface RunnerOptions extends Pick<Context, 'table' | 'clock' | 'log'> {
  readonly files: FileStore;
  /** Runs one, here or in another process. Rejects with the signal's reason when it is aborted. */
  readonly run: (task: ImportTask, about: RunAbout) => Promise<ImportResult>;
}

interface RunAbout {
  readonly organization: string;
  readonly signal: AbortSignal;
  /** Resolves when it was noted, or cannot be at the moment. Told now and then, also when nothing has changed. */
  readonly onProgress: (progress: ImportProgress | undefined) => Promise<void>;
}

interface UnderWay {
  readonly organization: string;
  readonly user: string;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** When an organization had its last turn, and it or its user. */
interface Turn {
  readonly ofOrganization: number;
  readonly latest: number;
}

/** Somebody has ended the import. */
class Ended extends Error {
  override readonly name = 'Ended';
}

/** The service is closing: the next one begins the import again, which is no failure of it. */
class Closing extends Error {
  override readonly name = 'Closing';
}

/** One at a time has a data directory. */
export class ImportRunner {
  readonly #options: RunnerOptions;
  readonly #underWay = new Map<string, UnderWay>();
  /** When those that must wait are looked at again. */
  readonly #later = new Map<string, number>();
  /**
   * When an organization, or a user, had their turn last, counted from 1. Who is not remembered counts as served when they
   * are first seen waiting, so that nobody waits for all who come after them.
   */
  readonly #served = new Recent<number>(MAX_SERVED);
  #turns = 0;
  #sweptAt = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /**
   * Begins what may begin, and gives up what nobody goes on with. Organizations, and users of several, take turns: first is
   * whose turn was longest ago, then what is oldest. What an earlier service left running goes on.
   */
  async pass(): Promise<void> {
    const { table, clock } = this.#options;
    const now = clock();
    const waiting: ImportItem[] = [];
    const open = await listAll(table, ranges.openImports());
    const ids = new Set(open.map(({ id }) => id));
    for (const id of this.#later.keys()) if (!ids.has(id)) this.#later.delete(id);
    for (const item of open) {
      if (item.state === 'uploading') {
        if (item.created_at + GIVEN_UP_MS < now)
          await this.#end(item, 'cancelled', { error: 'Its file was not uploaded within a day.' });
        continue;
      }
      if (item.state === 'failed') {
        if (isGivenUp(item, now) && (await this.#change(item, {}, CLOSED)))
          await removeParts(this.#options.files, item);
        continue;
      }
      if ((this.#later.get(item.id) ?? 0) <= now) waiting.push(item);
    }
    for (const item of waiting) this.#remember(item);
    for (const item of waiting.toSorted((a, b) => this.#compareTurns(a, b)))
      if (this.#underWay.size < AT_ONCE && !this.#isMet(item)) await this.#begin(item);
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    await this.#sweep();
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all([...this.#underWay.values()].map(({ done }) => done));
  }

  /** Stops what is under way: the next service goes on with it. */
  async close(): Promise<void> {
    for (const { stop } of this.#underWay.values()) stop.abort(new Closing());
    await this.idle();
  }

  /** Whether one of its organization, or of its user, is under way. */
  #isMet({ organization_id, created_by }: ImportItem): boolean {
    const underWay = [...this.#underWay.values()];
    return underWay.some(({ organization, user }) => organization === organization_id || user === created_by);
  }

  /** Whose turn was longest ago, of the organization and the user; of a user's organizations the one that waits longest. */
  #compareTurns(a: ImportItem, b: ImportItem): number {
    const [one, other] = [a, b].map(({ organization_id, created_by }) => {
      const ofOrganization = this.#served.get(organization_id) ?? 0;
      return { latest: Math.max(ofOrganization, this.#served.get(created_by) ?? 0), ofOrganization };
    }) as [Turn, Turn];
    return one.latest - other.latest || one.ofOrganization - other.ofOrganization;
  }

  #remember({ organization_id, created_by }: ImportItem): void {
    for (const one of [organization_id, created_by]) if (!this.#served.has(one)) this.#served.set(one, this.#turns);
  }

  #putLast({ organization_id, created_by }: ImportItem): void {
    this.#turns += 1;
    for (const one of [organization_id, created_by]) this.#served.set(one, this.#turns);
  }

  async #begin(item: ImportItem): Promise<void> {
    const { log, clock } = this.#options;
    this.#later.delete(item.id);
    if (item.attempts >= MAX_IMPORT_ATTEMPTS) {
      const error = `It was interrupted ${MAX_IMPORT_ATTEMPTS} times. It may be started again; what it has added is not added twice.`;
      await this.#end(item, 'failed', { error, is_interrupted: true });
      return;
    }
    const begun = { ...item, state: 'running', attempts: item.attempts + 1 } as const;
    const began = { state: 'running', attempts: begun.attempts, started_at: clock(), ...NOTHING_READ };
    if (!(await this.#change(item, began))) return;
    log.info('an import has begun', { import: item.id, project: item.project_id, attempt: begun.attempts });
    const stop = new AbortController();
    const done = this.#run(begun, stop)
      .catch((error: unknown) =>
        log.error('an import could not be noted', { import: item.id, reason: messageOf(error) }),
      )
      .finally(() => {
        this.#underWay.delete(item.id);
        this.#putLast(item);
      });
    this.#putLast(item);
    this.#underWay.set(item.id, { organization: item.organization_id, user: item.created_by, stop, done });
  }

  async #run(item: ImportItem, stop: AbortController): Promise<void> {
    const { table, run, log } = this.#options;
    const { project_id, id, bytes, organization_id, started_at } = item;
    const options: ReadingOptions = item.options === null ? { mapping: {} } : fromJsonText(item.options);
    const about: RunAbout = {
      organization: organization_id,
      signal: stop.signal,
      onProgress: async (progress) => {
        const { bytes: bytes_read = 0, events = 0, bad: rejected = 0 } = progress ?? {};
        const noted = progress === undefined ? {} : { bytes_read, events, rejected };
        const isOurs = await this.#change(item, { state: 'running', ...noted }).catch((error: unknown) => {
          // The next one tells as much.
          if (inOurWords(error) instanceof Transient) return true;
          throw error;
        });
        if (!isOurs) stop.abort(new Ended());
      },
    };
    try {
      const result = await run({ project_id, id, bytes, options, isAgain: started_at !== null }, about);
      const project = { id: project_id, organization_id };
      const backfills = await neededBackfills(table, project, result.hours);
      await this.#end(item, 'completed', { ...resultFields(result), backfills: toJsonText(backfills) });
      log.info('an import has ended', { import: id, project: project_id, added: result.added, rejected: result.bad });
    } catch (error) {
      if (error instanceof Ended) return;
      if (error instanceof Closing) await this.#change(item, { state: 'queued', attempts: item.attempts - 1 });
      else await this.#failed(item, error);
    }
  }

  /** What may pass waits, and is tried again; all else ends it. */
  async #failed(item: ImportItem, thrown: unknown): Promise<void> {
    const { log, clock } = this.#options;
    const error = inOurWords(thrown);
    const { name } = error as Error;
    if (name === 'ImportUnderWay') {
      this.#later.set(item.id, clock() + HELD_MS);
      await this.#change(item, {
        state: 'queued',
        attempts: item.attempts - 1,
        error: 'Another import into the project runs.',
      });
      return;
    }
    if (error instanceof Transient || error instanceof WorkerLost || name === 'LeaseLost') {
      log.warning('an import was interrupted', { import: item.id, reason: messageOf(error) });
      this.#later.set(item.id, clock() + PAUSE_MS);
      await this.#change(item, { state: 'queued', error: `${messageOf(error)} It is tried again.` });
      return;
    }
    const isTold = error instanceof Failure || error instanceof Damaged || name === 'ProjectGone';
    if (!isTold) log.error('an import failed', { import: item.id, error });
    await this.#end(item, 'failed', {
      error: isTold ? messageOf(error) : 'The service made a mistake, which its log tells of. What it has added stays.',
    });
  }

  /** Returns whether the import was as it is known here; else somebody has ended it. */
  async #change(item: ImportItem, set: Record<string, Value>, unset: readonly string[] = []): Promise<boolean> {
    const { table } = this.#options;
    const key = keys.requestedImport(item.project_id, item.id);
    const known = { state: item.state, attempts: item.attempts };
    return tryWrite(table, [{ change: key, set, unset, if: { is: known } }]);
  }

  async #end(
    item: ImportItem,
    state: 'completed' | 'failed' | 'cancelled',
    fields: Readonly<Record<string, Value>>,
  ): Promise<void> {
    const { set, unset } = endOf(state, this.#options.clock());
    if (!(await this.#change(item, { ...set, ...fields }, unset))) return;
    // What has failed may be started again.
    if (state !== 'failed') await removeParts(this.#options.files, item);
  }

  /** Removes files of imports that are not known any more, and what was uploaded of those that nobody will start again. */
  async #sweep(): Promise<void> {
    const { table, files, clock } = this.#options;
    for await (const place of importFolders(files)) {
      const item = await table.get(keys.requestedImport(place.project_id, place.id));
      if (item === undefined) await removeImport(files, place);
      else if (item.finished_at !== null && (item.state !== 'failed' || isGivenUp(item, clock())))
        await removeParts(files, place);
    }
  }
}

/** Returns whether an import failed so long ago that nobody will start it again. */
const isGivenUp = ({ finished_at }: ImportItem, now: number): boolean => (finished_at ?? now) + GIVEN_UP_MS < now;

/** Returns what was thrown as `inWords` does, and a busy table as `Transient`, too. */
const inOurWords = (thrown: unknown): unknown =>
  thrown instanceof Busy
    ? new Transient('The database of the service was busy.', { cause: thrown, isOwn: true })
    : inWords(thrown);

const resultFields = (result: ImportResult) => ({
  bytes_read: result.files[0]?.bytes ?? 0,
  events: result.events,
  rejected: result.bad,
  rejections: toJsonText(result.rejected.map(({ line, reason }) => ({ line, reason }))),
  rejected_bytes: result.rejectedBytes,
  added: result.added,
  known: result.known,
  person_rows: result.persons.rows,
  arrival_from: result.arrival?.from ?? null,
  arrival_to: result.arrival?.to ?? null,
  format: result.files[0]?.format ?? null,
  problem: result.files[0]?.problem ?? null,
  error: null,
});
