/**
 * Whether a write-ahead log of SQLite has all that was committed to it. SQLite itself does not ask: the first frame that is
 * not as it was written is the end of the log to it, as of a transaction that a power cut has torn, and whatever is behind
 * it is never looked at. Two things tell more, and never of what a kill, a power cut or a full disk has left:
 *
 * * The index beside the log (`-shm`) says up to which frame it was committed. It is written when they are on the disk. After
 *   a kill it is exact; after a power cut it may be older, or nothing.
 * * The checksum of a frame covers the frame before it, so a chain shows which were written one after the other, behind a
 *   damaged one too. A writer goes on from a commit only when that is on the disk. So a chain with two commits behind the
 *   first bad frame is of transactions that were acknowledged: one that was torn, or given up, leaves one commit at most.
 *
 * The formats are in https://sqlite.org/fileformat2.html#walformat and https://sqlite.org/walformat.html.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

const HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 24;
const MIN_PAGE_BYTES = 512;
const MAX_PAGE_BYTES = 65_536;

/** As SQLite makes a new database. */
const PAGE_BYTES = 4_096;

/** A log with a transaction is no shorter, and as long as it is there SQLite makes it no shorter. */
export const MIN_LOG_BYTES = HEAD_BYTES + FRAME_HEAD_BYTES + PAGE_BYTES;

/** The last bit says in which order the bytes of a word are that are summed. */
const MAGIC = 0x377f0682;

/** The header of the index is there twice, and ends with its own checksum. */
const INDEX_HEAD_BYTES = 48;

/**
 * Returns in words what is wrong with a log that was `MIN_LOG_BYTES` long, such as "is gone"; undefined: nothing that was
 * acknowledged is known to be lost. Others may write to it meanwhile. Nothing is changed. Without a good index the last two
 * transactions are not told from such as were never acknowledged, and a shorter log not from one that was always so.
 */
export function logProblem(log: string, index: string): string | undefined {
  // It is read first: what is committed later is more than it says.
  const committed = committedIn(index);
  return withFile(log, (file) => damageIn(file, committed));
}

/** Returns what `work` does, or "is gone" of a file that is not there. */
function withFile(path: string, work: (file: number) => string | undefined): string | undefined {
  const file = opened(path);
  if (file === undefined) return 'is gone';
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

function opened(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns fewer bytes at the end of the file. */
function read(file: number, at: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  return buffer.subarray(0, readSync(file, buffer, 0, bytes, at));
}

type Sum = readonly [number, number];

const sumAt = (bytes: Buffer, at: number): Sum => [bytes.readInt32BE(at), bytes.readInt32BE(at + 4)];

const isSame = (one: Sum, other: Sum): boolean => one[0] === other[0] && one[1] === other[1];

/** Returns the checksum of bytes, a multiple of 8, that follow what another checksum is of. */
function added([first, second]: Sum, bytes: Buffer, isLittleEndian: boolean): Sum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let [one, two] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + view.getInt32(at, isLittleEndian) + two) | 0;
    two = (two + view.getInt32(at + 4, isLittleEndian) + one) | 0;
  }
  return [one, two];
}

/** What the index says of the log that has these salts: how many of its frames are committed. */
interface Committed {
  readonly salts: Buffer;
  readonly frames: number;
}

/** Returns undefined for an index that says nothing: it is gone, or not whole. */
function committedIn(index: string): Committed | undefined {
  const file = opened(index);
  if (file === undefined) return undefined;
  try {
    const [head, again] = [read(file, 0, INDEX_HEAD_BYTES), read(file, INDEX_HEAD_BYTES, INDEX_HEAD_BYTES)];
    if (head.length < INDEX_HEAD_BYTES || !head.equals(again)) return undefined;
    const isLittleEndian = endianness() === 'LE';
    const word = (at: number): number => (isLittleEndian ? head.readInt32LE(at) : head.readInt32BE(at));
    if (!isSame(added([0, 0], head.subarray(0, 40), isLittleEndian), [word(40), word(44)])) return undefined;
    return { salts: head.subarray(32, 40), frames: word(16) };
  } finally {
    closeSync(file);
  }
}

interface Head {
  readonly pageBytes: number;
  readonly isLittleEndian: boolean;
  /** Each frame of the log repeats them; those of a log that was begun again behind it have others. */
  readonly salts: Buffer;
  readonly sum: Sum;
}

/** Returns undefined for what is no header as it was written. */
function headOf(bytes: Buffer): Head | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const [magic, pageBytes] = [bytes.readUInt32BE(0), bytes.readUInt32BE(8)];
  if (magic !== MAGIC && magic !== MAGIC + 1) return undefined;
  if (pageBytes < MIN_PAGE_BYTES || pageBytes > MAX_PAGE_BYTES) return undefined;
  const [isLittleEndian, sum] = [magic === MAGIC, sumAt(bytes, 24)];
  if (!isSame(added([0, 0], bytes.subarray(0, 24), isLittleEndian), sum)) return undefined;
  return { pageBytes, isLittleEndian, salts: bytes.subarray(16, 24), sum };
}

const damagedFrom = (at: number): string => `is damaged from byte ${at} on`;

function damageIn(file: number, committed: Committed | undefined): string | undefined {
  const start = read(file, 0, HEAD_BYTES);
  const head = headOf(start);
  if (head === undefined) return damagedFrom(0);
  const { good, bad, isFollowed } = walk(file, head);
  const isPromised = committed?.salts.equals(head.salts) === true && committed.frames > good.frames;
  if (!isFollowed && !isPromised && fstatSync(file).size >= MIN_LOG_BYTES) return undefined;
  // One that was just being written, or a log that was begun again meanwhile, is in use by a process that has it whole.
  const isStill = read(file, good.end, bad.length).equals(bad) && read(file, 0, HEAD_BYTES).equals(start);
  return isStill ? damagedFrom(good.end) : undefined;
}

interface Walked {
  /** What SQLite takes for the log: how many frames up to its last commit, and where the first bad frame is. */
  readonly good: { readonly frames: number; readonly end: number };
  /** The first bad frame, or the part of one that is there. */
  readonly bad: Buffer;
  /** Whether transactions that were acknowledged are behind it. */
  readonly isFollowed: boolean;
}

function walk(file: number, { pageBytes, isLittleEndian, salts, sum }: Head): Walked {
  const frameBytes = FRAME_HEAD_BYTES + pageBytes;
  let before = sum;
  let frames = 0;
  let first: { readonly end: number; readonly bad: Buffer } | undefined;
  /** In the chain that the last frame belongs to, behind the first bad one. */
  let commits = 0;
  for (let n = 0; ; n += 1) {
    const end = HEAD_BYTES + n * frameBytes;
    const frame = read(file, end, frameBytes);
    if (frame.length < frameBytes) {
      const { end: at, bad } = first ?? { end, bad: frame };
      return { good: { frames, end: at }, bad, isFollowed: false };
    }
    const own = sumAt(frame, 16);
    const isNext =
      frame.readUInt32BE(0) !== 0 &&
      frame.subarray(8, 16).equals(salts) &&
      isSame(added(added(before, frame.subarray(0, 8), isLittleEndian), frame.subarray(24), isLittleEndian), own);
    const isCommit = isNext && frame.readUInt32BE(4) !== 0;
    before = own;
    if (!isNext) commits = 0;
    if (first === undefined) {
      if (isCommit) frames = n + 1;
      if (!isNext) first = { end, bad: frame };
    } else if (isCommit) {
      commits += 1;
      if (commits === 2) return { good: { frames, end: first.end }, bad: first.bad, isFollowed: true };
    }
  }
}
