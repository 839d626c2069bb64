import type { Readable } from 'node:stream';

export interface ListedFile {
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** Milliseconds since 1970; in a bucket that of a whole second. */
  readonly writtenAt: number;
}

/**
 * The port to files: those that a run keeps until it is delivered (plan, receipts, unloaded files), and under another
 * root the lake. A path is relative, `/`-separated, made of the lake's and the runs' own names (never a caller's text).
 * A written file is durable and whole, or not there.
 */
export interface FileStore {
  /** The address of all files: that of every one begins with it. */
  readonly root: string;
  /** Returns the bytes, undefined when there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** Writes or replaces a file. */
  write(path: string, content: string | Uint8Array | Readable): Promise<void>;
  /** Lists the file of this path, or all below it as a folder (`''`: all), in byte order. */
  list(path: string): AsyncIterable<ListedFile>;
  /** Moves a file; fine when it has been moved before (the target is there). */
  move(from: string, to: string): Promise<void>;
  /** Takes a local file in, by rename where it can. */
  take(localFile: string, path: string): Promise<void>;
  /**
   * Copies a file to a local place, which is replaced. Rejects when there is no such file, and with the signal's reason on
   * abort; then a part of it may be there.
   */
  save(path: string, localFile: string, signal?: AbortSignal): Promise<void>;
  /**
   * Returns the addresses, in the order of the paths, by which a program on this machine can read the files: their own,
   * or those of copies below a folder of the local disk, made once. Rejects when a file is not there.
   */
  local(paths: readonly string[], folder: string): Promise<string[]>;
  /** Removes the file of this path, or the folder with all below it; fine when nothing is there. */
  remove(path: string): Promise<void>;
  /** Removes the files of these paths, none of them a folder, together; fine when one is gone. */
  removeFiles(paths: readonly string[]): Promise<void>;
  /** Returns the address by which the warehouse reads the file: an absolute path, or `s3://bucket/key`. */
  address(path: string): string;
}
