/**
 * Import of events and persons from files: web server logs, JSON lines, CSV and Parquet, and what the public product's
 * batch exports have written. Safe to repeat, beside the running service, in a process of its own: what is in the lake
 * already adds nothing.
 *
 * Which event a record is: one that carries its own uuid is the same as another with that uuid and timestamp. Any other
 * gets a uuid made of the project, the record (of a line its text, of a row its fields) and how many equal ones its file
 * has before it. So the same file twice adds nothing, a file that has grown adds its new records, and two files that
 * hold equal ones hold the same events. Of a person what is not newer than known adds nothing.
 */
import { hash } from 'node:crypto';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProjectItem } from '../../accounts/organizations/model.ts';
import type { DatabaseLimits } from '../../duckdb/database.ts';
import type { BatchExportItem, Model, PlanItem } from '../../exports/records/model.ts';
import { planOf, type Range } from '../../exports/runs/plan.ts';
import { fail } from '../../ports/errors.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { type Arrived, historyEnd } from '../arrival.ts';
import {
  allFiles,
  type LakeFile,
  type Lease,
  type PublishedFile,
  type Publishing,
  publish,
  underLease,
} from '../lake.ts';
import { openPersonStates, type PersonStates } from '../persons/states.ts';
import { type ImportFormat, openSource } from '../sources/open.ts';
import type { SourceRecord } from '../sources/record.ts';
import { checkMapping, type TableMapping } from '../sources/table-rows.ts';
import { type Rejected, type RejectedLine, rejectedLines } from './rejected.ts';
import { LONGEST_ROW, type Overlapping, openStaging, type StagedRow, type Staging, stagedLine } from './staging.ts';

export interface ImportOptions {
  readonly projectId: number;
  readonly files: readonly string[];
  /** Default: told for each file by how it begins. */
  readonly format?: ImportFormat;
  /** How tables (CSV, Parquet) are read. Default: by the names of their columns. */
  readonly mapping?: TableMapping;
  /** Default: `then` for history, `now` for all else. */
  readonly arrived?: 'now' | 'then';
  /** Records that are bad are copied to a file in here, which is made when there is one. */
  readonly rejectedFolder: string;
  /**
   * For the import's own temporary files: some 500 bytes for each of a million rows, and of a lake that is not on this
   * machine copies of the files that may hold the same events. Default: the system's.
   */
  readonly temporaryFolder?: string;
  readonly onProgress?: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  /** Of the files as they lie, read so far, and in all. */
  readonly bytes: number;
  readonly totalBytes: number;
  readonly events: number;
  readonly bad: number;
}

/** What became of one file. `events`, `persons`, `bad` and `blank` records are all that it has; a header is blank. */
export interface FileReport {
  readonly file: string;
  /** Null: it could not be told. */
  readonly format: ImportFormat | null;
  /** Of the file as it lies, as far as it was read. */
  readonly bytes: number;
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
  /** Events that were there already, or twice in these files. */
  readonly known: number;
  readonly bad: number;
  /** What files said, and events changed, of persons. */
  readonly persons: PersonReport;
  /** The first 20 bad records. */
  readonly rejected: readonly RejectedLine[];
  /** Arrival of the first and the last event that was added, milliseconds; null when none was. */
  readonly arrival: Range | null;
  /** Intervals that were exported before and have got events now: only a backfill of them delivers these. */
  readonly backfills: readonly NeededBackfill[];
}

export interface PersonReport {
  /** Records that are states of persons, in all files. */
  readonly read: number;
  /** Rows that were added to the model `persons`: states of a distinct_id. */
  readonly rows: number;
  /** Changes that were not made: merges that may not be, properties that grow over 512 KiB. */
  readonly refused: number;
}

/** Milliseconds, rounded outward to hours; a backfill rounds them to its export's interval. */
export interface NeededBackfill extends Range {
  readonly export: string;
  readonly name: string;
}

/** A batch: this many rows, or bytes while it is staged, or milliseconds of reading, or what its rows weigh. */
const BATCH = { rows: 1_000_000, bytes: 512 * 1024 * 1024, time: 60_000, weight: 256e9 };

/**
 * What sorts rows holds some thousands of neighbours at a time, so the longer they are, the fewer bytes a batch may
 * have. The weight is bytes times length: 500 MB of rows of 500 bytes, 128 MB of 2 kB, 25 MB of 10 kB; from 16 kB on
 * length counts no more, so that a few of the longest go together: 16 MB.
 */
const weightOf = (length: number): number => length * Math.min(length, 16_000);
/** Staged rows go to the disk in writes of this many characters. */
const WRITE = 1024 * 1024;
const BYTES_OF_A_CHARACTER = 3;

/**
 * Imports files into a project. Throws `Failure` for an unknown project or a file that is not there (before anything
 * is read), `ImportUnderWay` while another import into it runs. Whatever the files hold, it does not throw.
 */
export async function importEvents(context: Publishing, options: ImportOptions): Promise<ImportReport> {
  const { projectId } = options;
  const project = (await context.table.get(keys.project(projectId))) as ProjectItem | undefined;
  if (project === undefined || project.deleted_at !== null) fail('not_found', `There is no project ${projectId}.`);
  checkMapping(options.mapping ?? {});
  const sizes = await sizesOf(options.files);
  return underLease(context, projectId, async (lease) => {
    const folder = await mkdtemp(join(options.temporaryFolder ?? tmpdir(), 'import-'));
    const staging = await openStaging(folder, projectId);
    const door = await openDoor(context, lease, staging, options.arrived ?? 'auto', folder);
    try {
      const files: FileReport[] = [];
      const rejected: RejectedLine[] = [];
      for (const [n, file] of options.files.entries()) {
        const report = await readFile(file, n, sizes[n] as number, {
          ...options,
          limits: { memoryLimit: '200MB', tempDirectory: join(folder, 'rows') },
          door,
          rejected: await rejectedLines(file, options.rejectedFolder, rejected),
          onRecords: (bytes, { events, bad }) =>
            options.onProgress?.({
              bytes: sum(files, 'bytes') + bytes,
              totalBytes: sizes.reduce((total, size) => total + size, 0),
              events: sum(files, 'events') + events,
              bad: sum(files, 'bad') + bad,
            }),
        });
        files.push(report);
      }
      const { published, known, refused } = await door.end();
      const rowsOf = (model: Model): number => ofModel(published, model).reduce((rows, file) => rows + file.rows, 0);
      return {
        files,
        events: sum(files, 'events'),
        added: rowsOf('events'),
        known,
        persons: { read: sum(files, 'persons'), rows: rowsOf('persons'), refused },
        bad: sum(files, 'bad'),
        rejected,
        arrival: arrivalOf(ofModel(published, 'events')),
        backfills: await neededBackfills(context, project, published),
      };
    } finally {
      await door.settled();
      staging.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
}

const ofModel = (files: readonly PublishedFile[], model: Model): PublishedFile[] =>
  files.filter((file) => file.model === model);

async function sizesOf(files: readonly string[]): Promise<number[]> {
  const sizes: number[] = [];
  for (const file of files) {
    const found = await stat(file).catch(() => undefined);
    if (found === undefined) fail('not_found', `There is no file ${file}.`);
    if (!found.isFile()) fail('validation', `${file} is not a file.`);
    sizes.push(found.size);
  }
  return sizes;
}

const sum = (files: readonly FileReport[], field: 'bytes' | 'events' | 'persons' | 'bad'): number =>
  files.reduce((total, file) => total + file[field], 0);

/** Where rows go: into a batch, and when that is full through the lake's door, while the next one is filled. */
interface Door {
  /** False: the row is too large. */
  add(row: Omit<StagedRow, 'row'>): boolean;
  /** Lets the door write, or start a batch on its way. Throws when an earlier one has failed. */
  pass(): Promise<void>;
  /** Sees all batches through. */
  end(): Promise<{ published: readonly PublishedFile[]; known: number; refused: number }>;
  /** Waits for a batch that is on its way, and starts none. */
  settled(): Promise<void>;
}

async function openDoor(
  context: Publishing,
  lease: Lease,
  staging: Staging,
  arrived: Arrived,
  folder: string,
): Promise<Door> {
  const before = await allFiles(context.table, lease.projectId, 'events');
  const published: PublishedFile[] = [];
  let known = 0;
  let refused = 0;
  let persons: PersonStates | undefined;
  let underWay: Promise<void> = Promise.resolve();

  const copies = join(folder, 'copies');
  const overlapping: Overlapping = (min, max) => {
    const files = [...before, ...ofModel(published, 'events')].filter(
      (file) => file.min_timestamp <= max && file.max_timestamp >= min,
    );
    return context.lake.local(
      files.map(({ path }) => path),
      copies,
    );
  };

  const send = async (file: string): Promise<void> => {
    const batch = await staging.load(file, overlapping);
    await rm(file);
    known += batch.known;
    if (batch.rows === 0) return;
    if (batch.personChanges > 0) persons ??= await openPersonStates(context, lease, copies);
    const changing = batch.personChanges > 0 ? persons : undefined;
    let refusedNow = 0;
    const files = await publish(
      context,
      lease,
      async ({ at, live }, folder) => {
        const written = await staging.write({
          at,
          historyEnd: historyEnd(arrived, live, context.settings.historyDays),
          folder,
          lake: context.lake,
          ...(changing === undefined ? {} : { persons: changing }),
          signal: lease.signal,
        });
        refusedNow = written.refused;
        return written.files;
      },
      changing?.newest(),
    );
    refused += refusedNow;
    published.push(...files);
    if (changing === undefined) return;
    changing.add(files);
    await staging.renew(changing);
  };

  let lines = '';
  let total = 0;
  let batch = { number: 0, rows: 0, bytes: 0, weight: 0, began: context.clock() };
  const path = (): string => join(folder, `batch-${batch.number}`);

  const write = async (): Promise<void> => {
    const text = Buffer.from(lines);
    lines = '';
    const file = await open(path(), 'a');
    await file.writeFile(text);
    await file.close();
    batch.bytes += text.length;
  };

  const cut = async (): Promise<void> => {
    if (batch.rows === 0) return;
    await write();
    await underWay;
    underWay = send(path());
    underWay.catch(() => {});
    batch = { number: batch.number + 1, rows: 0, bytes: 0, weight: 0, began: context.clock() };
  };

  return {
    add: (row) => {
      const line = stagedLine({ ...row, row: total });
      if (line.length > LONGEST_ROW / BYTES_OF_A_CHARACTER) return false;
      lines += `${line}\n`;
      total += 1;
      batch.rows += 1;
      batch.weight += weightOf(line.length);
      return true;
    },
    pass: async () => {
      lease.signal.throwIfAborted();
      if (lines.length >= WRITE) await write();
      const late = context.clock() - batch.began > BATCH.time;
      const isFull = (['rows', 'bytes', 'weight'] as const).some((limit) => batch[limit] >= BATCH[limit]);
      if (isFull || late) await cut();
    },
    end: async () => {
      await cut();
      await underWay;
      return { published, known, refused };
    },
    settled: () => underWay.catch(() => {}),
  };
}

interface Reading extends ImportOptions {
  readonly door: Door;
  readonly rejected: Rejected;
  readonly limits: DatabaseLimits;
  readonly onRecords: (bytes: number, count: Pick<FileReport, 'events' | 'bad'>) => void;
}

async function readFile(path: string, n: number, size: number, options: Reading): Promise<FileReport> {
  const { door, rejected, projectId, format, mapping = {}, limits } = options;
  const source = await openSource({ path, size, mapping, limits, ...(format === undefined ? {} : { format }) });
  const count = { events: 0, persons: 0, bad: 0, blank: 0 };

  /** Why the record cannot be imported; undefined: it was taken. */
  const take = ({ content, identity }: SourceRecord): string | undefined => {
    if (content === null) {
      count.blank += 1;
      return undefined;
    }
    if (typeof content === 'string') return content;
    const uuid = content.uuid ?? recordUuid(projectId, identity);
    const own = content.uuid !== null || content.event === null;
    if (!door.add({ ...content, uuid, own, file: n })) return 'too large as JSON';
    count[content.event === null ? 'persons' : 'events'] += 1;
    return undefined;
  };

  for await (const records of source.batches()) {
    for (const record of records) {
      const reason = take(record);
      if (reason === undefined) continue;
      count.bad += 1;
      rejected.add(record.line, reason, source.header());
    }
    await rejected.flush();
    await door.pass();
    options.onRecords(source.bytesRead(), count);
  }
  return {
    file: path,
    format: source.format(),
    bytes: source.bytesRead(),
    ...count,
    problem: source.problem() ?? null,
    rejected: rejected.path() ?? null,
  };
}

/** A uuid of version 8, made of a SHA-256. */
function recordUuid(projectId: number, identity: string): string {
  const hex = hash('sha256', `${projectId} ${identity}`, 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const HOUR = 3_600_000;

function arrivalOf(files: readonly LakeFile[]): Range | null {
  if (files.length === 0) return null;
  return {
    from: Math.min(...files.map((file) => file.min_arrival)),
    to: Math.max(...files.map((file) => file.max_arrival)),
  };
}

/** The hours that hold rows of these files, neighbours joined. */
function hoursOf(files: readonly LakeFile[]): Range[] {
  const starts = files.flatMap((file) => {
    const midnight = Math.floor(file.min_arrival / (24 * HOUR)) * 24 * HOUR;
    return (JSON.parse(file.hours) as number[]).flatMap((rows, hour) => (rows > 0 ? [midnight + hour * HOUR] : []));
  });
  const found: { from: number; to: number }[] = [];
  for (const from of [...new Set(starts)].toSorted((a, b) => a - b)) {
    const last = found.at(-1);
    if (last?.to === from) last.to = from + HOUR;
    else found.push({ from, to: from + HOUR });
  }
  return found;
}

/** Read after the last commit: what an export plans from now on sees the new rows. */
async function neededBackfills(
  { table }: Publishing,
  project: ProjectItem,
  published: readonly PublishedFile[],
): Promise<NeededBackfill[]> {
  if (published.length === 0) return [];
  const all = (await listAll(table, ranges.exportsOf(project.organization_id))) as BatchExportItem[];
  const exports = all.filter(({ team_id, deleted_at }) => team_id === project.id && deleted_at === null);
  const plans = (await table.many(exports.map(({ id }) => keys.plan(id)))) as (PlanItem | undefined)[];
  return exports.flatMap(({ id, name, model }, n) => {
    const item = plans[n];
    if (item === undefined) return [];
    const { ran, active } = planOf(item);
    const exported = [...ran, ...active];
    return hoursOf(ofModel(published, model))
      .filter(({ from, to }) => exported.some((range) => range.from < to && range.to > from))
      .map((range) => ({ export: id, name, ...range }));
  });
}
