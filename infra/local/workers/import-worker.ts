/** The program of the worker that imports what was uploaded: it opens the data directory beside the service. */
import { setTimeout } from 'node:timers/promises';
import { SECOND_MS } from '../../../lib/basics/units.ts';
import type { PreviewTask } from '../../../lib/imports/imports.ts';
import { previewOf } from '../../../lib/imports/preview.ts';
import { type ImportResult, type ImportTask, runImport } from '../../../lib/imports/run.ts';
import { lakeDatabases } from '../../../lib/lake/databases.ts';
import type { ImportProgress } from '../../../lib/lake/import/import.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS, type Settings } from '../../../lib/ports/settings.ts';
import { serveTasks } from '../../../lib/workers/serve.ts';
import { importsIn, openStores } from '../data/data-stores.ts';

/** How often it is told how far an import is. */
const TOLD_MS = SECOND_MS;

export interface ImportWorkerOptions {
  /** The data directory. */
  readonly home: string;
  /** The service's, where they are not the defaults. */
  readonly settings?: Partial<Settings>;
}

void serveTasks<ImportWorkerOptions>(async ({ folder, options: { home, settings } }) => {
  const log = logTo((line) => process.stderr.write(`${JSON.stringify(line)}\n`), Date.now);
  const stores = openStores(home, { ...LOCAL_SETTINGS, ...settings }, log);
  const context = { ...stores, databases: lakeDatabases(stores.lake, { folder }) };
  const files = folderFiles(importsIn(home));
  return {
    preview: (task: PreviewTask) => previewOf(files, task, folder),
    import: async function* (task: ImportTask): AsyncGenerator<Uint8Array, ImportResult> {
      let progress: ImportProgress | undefined;
      const onProgress = (now: ImportProgress): void => {
        progress = now;
      };
      const done = runImport(context, task, { files, folder, onProgress });
      // Who waits for it is told of its failure below.
      done.catch(() => {});
      for (;;) {
        const ended = await Promise.race([done.then(() => true), setTimeout(TOLD_MS, false)]);
        if (ended) return done;
        yield Buffer.from(JSON.stringify(progress ?? null));
      }
    },
  };
});
