/** Bytes that are taken from their maker before their reader asks: one that reads slowly holds up nobody else. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MIB, SECOND_MS } from '../basics/units.ts';

export interface ReadAheadOptions {
  /** Where what the reader has not asked for waits in a file. */
  readonly folder: string;
  /** What waits in memory. */
  readonly memoryBytes?: number;
  /** What waits on the disk at most; who makes more waits for the reader after all. */
  readonly fileBytes?: number;
  /** For so long the maker waits for a reader that is behind, before a file is made. */
  readonly patienceMs?: number;
}

/**
 * Yields the bytes of a source in their order, in parts of any length, and asks it for more while they are read. What fails
 * in the source is thrown at once; where a file cannot be written, the source waits. Who stops early has the source's
 * signal aborted.
 */
export async function* readAhead(
  source: (signal: AbortSignal) => AsyncIterable<Buffer>,
  signal: AbortSignal,
  options: ReadAheadOptions,
): AsyncGenerator<Buffer, undefined> {
  const left = new AbortController();
  const ahead = new Ahead(options);
  const filled = ahead.fill(source(AbortSignal.any([signal, left.signal])));
  try {
    for (let part = await ahead.next(); part !== undefined; part = await ahead.next()) yield part;
  } finally {
    ahead.stop();
    left.abort(new Error('nobody reads the rest'));
    await filled;
    await ahead.close();
  }
}

const MEMORY_BYTES = 4 * MIB;
/** So much of a delivery waits on the disk, unless something else is said. */
export const FILE_BYTES = 256 * MIB;
const PATIENCE_MS = 30 * SECOND_MS;
/** So much is read from the file at once. */
const PIECE_BYTES = MIB / 2;

class Ahead {
  readonly #options: Required<ReadAheadOptions>;
  readonly #held: Buffer[] = [];
  #heldBytes = 0;
  #file: FileHandle | undefined;
  #writtenBytes = 0;
  #readBytes = 0;
  /** The file takes nothing more. */
  #isFileFull = false;
  #isSlow = false;
  #patience: NodeJS.Timeout | undefined;
  #end: { readonly error?: unknown } | undefined;
  #isStopped = false;
  #change = Promise.withResolvers<void>();

  constructor({
    folder,
    memoryBytes = MEMORY_BYTES,
    fileBytes = FILE_BYTES,
    patienceMs = PATIENCE_MS,
  }: ReadAheadOptions) {
    this.#options = { folder, memoryBytes, fileBytes, patienceMs };
  }

  /** Takes all that the source gives, until it is stopped. Never rejects: the reader is told what fails. */
  async fill(source: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const part of source) {
        await this.#put(part);
        if (this.#isStopped) break;
      }
      this.#end = {};
    } catch (error) {
      this.#end = { error };
    }
    this.#tell();
  }

  /** Returns the next part; undefined at the end. Throws what the source has thrown. */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const { promise: change } = this.#change;
      const end = this.#end;
      if (end !== undefined && 'error' in end) throw end.error;
      const held = this.#held.shift();
      this.#heldBytes -= held?.length ?? 0;
      const part = held ?? (await this.#fromFile());
      if (part !== undefined) {
        this.#tell();
        return part;
      }
      if (end !== undefined) return undefined;
      this.#endToWait();
      await change;
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#tell();
  }

  async close(): Promise<void> {
    clearTimeout(this.#patience);
    await this.#file?.close();
  }

  async #put(part: Buffer): Promise<void> {
    while (!this.#isStopped && (this.#heldBytes >= this.#options.memoryBytes || this.#fileBytes > 0)) {
      const { promise: change } = this.#change;
      this.#beginToWait();
      if (this.#isSlow && (await this.#toFile(part))) return this.#tell();
      await change;
    }
    this.#held.push(part);
    this.#heldBytes += part.length;
    this.#tell();
  }

  #beginToWait(): void {
    this.#patience ??= setTimeout(() => {
      this.#isSlow = true;
      this.#tell();
    }, this.#options.patienceMs).unref();
  }

  /** The reader has caught up: the next time that it is behind it is waited for as long. */
  #endToWait(): void {
    if (this.#isSlow) return;
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }

  /** What of the file was not read yet. */
  get #fileBytes(): number {
    return this.#writtenBytes - this.#readBytes;
  }

  async #toFile(part: Buffer): Promise<boolean> {
    try {
      if (this.#fileBytes === 0 && this.#writtenBytes > 0) await this.#emptyFile();
      this.#isFileFull ||= this.#writtenBytes + part.length > this.#options.fileBytes;
      if (this.#isFileFull) return false;
      this.#file ??= await openUnnamed(this.#options.folder);
      await this.#file.appendFile(part);
      this.#writtenBytes += part.length;
      return true;
    } catch {
      // Such as a full disk.
      this.#isFileFull = true;
      return false;
    }
  }

  /** Gives back the room of what was read. */
  async #emptyFile(): Promise<void> {
    await this.#file?.truncate(0);
    this.#writtenBytes = 0;
    this.#readBytes = 0;
    this.#isFileFull = false;
  }

  async #fromFile(): Promise<Buffer | undefined> {
    if (this.#file === undefined || this.#fileBytes === 0) return undefined;
    const piece = Buffer.allocUnsafeSlow(Math.min(this.#fileBytes, PIECE_BYTES));
    const { bytesRead } = await this.#file.read(piece, 0, piece.length, this.#readBytes);
    this.#readBytes += bytesRead;
    return piece.subarray(0, bytesRead);
  }

  #tell(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/** Opens a new file that goes when it is closed, or the process ends. */
async function openUnnamed(folder: string): Promise<FileHandle> {
  const path = join(folder, `ahead-${randomUUID()}`);
  const file = await open(path, 'ax+', 0o600);
  await rm(path);
  return file;
}
