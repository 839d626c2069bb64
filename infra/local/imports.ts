import { join } from 'node:path';
import { MINUTE_MS } from '../../lib/basics/units.ts';
import type { ImportResult } from '../../lib/imports/run.ts';
import { ImportRunner } from '../../lib/imports/runner.ts';
import type { ImportProgress } from '../../lib/lake/import/import.ts';
import type { Context } from '../../lib/ports/context.ts';
import { poolIn } from './data/data-workers.ts';
import type { ImportWorkerOptions } from './workers/import-worker.ts';

/** As many as the runner begins. An import of a million events that all change persons has 680 MB. */
const IMPORT_TURNS = { atOnce: 2, each: 1 };
const IMPORT_MEMORY_MB = { each: 1_000, all: 1_500 };
/** It says every second how far it is, but while DuckDB has the process. */
const IMPORT_SILENCE_MS = 10 * MINUTE_MS;

/** Opens what runs the imports of a data directory by request, each in a process of its own. */
export function openImports(
  { table, clock, log, imports, settings }: Pick<Context, 'table' | 'clock' | 'log' | 'imports' | 'settings'>,
  folder: string,
): { pass(): Promise<void>; close(): Promise<void> } {
  if (imports === null) throw new Error('a data directory takes imports');
  const { historyDays } = settings;
  const workers = poolIn(folder, log, {
    program: join(import.meta.dirname, 'workers/import-worker.ts'),
    options: { home: folder, settings: { historyDays } } satisfies ImportWorkerOptions,
    what: 'Importing the file',
    turns: IMPORT_TURNS,
    memory: IMPORT_MEMORY_MB,
    silenceMs: IMPORT_SILENCE_MS,
  });
  const runner = new ImportRunner({
    table,
    clock,
    log,
    files: imports.files,
    run: async (task, { organization, signal, onProgress }) => {
      const steps = workers.stream({ name: 'import', input: task, owner: organization, signal });
      try {
        for (;;) {
          const step = await steps.next();
          if (step.done === true) return step.value as ImportResult;
          await onProgress((JSON.parse(step.value.toString()) as ImportProgress | null) ?? undefined);
        }
      } finally {
        // Until then it has its organization's turn, and the worker.
        await steps.return(undefined);
      }
    },
  });
  return {
    pass: () => runner.pass(),
    close: async () => {
      await runner.close();
      await workers.close();
    },
  };
}
