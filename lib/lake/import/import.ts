/**
 * Import of events and persons from files: web server logs, JSON lines, CSV and Parquet, and what PostHog's batch exports
 * have written. Safe to repeat, beside the running service, in a process of its own: what is in the lake
 * already adds nothing.
 *
 * Which event a record is: one that carries its own uuid is the same as another with that uuid and timestamp. Any other
 * gets a uuid made of the project, the record (of a line its text, of a row its fields) and how many equal ones its file
 * has before it. So the same file twice adds nothing, a file that has grown adds its new records, and two files that
 * hold equal ones hold the same events. Of a person what is not newer than known adds nothing.
 *
 * With persons whom it deletes, the answers that the project has kept are forgotten at its end.
 */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HOUR_MS } from '../../basics/units.ts';
import type { DatabaseLimits } from '../../duckdb/database.ts';
import { fail } from '../../ports/errors.ts';
import { orNoFile } from '../../ports/files/or-absent.ts';
import { keys } from '../../ports/table/keys.ts';
import { allFiles, arrivalsOf, firstOf, type LakeFile, lastOf } from '../catalog.ts';
import { forgetAnswers } from '../forget-answers.ts';
import type { ArrivalHours, ArrivalRange } from '../intervals.ts';
import { type Adder, asImport, type LakeWriter } from '../lease.ts';
import { deletesPerson } from '../persons/change.ts';
import { countRefused } from '../persons/refusals.ts';
import type { Model } from '../schema.ts';
import { contentUuid } from '../sources/event.ts';
import type { ImportFormat, PageViews } from '../sources/formats.ts';
import type { LinesOptions } from '../sources/lines.ts';
import { openSource } from '../sources/open.ts';
import type { SourceRecord } from '../sources/record.ts';
import { checkMapping, type TableMapping } from '../sources/table-rows.ts';
import { adding, type BatchWriter, ofModel } from './batch-writer.ts';
import { type Bookmark, bookmarkOf, type FileRead, keepBookmark, type RestartPlace } from './bookmark.ts';
import { type Rejected, type RejectedLine, rejectedLines } from './rejected.ts';

/** A file that is brought to this machine when it is its turn, and removed when it was read. */
export interface FetchedFile {
  /** As reports call it. */
  readonly name: string;
  /** In bytes; 0: nobody knows. */
  readonly size: number;
  /** Writes it into a local file. Throws the signal's reason on abort. */
  readonly save: (localFile: string, signal: AbortSignal) => Promise<void>;
}

/** A path on this machine, or a file that is elsewhere. */
export type ImportFile = string | FetchedFile;

export interface ImportOptions extends Pick<LinesOptions, 'onlyEnded'> {
  readonly projectId: number;
  readonly files: readonly ImportFile[];
  /** Default: told for each file by how it begins. */
  readonly format?: ImportFormat;
  /** How tables (CSV, Parquet) are read. Default: by the names of their columns. */
  readonly mapping?: TableMapping;
  /** Which requests of web server logs are page views. Default: those for pages by people. */
  readonly pageViews?: PageViews | undefined;
  /** Default: `then` for history, `now` for all else. */
  readonly arrived?: 'now' | 'then';
  /** An attempt before this one may have added some of it: `hours` has the hours of what is known, too. */
  readonly isAgain?: boolean;
  /** Records that are bad are copied to a file in here, which is made when there is one. */
  readonly rejectedFolder: string;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Stops the import: it removes what it has not published, gives its lease back, and throws the reason. */
  readonly stop?: AbortSignal;
}

/** Somebody has stopped the import. */
export class ImportStopped extends Error {
  override readonly name = 'ImportStopped';
  constructor() {
    super('The import was stopped. What it has added stays; the same command adds the rest.');
  }
}

export interface ImportProgress {
  /** Of the files as they lie, read so far, and in all. */
  readonly bytes: number;
  readonly totalBytes: number;
  readonly events: number;
  readonly bad: number;
}

/** What became of one file. `events`, `persons`, `bad` and `blank` records are all that it has; a header is blank. */
interface FileReport {
  readonly file: string;
  /** Null: it could not be told. */
  readonly format: ImportFormat | null;
  /** Of the file as it lies, as far as it was read. */
  readonly bytes: number;
  /** Where the reading began, in bytes: the file has grown, and what is before was imported. Absent: at its beginning. */
  readonly from?: number;
  readonly events: number;
  /** States of persons. */
  readonly persons: number;
  readonly bad: number;
  readonly blank: number;
  /** What is wrong with the file as a whole; what could be read of it was imported. */
  readonly problem: string | null;
  /** The copy of its bad records. */
  readonly rejected: string | null;
}

export interface ImportReport {
  readonly files: readonly FileReport[];
  /** Records that are events, in all files. */
  readonly events: number;
  /** Events that were not in the lake. */
  readonly added: number;
  /** Events that were there already, or twice in these files, or are not taken. */
  readonly known: number;
  /** Of `known`, those that are not taken: of persons who were deleted with their events. */
  readonly forgotten: number;
  readonly bad: number;
  /** What files said, and events changed, of persons. */
  readonly persons: PersonReport;
  /** The first 20 bad records. */
  readonly rejected: readonly RejectedLine[];
  /** Arrival of the first and the last event that was added, milliseconds; null when none was. */
  readonly arrival: ArrivalRange | null;
  /** The hours of arrival, by model, that have got rows: where exports ran before, only a backfill delivers these. */
  readonly hours: Readonly<Record<Model, readonly ArrivalHours[]>>;
}

interface PersonReport {
  /** Records that are states of persons, in all files. */
  readonly read: number;
  /** Rows that were added to the model `persons`: states of a distinct_id. */
  readonly rows: number;
  /** Changes that were not made: merges that may not be, properties that grow over 512 KiB. */
  readonly refused: number;
}

/**
 * Imports files into a project. Throws `Failure` for an unknown project or a file that is not there (before anything
 * is read), `ImportUnderWay` while another import into it runs. Whatever the files hold, it does not throw.
 */
export async function importEvents(context: LakeWriter, options: ImportOptions): Promise<ImportReport> {
  const { projectId } = options;
  const project = await context.table.get(keys.project(projectId));
  if (project === undefined || project['deleted_at'] !== null) fail('not_found', `There is no project ${projectId}.`);
  checkMapping(options.mapping ?? {});
  const sizes = await sizesOf(options.files);
  const work = async (adder: Adder): Promise<ImportReport> => {
    const before = () => allFiles(context.table, projectId, 'events');
    const { arrived = 'auto' } = options;
    const isAgain = options.isAgain === true || adder.isAfterFailure;
    let hasDeletions = false;
    const forget = async (): Promise<void> => {
      if (hasDeletions) await forgetAnswers(context.table, projectId);
      hasDeletions = false;
    };
    const added = adding(context, adder, { before, arrived, isAgain }, async (batches, folder) => {
      const files: FileReport[] = [];
      const rejected: RejectedLine[] = [];
      const reads: FileRead[] = [];
      let passages = -1;
      for (const file of options.files) {
        const { name, path, size } = await localFile(file, folder, adder.signal);
        // What was fetched is read whole: it is not kept, so what follows is no more than what is there again.
        const bookmark = name === path ? await bookmarkOf(context, projectId, path, size) : undefined;
        const known = options.format === undefined || options.format === bookmark?.format ? bookmark : undefined;
        const { report, read } = await readFile({
          ...options,
          name,
          path,
          size,
          bookmark: known,
          limits: { memoryLimit: '200MB', tempDirectory: join(folder, 'rows') },
          batches,
          onDeletion: () => (hasDeletions = true),
          passage: () => (passages += 1),
          rejected: await rejectedLines(name, options.rejectedFolder, rejected, known?.lines),
          onRecords: (bytes, { events, bad }) =>
            options.onProgress?.({
              bytes: sum(files, 'bytes') + bytes,
              totalBytes: sizes.reduce((total, size) => total + size, 0),
              events: sum(files, 'events') + events,
              bad: sum(files, 'bad') + bad,
            }),
        });
        files.push(report);
        if (name !== path) await rm(path, { force: true });
        else if (read !== undefined) reads.push(read);
      }
      const { published, known, forgotten, knownHours, refused } = await batches.end();
      // Before the bookmarks: who repeats an import that died reads its deletions again.
      await forget();
      for (const read of reads) await keepBookmark(context, projectId, read);
      const rowsOf = (model: Model): number => ofModel(published, model).reduce((rows, file) => rows + file.rows, 0);
      return {
        files,
        events: sum(files, 'events'),
        added: rowsOf('events'),
        known,
        forgotten,
        persons: { read: sum(files, 'persons'), rows: rowsOf('persons'), refused: countRefused(refused) },
        bad: sum(files, 'bad'),
        rejected,
        arrival: arrivalOf(ofModel(published, 'events')),
        hours: {
          events: hoursOf(ofModel(published, 'events'), knownHours.events),
          persons: hoursOf(ofModel(published, 'persons'), knownHours.persons),
        },
      };
    });
    try {
      return await added;
    } finally {
      // One that fails, or is stopped, has added some of it.
      await forget();
    }
  };
  return asImport(context, projectId, work, { stop: options.stop });
}

/**
 * Brings a file to this machine, into a folder, if it is elsewhere. Throws the signal's reason on abort, and a failure
 * that names the path where no file is.
 */
export async function localFile(file: ImportFile, folder: string, signal: AbortSignal) {
  if (typeof file === 'string') return { name: file, path: file, size: await sizeOf(file) };
  const path = join(folder, 'fetched');
  await file.save(path, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
  return { name: file.name, path, size: (await stat(path)).size };
}

async function sizesOf(files: readonly ImportFile[]): Promise<number[]> {
  const sizes: number[] = [];
  for (const file of files) sizes.push(typeof file === 'string' ? await sizeOf(file) : file.size);
  return sizes;
}

async function sizeOf(file: string): Promise<number> {
  const found = await orNoFile(stat(file));
  if (found === undefined) fail('not_found', `There is no file ${file}.`);
  if (!found.isFile()) fail('validation', `${file} is not a file.`);
  return found.size;
}

const sum = (files: readonly FileReport[], field: 'bytes' | 'events' | 'persons' | 'bad'): number =>
  files.reduce((total, file) => total + file[field], 0);

interface Reading extends ImportOptions {
  /** Of the file, as reports call it. */
  readonly name: string;
  readonly path: string;
  readonly size: number;
  /** How far it was read before; undefined: it is read whole. */
  readonly bookmark: Bookmark | undefined;
  readonly batches: BatchWriter;
  readonly rejected: Rejected;
  readonly limits: DatabaseLimits;
  /** It is called for each record that deletes a person. */
  readonly onDeletion: () => void;
  /** Returns a number of its own for each time that a file is read: equal lines are counted within it. */
  readonly passage: () => number;
  readonly onRecords: (bytes: number, count: Pick<FileReport, 'events' | 'bad'>) => void;
}

interface FileOutcome {
  readonly report: FileReport;
  /** For its bookmark; undefined where it cannot be read on later. */
  readonly read: FileRead | undefined;
}

/** Before any event. */
const BEGINNING: RestartPlace = { offset: 0, lines: 0, after: Number.NEGATIVE_INFINITY };

/** Reads a file from where its bookmark says, or further back if an older line comes. */
async function readFile(reading: Reading): Promise<FileOutcome> {
  for (const from of reading.bookmark?.restarts ?? []) {
    const outcome = await readFrom(from, reading);
    if (outcome !== undefined) return outcome;
  }
  return (await readFrom(BEGINNING, reading)) as FileOutcome;
}

/** Undefined: a line came that is older than the place allows. What was read until then adds nothing when read again. */
async function readFrom(from: RestartPlace, reading: Reading): Promise<FileOutcome | undefined> {
  const { path, bookmark, batches, rejected, projectId, mapping = {} } = reading;
  const n = reading.passage();
  const source = await openSource({ ...reading, ...(bookmark && { format: bookmark.format }), mapping, from });
  const count = { events: 0, persons: 0, bad: 0, blank: 0 };
  let newest = from.after;
  const passed: RestartPlace[] = (bookmark?.restarts ?? []).filter(({ offset }) => offset <= from.offset).toReversed();

  /** Why the record cannot be imported; undefined: it was taken. */
  const take = ({ content, identity }: SourceRecord): string | undefined => {
    if (content === null) {
      count.blank += 1;
      return undefined;
    }
    if (typeof content === 'string') return content;
    const uuid = content.uuid ?? contentUuid(`${projectId} ${identity}`);
    const own = content.uuid !== null || content.event === null;
    if (!batches.add({ ...content, uuid, own, file: n })) return 'too large as JSON';
    if (deletesPerson(content.personChange)) reading.onDeletion();
    count[content.event === null ? 'persons' : 'events'] += 1;
    newest = Math.max(newest, content.timestamp);
    return undefined;
  };
  const isNew = ({ line }: SourceRecord): boolean => line.number > (bookmark?.lines ?? 0);
  const isTooOld = ({ content }: SourceRecord): boolean =>
    content !== null && typeof content !== 'string' && content.uuid === null && content.timestamp <= from.after;

  for await (const records of source.batches()) {
    for (const record of records) {
      if (isNew(record) && isTooOld(record)) return undefined;
      const reason = take(record);
      if (reason === undefined || !isNew(record)) continue;
      count.bad += 1;
      rejected.add(record.line, reason, source.header());
    }
    await rejected.flush();
    await batches.pass();
    reading.onRecords(source.bytesRead(), count);
    const place = source.place();
    if (place !== undefined && Number.isFinite(newest)) passed.push({ ...place, after: newest });
  }
  const end = source.place();
  const found = source.format();
  return {
    report: {
      file: reading.name,
      format: found,
      bytes: source.bytesRead(),
      ...(from.offset > 0 ? { from: from.offset } : {}),
      ...count,
      problem: [source.problem(), rejected.problem()].filter((one) => one !== undefined).join('; ') || null,
      rejected: rejected.path() ?? null,
    },
    read:
      end === undefined || found === null
        ? undefined
        : { path, format: found, size: source.bytesRead(), end, passed, newest },
  };
}

function arrivalOf(files: readonly LakeFile[]): ArrivalRange | null {
  if (files.length === 0) return null;
  return { from: firstOf(files, 'min_arrival'), to: lastOf(files, 'max_arrival') };
}

/** These hours, and those that hold rows of these files, neighbours joined. */
function hoursOf(files: readonly LakeFile[], known: readonly number[]): ArrivalHours[] {
  const firsts = new Map<number, number>();
  for (const { start } of files.flatMap(arrivalsOf)) {
    const hour = Math.floor(start / HOUR_MS) * HOUR_MS;
    firsts.set(hour, Math.min(firsts.get(hour) ?? Infinity, start));
  }
  // Of what was known already no more than its hour is known.
  for (const hour of known) firsts.set(hour * HOUR_MS, hour * HOUR_MS);
  const found: { from: number; to: number; first: number }[] = [];
  for (const [from, first] of [...firsts].toSorted(([a], [b]) => a - b)) {
    const last = found.at(-1);
    if (last?.to === from) last.to = from + HOUR_MS;
    else found.push({ from, to: from + HOUR_MS, first });
  }
  return found;
}
