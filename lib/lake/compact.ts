/**
 * Joins the small files of a day of arrival, of which captured events make many: a reader takes as long for the file as
 * for its rows. What is joined has the same rows, in the order of a file.
 */
import { join } from 'node:path';
import { dayOf } from '../basics/days.ts';
import { messageOf } from '../basics/text.ts';
import { DAY_MS, HOUR_MS, MIB, MINUTE_MS } from '../basics/units.ts';
import { parquet } from '../duckdb/database.ts';
import { keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Table } from '../ports/table/table.ts';
import { allFiles, type LakeFile, type LakeFileItem, publishedAt } from './catalog.ts';
import { writeDayFiles } from './day-files.ts';
import { intactCopies, intactFiles } from './intact.ts';
import { learnedProperties } from './learned-properties.ts';
import type { LakeWriter } from './lease.ts';
import { MAX_REPLACED, type Replacement, removeRetired, replaceFiles } from './replace.ts';
import { MODELS, type Model } from './schema.ts';

/** A file of fewer bytes is small. */
const SMALL = 32 * MIB;
/** Together they have so many bytes at most. */
const JOINED = 128 * MIB;
/** While a day goes on, files that are alike small are joined: each byte is written anew at most so many times, and once after. */
const SIZES = [MIB, SMALL];
/** So many of a size are worth it. */
const MANY = 16;
/** So long after a day's end its files are joined whatever their number: those of a late landing too. */
const CLOSED_MS = HOUR_MS;
/** By so many of the newest files is told how fast they come. */
const NEWEST = 4;
/** While a day goes on, it is looked at again after so long at most, though few files come. */
const MAX_WAIT_MS = 15 * MINUTE_MS;

/** What a walk through a project's files has done. */
export interface CompactionReport {
  /** Files that were joined. */
  readonly joined: number;
  /** When there will be something to do, milliseconds since 1970; null: never, unless rows are added. */
  readonly next: number | null;
  /** Its time was over: there is more to do now. */
  readonly isCut: boolean;
}

/** Returns which of a day's files of one model are to be joined now, those of each list to one. */
export function joinsOf<File extends LakeFile>(files: readonly File[], isClosed: boolean): File[][] {
  if (isClosed) return packed(smallOf(files, 0, SMALL)).filter(({ length }) => length > 1);
  return alikeOf(files).flatMap((alike) =>
    alike.length < MANY ? [] : packed(alike).filter(({ length }) => length > 1),
  );
}

/**
 * Returns in how many milliseconds a day that goes on has as many small files of a size as are worth a join, if they go on to
 * come as the newest have come: a minute at least, `MAX_WAIT_MS` at most.
 */
export function waitFor(files: readonly LakeFile[], now: number): number {
  const waits = alikeOf(files).flatMap((alike) => {
    const newest = alike.slice(-NEWEST);
    const [first] = newest;
    // So many were to be joined before: where that failed, it is not tried each minute.
    return first === undefined || alike.length >= MANY
      ? []
      : [((now - publishedAt(first)) / newest.length) * (MANY - alike.length)];
  });
  return Math.max(MINUTE_MS, Math.min(MAX_WAIT_MS, ...waits));
}

/** Returns the small files by their sizes, the smallest first. */
const alikeOf = <File extends LakeFile>(files: readonly File[]): File[][] =>
  SIZES.map((size, n) => smallOf(files, SIZES[n - 1] ?? 0, size));

/** Returns the files of at least `from` bytes and fewer than `to`, in the order in which they came. */
const smallOf = <File extends LakeFile>(files: readonly File[], from: number, to: number): File[] =>
  files.filter(({ bytes }) => bytes >= from && bytes < to).toSorted((a, b) => publishedAt(a) - publishedAt(b));

function packed<File extends LakeFile>(files: readonly File[]): File[][] {
  const lists: File[][] = [];
  let bytes = 0;
  for (const file of files) {
    const last = lists.at(-1);
    if (last === undefined || last.length === MAX_REPLACED || bytes + file.bytes > JOINED) {
      lists.push([file]);
      bytes = 0;
    } else last.push(file);
    bytes += file.bytes;
  }
  return lists;
}

/**
 * Joins what is to be joined of a project, and removes files whose place others have taken. Safe beside anything else. It
 * begins nothing more at `until`, milliseconds since 1970.
 */
export async function compact(
  context: LakeWriter,
  projectId: number,
  { until = Number.POSITIVE_INFINITY }: { readonly until?: number } = {},
): Promise<CompactionReport> {
  const { table, clock } = context;
  const project = await table.get(keys.project(projectId));
  if (project === undefined || project['deleted_at'] !== null) return { joined: 0, next: null, isCut: false };
  let joined = 0;
  const waits: number[] = [];
  for (const model of MODELS) {
    const days = Map.groupBy(await settledFiles(table, projectId, model), ({ min_arrival }) => dayOf(min_arrival));
    for (const [day, files] of days) {
      const closedAt = Date.parse(day) + DAY_MS + CLOSED_MS;
      const isClosed = closedAt <= clock();
      if (!isClosed && files.length > 1) waits.push(waitFor(files, clock()));
      for (const some of joinsOf(files, isClosed)) {
        if (clock() >= until) return { joined, next: null, isCut: true };
        if (await joinFiles(context, { projectId, model, files: some })) joined += some.length;
      }
    }
  }
  const retired = await removeRetired(context, projectId);
  if (joined > 0) waits.push(MINUTE_MS);
  const times = [...waits.map((wait) => clock() + wait), ...(retired === null ? [] : [retired])];
  return { joined, next: times.length === 0 ? null : Math.min(...times), isCut: false };
}

/**
 * The files of batches that are published for good. Whoever finishes a batch may put its FILE items once more as long as
 * the batch is pending, also after they were replaced; one that is not pending any more never is again.
 */
async function settledFiles(table: Table, projectId: number, model: Model): Promise<LakeFileItem[]> {
  const files = await allFiles(table, projectId, model);
  const pending = (await listAll(table, ranges.pendingBatches(projectId))).map(({ batch }) => batch);
  return files.filter(({ path }) => !pending.some((batch) => path.includes(batch)));
}

/** Returns whether the files were joined. What fails is told, and keeps nothing else from being joined. */
async function joinFiles(context: LakeWriter, replacement: Replacement): Promise<boolean> {
  const { projectId, model, files } = replacement;
  const { table, lake, log, databases } = context;
  try {
    const learned = model === 'events' ? await learnedProperties(table, projectId) : [];
    return await databases.use(({ connection, folder: scratch }) =>
      replaceFiles(context, replacement, async (folder, name) => {
        const copies = await intactCopies(lake, intactFiles(), files, join(scratch, 'copies'));
        const target = {
          scratch: join(scratch, 'parquet'),
          folder,
          lake,
          nameOf: () => name,
          isSorted: areInOrder(files),
          learned,
        };
        const [written, ...more] = await writeDayFiles(connection, model, parquet(copies), target);
        const rows = files.reduce((sum, file) => sum + file.rows, 0);
        if (written?.rows !== rows || more.length > 0) throw new Error(`${rows} rows became ${written?.rows ?? 0}`);
        return written;
      }),
    );
  } catch (error) {
    log.error('files of the lake could not be joined', {
      project: projectId,
      model,
      files: files.length,
      reason: messageOf(error),
    });
    return false;
  }
}

/** Whether each file's rows arrived after all of the one before. */
const areInOrder = (files: readonly LakeFile[]): boolean =>
  files.every(({ min_arrival }, n) => n === 0 || min_arrival > (files[n - 1]?.max_arrival ?? 0));
