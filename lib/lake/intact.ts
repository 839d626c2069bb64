/** Whether files of the lake are still what was written: the digest in a file's row is compared before it is read. */
import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { Recent } from '../basics/recent.ts';
import { MINUTE_MS } from '../basics/units.ts';
import { isDiskBroken, UNREADABLE } from '../ports/disk-failures.ts';
import { Damaged } from '../ports/errors.ts';
import type { FileStore } from '../ports/files/files.ts';

/** What was written into a file. */
export interface FileDigest {
  readonly bytes: number;
  /** In hexadecimal digits. Absent: the file is older than digests, and only its size can be compared. */
  readonly sha256?: string;
}

/** A file that is to be compared: its path in the lake, and where this machine reads it. */
interface Compared extends Partial<FileDigest> {
  readonly path: string;
  readonly local: string;
}

/** Resolves when the file is what was written. Throws `Damaged`, which names it, and the signal's reason on abort. */
export type Intact = (file: Compared, signal?: AbortSignal) => Promise<void>;

/**
 * A file that was found intact is taken for that so long, unless its inode, its size or the time of its last change says
 * that somebody has touched it. What goes bad below the file system shows when it is read from the medium again.
 */
const REMEMBERED_MS = 10 * MINUTE_MS;

/** So many files are remembered at most. */
const MAX_REMEMBERED = 10_000;

/** Larger pieces would keep the process from other work for longer, and gain nothing. */
const PIECE_BYTES = 512 * 1024;

/** Returns the digest of a local file. While a piece is digested, the next one is read. */
export async function digestOf(local: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  let [piece, other] = [Buffer.allocUnsafeSlow(PIECE_BYTES), Buffer.allocUnsafeSlow(PIECE_BYTES)];
  await using file = await open(local);
  let reading = file.read(piece, 0, PIECE_BYTES, null);
  for (;;) {
    const { bytesRead } = await reading;
    signal?.throwIfAborted();
    if (bytesRead === 0) return hash.digest('hex');
    reading = file.read(other, 0, PIECE_BYTES, null);
    hash.update(piece.subarray(0, bytesRead));
    [piece, other] = [other, piece];
  }
}

/** Returns what compares files, each once in ten minutes while it is not touched. `clock`: in milliseconds. */
export function intactFiles(clock: () => number = () => performance.now(), digest = digestOf): Intact {
  const known = new Recent<{ readonly mark: string; readonly until: number; readonly done: Promise<void> }>(
    MAX_REMEMBERED,
  );
  return async ({ path, local, bytes, sha256 }, signal) => {
    const mark = await markOf(path, local, bytes);
    if (sha256 === undefined) return;
    const found = known.get(local);
    if (found?.mark === `${sha256} ${mark}` && clock() < found.until) {
      try {
        return await found.done;
      } catch (error) {
        // Who compared it was stopped: that says nothing of the file.
        if (error instanceof Damaged) throw error;
      }
    }
    const done = compare(path, sha256, () => digest(local, signal), signal);
    const entry = { mark: `${sha256} ${mark}`, until: clock() + REMEMBERED_MS, done };
    known.set(local, entry);
    done.catch(() => known.get(local) === entry && known.delete(local));
    await done;
  };
}

/**
 * Returns addresses by which a program on this machine can read files of the lake, each found intact: their own, or those
 * of copies below `folder`. Throws `Damaged`.
 */
export async function intactCopies(
  lake: Pick<FileStore, 'local'>,
  isIntact: Intact,
  files: readonly (Partial<FileDigest> & { readonly path: string })[],
  folder: string,
): Promise<string[]> {
  const paths = files.map(({ path }) => path);
  const copies = await lake.local(paths, folder);
  for (const [n, file] of files.entries()) await isIntact({ ...file, local: copies[n] as string });
  return copies;
}

/** Returns what changes when somebody touches the file. Throws `Damaged` when it is not there, or of another size. */
async function markOf(path: string, local: string, bytes: number | undefined): Promise<string> {
  const found = await stat(local, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new Damaged(path, 'it is not there') : error;
  });
  if (bytes !== undefined && Number(found.size) !== bytes) {
    throw new Damaged(path, `it has ${found.size} bytes, and ${bytes} were written`);
  }
  return `${found.dev}-${found.ino}-${found.size}-${found.mtimeNs}-${found.ctimeNs}`;
}

async function compare(
  path: string,
  sha256: string,
  digest: () => Promise<string>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const found = await digest().catch((error: NodeJS.ErrnoException) => {
    signal?.throwIfAborted();
    throw isDiskBroken(error) ? new Damaged(path, UNREADABLE) : error;
  });
  if (found !== sha256) throw new Damaged(path, 'it is not what was written');
}
