/** Files that are taken from the worker that forms them before their receiver asks: one that is slow holds up nobody else. */
import { mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FILE_BYTES, type ReadAheadOptions } from '../workers/read-ahead.ts';
import type { FormedFile } from './warehouse.ts';

/**
 * Yields files that a worker hands over, in their order, each until the next one is asked for. They are moved out of its way,
 * so that it forms the next one or is done, as long as they have `fileBytes` in sum. Beyond that it waits; a file that alone
 * has more stays where it was formed. Who stops early has the source's signal aborted.
 */
export async function* filesAhead(
  source: (signal: AbortSignal) => AsyncIterable<FormedFile>,
  signal: AbortSignal,
  { folder, fileBytes = FILE_BYTES }: Pick<ReadAheadOptions, 'folder' | 'fileBytes'>,
): AsyncGenerator<FormedFile, undefined> {
  const own = await mkdtemp(join(folder, 'files-'));
  const left = new AbortController();
  const waiting: (FormedFile & { readonly size: number })[] = [];
  /** Of what waits or is on its way. */
  let bytes = 0;
  let isEnded = false;
  let change = Promise.withResolvers<void>();

  const tell = (): void => {
    change.resolve();
    change = Promise.withResolvers();
  };
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo() && !left.signal.aborted) await change.promise;
  };

  const fill = async (): Promise<void> => {
    let n = 0;
    for await (const file of source(AbortSignal.any([signal, left.signal]))) {
      const { size } = await stat(file.path);
      const isLarge = size > fileBytes;
      await until(() => bytes === 0 || bytes + size <= fileBytes);
      if (left.signal.aborted) return;
      const path = isLarge ? file.path : join(own, String(n++));
      if (!isLarge) await rename(file.path, path);
      waiting.push({ ...file, path, size });
      bytes += size;
      tell();
      if (isLarge) await until(() => bytes === 0);
    }
  };

  const filled = fill().finally(() => {
    isEnded = true;
    tell();
  });
  // Its failure is met after the files that came before it.
  filled.catch(() => {});
  try {
    for (;;) {
      await until(() => waiting.length > 0 || isEnded);
      const next = waiting.shift();
      if (next === undefined) {
        await filled;
        return;
      }
      const { size, ...file } = next;
      yield file;
      await rm(file.path, { force: true });
      bytes -= size;
      tell();
    }
  } finally {
    left.abort(new Error('nobody takes the rest'));
    tell();
    await filled.catch(() => {});
    await rm(own, { recursive: true, force: true });
  }
}
