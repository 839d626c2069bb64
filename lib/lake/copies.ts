/** Copies of files of the lake on a small disk: fetched when they are wanted, kept for the next who want them. */
import { mkdirSync, rmSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FileStore } from '../ports/files/files.ts';
import { partsOf } from '../ports/files/path.ts';
import { lineOf } from '../workers/turns.ts';

/** A file of the lake, by what its row says of it. */
export interface CopiedFile {
  readonly path: string;
  readonly bytes: number;
}

export interface LakeCopies {
  /** Below it each file lies under its own path. */
  readonly folder: string;
  /**
   * Fetches those that are not there, side by side; of the others the least recently wanted go. On abort it fetches no
   * more, and rejects with the signal's reason; what has come whole by then stays.
   */
  fetch(files: readonly CopiedFile[], signal: AbortSignal): Promise<void>;
  /** These were read: they go last. */
  used(paths: Iterable<string>): void;
  /** Forgets a copy that is not what was written. */
  drop(path: string): Promise<void>;
}

/** Files of the lake that are fetched at the same time: one alone is slower than the network. */
const FETCHED_AT_ONCE = 12;

interface LakeCopiesOptions {
  readonly lake: Pick<FileStore, 'save'>;
  /** Nobody else's: what is in it goes. */
  readonly folder: string;
  /** All copies together have about so many bytes: more only while one call wants more. */
  readonly mostBytes: number;
}

export function lakeCopies({ lake, folder, mostBytes }: LakeCopiesOptions): LakeCopies {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  /** Those used last at the end. */
  const kept = new Map<string, number>();
  let bytes = 0;

  const placeOf = (path: string): string => join(folder, ...partsOf(path));
  const drop = async (path: string): Promise<void> => {
    bytes -= kept.get(path) ?? 0;
    kept.delete(path);
    await rm(placeOf(path), { force: true });
  };
  const used = (paths: Iterable<string>): void => {
    for (const path of paths) {
      const size = kept.get(path);
      if (size === undefined) continue;
      kept.delete(path);
      kept.set(path, size);
    }
  };
  /** Makes room for so many bytes, but for these files. */
  const makeRoom = async (wanted: number, but: ReadonlySet<string>): Promise<void> => {
    for (const path of kept.keys()) {
      if (bytes + wanted <= mostBytes) return;
      if (!but.has(path)) await drop(path);
    }
  };

  return {
    folder,
    used,
    drop,
    fetch: async (files, signal) => {
      const wanted = new Map(files.map((file) => [file.path, file]));
      used(wanted.keys());
      const missing = [...wanted.values()].filter(({ path }) => !kept.has(path));
      await makeRoom(
        missing.reduce((sum, file) => sum + file.bytes, 0),
        new Set(wanted.keys()),
      );
      const inLine = lineOf(FETCHED_AT_ONCE);
      const fetched = await Promise.allSettled(
        missing.map((file) =>
          inLine(async () => {
            const place = placeOf(file.path);
            const part = `${place}.part`;
            await mkdir(dirname(place), { recursive: true });
            try {
              await lake.save(file.path, part, signal);
              await rename(part, place);
            } catch (error) {
              // Nobody counts its bytes.
              await rm(part, { force: true });
              throw error;
            }
            kept.set(file.path, file.bytes);
            bytes += file.bytes;
          }, signal),
        ),
      );
      signal.throwIfAborted();
      for (const one of fetched) if (one.status === 'rejected') throw one.reason;
    },
  };
}
