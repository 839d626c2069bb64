import type { Context } from '../../../lib/ports/context.ts';
import { noteDataLayout } from '../../../lib/ports/table/data-layout.ts';

/**
 * Returns what notes in the table, once in the life of a function, in which layout this version writes it. It never throws:
 * what could not be noted is noted by the next call.
 */
export function layoutNote({ table, log }: Pick<Context, 'table' | 'log'>): () => Promise<void> {
  let isNoted = false;
  return async () => {
    if (isNoted) return;
    try {
      await noteDataLayout(table);
      isNoted = true;
    } catch (error) {
      log.error('the layout of the data could not be noted', { error });
    }
  };
}
