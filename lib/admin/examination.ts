/** Reads all that is kept, and compares it with what was written. Works beside the running service. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../basics/text.ts';
import { unsealed } from '../exports/runs/run-files.ts';
import { allFiles } from '../lake/catalog.ts';
import { type FileDigest, intactCopies, intactFiles } from '../lake/intact.ts';
import { checkPending } from '../lake/pending.ts';
import { snapshotFiles } from '../lake/persons/states.ts';
import { MODELS } from '../lake/schema.ts';
import type { Context } from '../ports/context.ts';
import { inWords, isDiskBroken, UNREADABLE } from '../ports/disk-failures.ts';
import { Damaged, Transient } from '../ports/errors.ts';
import type { Progress } from './progress.ts';

/** What is not as it was written. */
export interface Problem {
  /** Below the data directory: `lake/events/…`, `runs/…`, `inbox/…`; of a stage, the same in its buckets. */
  readonly path: string;
  readonly problem: string;
}

interface Examination {
  readonly lake_files: number;
  readonly lake_bytes: number;
  /** Files of the lake that are older than digests: only their sizes were compared. */
  readonly without_digest: number;
  readonly run_files: number;
  readonly problems: readonly Problem[];
}

/** Who tells what is wrong with what only a data directory has. */
export interface Examiners {
  /** Reads the whole table, and tells what is wrong with it in SQLite's words. */
  tableProblems(): string[];
  /** Of the key of the stored credentials. */
  vaultProblems(): Promise<Problem[]>;
  /** Reads all events that are not in the lake yet. */
  inboxProblems(): Promise<Problem[]>;
}

/** What is examined here, and those who examine the rest, as far as there are some: a stage has none. */
export type Examined = Pick<Context, 'table' | 'lake' | 'runFiles'> & Partial<Examiners>;

type LakePart = FileDigest & { readonly path: string };

/**
 * Examines the files of these projects, those of all runs, the table and the inbox. What of a damaged table cannot be read
 * names no files.
 */
export async function examine(
  context: Examined,
  projectsOf: () => Promise<readonly number[]>,
  progress: Progress,
): Promise<Examination> {
  const problems: Problem[] = (context.tableProblems?.() ?? []).map((problem) => ({ path: 'workspace.db', problem }));
  const isTableDamaged = problems.length > 0;
  const named = async <T>(reading: Promise<readonly T[]>): Promise<readonly T[]> =>
    reading.catch((error) => {
      if (isTableDamaged) return [];
      throw error;
    });
  problems.push(...((await context.vaultProblems?.()) ?? []));
  const files: LakePart[] = [];
  for (const project of await named(projectsOf())) {
    const damaged = await problemOf(checkPending(context, project));
    if (damaged !== undefined) problems.push({ path: `lake/${damaged.path}`, problem: damaged.how });
    const theirs = await named(filesOf(context, project));
    files.push(...theirs);
    for (const { path, problem } of await examineLake(context, theirs, progress)) {
      // A snapshot of persons may have been replaced meanwhile.
      const isStillNamed = isTableDamaged || (await filesOf(context, project)).some((file) => file.path === path);
      if (isStillNamed) problems.push({ path: `lake/${path}`, problem });
    }
  }
  const runFiles = await examineRunFiles(context, problems);
  problems.push(...((await context.inboxProblems?.()) ?? []));
  return {
    lake_files: files.length,
    lake_bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    without_digest: files.filter(({ sha256 }) => sha256 === undefined).length,
    run_files: runFiles,
    problems,
  };
}

const filesOf = async ({ table }: Examined, project: number): Promise<LakePart[]> => [
  ...(await Promise.all(MODELS.map((model) => allFiles(table, project, model)))).flat(),
  ...(await snapshotFiles(table, project)),
];

/** Returns what is wrong with the file that the work has read. Throws what may pass: that says nothing of the file. */
async function problemOf(work: Promise<unknown>, path = ''): Promise<{ path: string; how: string } | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof Damaged) return error;
    if (inWords(error) instanceof Transient) throw error;
    return { path, how: messageOf(error) };
  }
}

async function examineLake({ lake }: Examined, files: readonly LakePart[], progress: Progress): Promise<Problem[]> {
  const isIntact = intactFiles();
  // Made only where the lake is not on this machine.
  const folder = join(tmpdir(), `doctor-${randomUUID()}`);
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const problems: Problem[] = [];
  let done = 0;
  try {
    for (const file of files) {
      const damaged = await problemOf(intactCopies(lake, isIntact, [file], folder), file.path);
      if (damaged !== undefined) problems.push({ path: file.path, problem: damaged.how });
      // Of a lake that is not on this machine there is one copy at a time.
      await rm(folder, { recursive: true, force: true });
      done += file.bytes;
      progress.update(done, total, file.path);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return problems;
}

/** Returns the number of files. Those that Athena has written for a run are compared by S3 itself. */
async function examineRunFiles({ runFiles }: Examined, problems: Problem[]): Promise<number> {
  let count = 0;
  for await (const { path } of runFiles.list('')) {
    if (!path.endsWith('.json')) continue;
    const damaged = await problemOf(checkRunFile(runFiles, path), path);
    if (damaged !== undefined) problems.push({ path: `runs/${path}`, problem: damaged.how });
    count += 1;
  }
  return count;
}

async function checkRunFile(runFiles: Examined['runFiles'], path: string): Promise<void> {
  // Its run may have ended meanwhile.
  const text = await runFiles.read(path).catch((error) => {
    throw isDiskBroken(error) ? new Damaged(path, UNREADABLE) : error;
  });
  if (text !== undefined && unsealed(text.toString()) === undefined)
    throw new Damaged(path, 'it is not what was written');
}

/** What was found, for a person. */
export function examinationText(found: Examination): string {
  const { lake_files, lake_bytes, without_digest, run_files, problems } = found;
  const megabytes = (lake_bytes / 1e6).toLocaleString('en', { maximumSignificantDigits: 3 });
  return [
    `Files read: ${lake_files.toLocaleString('en')} of the lake (${megabytes} MB), ${run_files} of runs.`,
    ...(without_digest === 0
      ? []
      : [`${without_digest} of the lake's are older than digests: only their sizes are known.`]),
    ...(problems.length === 0 ? ['All is as it was written.'] : [`${problems.length} damaged:`]),
    ...problems.map(({ path, problem }) => `  ${path}: ${problem}`),
  ].join('\n');
}
