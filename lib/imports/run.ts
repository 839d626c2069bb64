/** Runs an import by request: with the importer of the command line, in a process of its own. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { noteEvents } from '../accounts/organizations/projects/store.ts';
import { type ImportOptions, type ImportProgress, type ImportReport, importEvents } from '../lake/import/import.ts';
import type { LakeWriter } from '../lake/lease.ts';
import type { FileStore } from '../ports/files/files.ts';
import type { ReadingOptions } from './model.ts';
import { joinParts, partsIn, rejectedOf, sizeOf, uploadGone } from './spool.ts';

export interface ImportTask {
  readonly project_id: number;
  readonly id: string;
  readonly bytes: number;
  readonly options: ReadingOptions;
  /** It was begun before: some of it may be in the lake. */
  readonly isAgain: boolean;
}

export interface ImportResult extends ImportReport {
  /** Of the copy of what was rejected. */
  readonly rejectedBytes: number;
}

interface RunOptions {
  readonly files: FileStore;
  /** On the local disk, and the caller's to remove. */
  readonly folder: string;
  readonly onProgress: (progress: ImportProgress) => void;
}

/** Imports as `importEvents` does, and has the project tell of it. */
export async function importNoted(context: LakeWriter, options: ImportOptions): Promise<ImportReport> {
  const report = await importEvents(context, options);
  if (report.added + report.known > 0) await noteEvents(context, options.projectId);
  return report;
}

/** Imports what was uploaded, and leaves nothing in the folder. Throws what `importEvents` does, and a 409 when it is gone. */
export async function runImport(
  context: LakeWriter,
  task: ImportTask,
  { files, folder, onProgress }: RunOptions,
): Promise<ImportResult> {
  const { project_id: projectId, options } = task;
  const parts = await partsIn(files, task);
  if (sizeOf(parts) !== task.bytes) uploadGone();
  // A worker's folder outlives a run: what is rejected now must not follow what another organization's run has left.
  const own = await mkdtemp(join(folder, 'import-'));
  try {
    const path = join(own, 'content');
    await joinParts(
      files,
      parts.map((part) => part.path),
      path,
    );
    const report = await importNoted(context, {
      ...options,
      isAgain: task.isAgain,
      projectId,
      files: [path],
      rejectedFolder: join(own, 'rejected'),
      onProgress,
    });
    const copy = report.files[0]?.rejected ?? null;
    if (copy === null) return { ...report, rejectedBytes: 0 };
    const { size: rejectedBytes } = await stat(copy);
    await files.take(copy, rejectedOf(task));
    return { ...report, rejectedBytes };
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}
