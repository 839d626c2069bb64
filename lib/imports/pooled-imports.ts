/** Imports whose files lie in a store, and whose first records a process of its own reads. */
import { dirname } from 'node:path';
import type * as z from 'zod';
import { fail } from '../ports/errors.ts';
import { freeBytesAt } from '../ports/files/free-bytes.ts';
import { WorkerLost, type WorkerPool } from '../workers/pool.ts';
import { failFull, LineFull } from '../workers/turns.ts';
import type { Imports } from './imports.ts';
import type { Preview } from './model.ts';

/** Reads first records by a pool whose workers have the task `preview`. The store of files is in a folder that is there. */
export const pooledImports = (
  { files, rejected }: Pick<Imports, 'files' | 'rejected'>,
  pool: Pick<WorkerPool, 'run'>,
): Imports => ({
  files,
  rejected,
  freeBytes: () => freeBytesAt(dirname(files.root)),
  preview: async (asked, owner, user) => {
    try {
      return (await pool.run({ name: 'preview', input: asked, owner, user })) as z.input<typeof Preview>;
    } catch (error) {
      if (error instanceof LineFull) failFull('Too many files wait to be read.');
      if (error instanceof WorkerLost)
        fail(
          'unavailable',
          'The first records could not be read at the moment. The file can be imported all the same.',
        );
      throw error;
    }
  },
});
