/**
 * The inbox of one machine: files to which frames are appended. All requests that wait at a moment are written and
 * brought to the disk together, so a hundred of them cost one `fsync`.
 */
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../../basics/text.ts';
import { MIB } from '../../basics/units.ts';
import { inWords, isDiskBroken, UNREADABLE } from '../disk-failures.ts';
import { Transient } from '../errors.ts';
import { freeBytesAt } from '../files/free-bytes.ts';
import { orAbsent } from '../files/or-absent.ts';
import { syncPath } from '../files/sync-path.ts';
import { compareText } from '../table/semantics.ts';
import { canBeCutShort, frameOf, requestsIn, withoutZeros } from './frame.ts';
import {
  type CapturedRequest,
  type Inbox,
  InboxClosed,
  type Segment,
  type SegmentContent,
  SegmentUnreadable,
} from './inbox.ts';

/** A segment with so many bytes is ended, whether or not somebody asks for segments. */
const SEGMENT_BYTES = 5 * MIB;

/**
 * No segment is begun while the disk has less: what waits in the inbox would take the room without which it cannot land, and
 * so leave it. A landing writes some tens of megabytes, and so much is seldom written beside it while one segment is.
 */
const RESERVED_BYTES = 100 * MIB;

const SEGMENT = /^\d{16}\.inbox$/;
const DAMAGED = 'damaged';

/** Stands at the end of a segment that was ended in peace: what cannot be read before it was not cut short, but damaged. */
const END = Buffer.from('end\x01', 'latin1');

interface Waiting {
  readonly frame: Buffer;
  readonly kept: () => void;
  readonly failed: (error: unknown) => void;
}

interface OpenSegment {
  readonly name: string;
  readonly file: FileHandle;
  bytes: number;
}

interface FolderInboxOptions {
  /** How much room the disk has. */
  readonly freeBytes?: () => Promise<number>;
}

/**
 * Opens the inbox in a folder, which is made. One process at a time has it. An append is refused as `Transient` where the
 * disk has hardly more room than landings need.
 */
export async function folderInbox(
  folder: string,
  { freeBytes = () => freeBytesAt(folder) }: FolderInboxOptions = {},
): Promise<Inbox> {
  await makeInbox(folder);
  // Those that were set aside keep their numbers, too: another one of such a name would take their place.
  const aside = (await orAbsent(readdir(join(folder, DAMAGED)))) ?? [];
  const names = [...(await readdir(folder)), ...aside].filter((name) => SEGMENT.test(name));
  const last = Number.parseInt(names.toSorted(compareText).at(-1) ?? '0', 10);
  return new FolderInbox(folder, last, freeBytes);
}

async function makeInbox(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await syncPath(dirname(folder));
}

/**
 * Returns what is damaged in the inbox of a folder, by the path below it; others may use it meanwhile. Throws what keeps it from
 * being looked at.
 */
export async function damagedSegments(folder: string): Promise<{ readonly path: string; readonly problem: string }[]> {
  const asideIn = join(folder, DAMAGED);
  const aside = (await orAbsent(readdir(asideIn))) ?? [];
  const names = ((await orAbsent(readdir(folder))) ?? []).filter((name) => SEGMENT.test(name));
  const found = [...names, ...aside.map((name) => `${DAMAGED}/${name}`)].toSorted(compareText).map(async (path) => {
    // One that is gone has landed meanwhile.
    const problem = await readSegment(join(folder, path)).then(
      ({ damaged }) => damaged > 0 && `${damaged} bytes of events that were acknowledged are damaged`,
      (error: unknown) => {
        if (!isOfOneFile(error)) throw error;
        return isDiskBroken(error) ? UNREADABLE : `it cannot be read: ${messageOf(error)}`;
      },
    );
    return problem === false ? [] : [{ path, problem }];
  });
  return (await Promise.all(found)).flat();
}

/** What the file system says that is about no file but about the process that opens it. */
const OF_THE_PROCESS: readonly string[] = ['EMFILE', 'ENFILE', 'ENOMEM'];

/** Whether the file system says of one file that it cannot be read, such as `EIO` or `EACCES`. */
function isOfOneFile(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && !OF_THE_PROCESS.includes(code);
}

async function readSegment(file: string): Promise<SegmentContent> {
  const bytes = (await orAbsent(readFile(file))) ?? Buffer.alloc(0);
  const isEnded = bytes.subarray(-END.length).equals(END);
  const { requests, damaged, rest } = requestsIn(isEnded ? bytes.subarray(0, -END.length) : bytes);
  const left = bytes.subarray(bytes.length - rest);
  const written = withoutZeros(left);
  const isCutShort = !isEnded && (written.equals(END.subarray(0, written.length)) || canBeCutShort(left));
  return { requests, damaged: damaged + (isCutShort ? 0 : rest), unfinished: isCutShort ? rest : 0 };
}

class FolderInbox implements Inbox {
  readonly #folder: string;
  readonly #freeBytes: () => Promise<number>;
  #last: number;
  #waiting: Waiting[] = [];
  /** What is appended to; undefined: the next write begins a segment. */
  #open: OpenSegment | undefined;
  /** The segments that were listed last, by name; they have ended, and very many may wait. */
  #listed: ReadonlyMap<string, Segment> = new Map();
  /** Writes, and what ends a segment, one after the other. Never rejects. */
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(folder: string, last: number, freeBytes: () => Promise<number>) {
    this.#folder = folder;
    this.#freeBytes = freeBytes;
    this.#last = last;
  }

  append(request: CapturedRequest): Promise<void> {
    if (this.#isClosed) return Promise.reject(new InboxClosed('The inbox is closed.'));
    return new Promise((kept, failed) => {
      this.#waiting.push({ frame: frameOf(request), kept, failed });
      // Whoever comes while a write is under way goes with the next one.
      if (this.#waiting.length === 1) this.#turn = this.#turn.then(() => this.#write());
    });
  }

  async segments(): Promise<Segment[]> {
    // Read in a turn of its own: a segment that is begun meanwhile would be listed, removed with what it had by then, and
    // written on.
    const turn = this.#turn.then(async () => {
      await this.#end();
      return readdir(this.#folder);
    });
    this.#turn = turn.then(
      () => {},
      () => {},
    );
    const names = (await turn).filter((name) => SEGMENT.test(name));
    const found = names.toSorted(compareText).map(async (name): Promise<Segment[]> => {
      const known = this.#listed.get(name);
      if (known !== undefined) return [known];
      const { size, mtimeMs } = (await this.#statOf(name)) ?? {};
      return size === undefined || mtimeMs === undefined ? [] : [{ name, bytes: size, writtenAt: mtimeMs }];
    });
    const segments = (await Promise.all(found)).flat();
    this.#listed = new Map(segments.map((segment) => [segment.name, segment]));
    return segments;
  }

  /** A segment of which the disk does not even say its size is listed as an empty one of now: whoever reads it is told why. */
  async #statOf(segment: string): Promise<{ readonly size: number; readonly mtimeMs: number } | undefined> {
    try {
      return await orAbsent(stat(join(this.#folder, segment)));
    } catch (error) {
      if (!isOfOneFile(error)) throw error;
      return { size: 0, mtimeMs: Date.now() };
    }
  }

  async read(segment: string): Promise<SegmentContent> {
    try {
      return await readSegment(join(this.#folder, segment));
    } catch (error) {
      throw isOfOneFile(error) ? new SegmentUnreadable(messageOf(inWords(error)), { cause: error }) : error;
    }
  }

  async remove(segments: readonly string[]): Promise<void> {
    for (const segment of segments) await rm(join(this.#folder, segment), { force: true });
  }

  async setAside(segment: string): Promise<void> {
    const folder = join(this.#folder, DAMAGED);
    await mkdir(folder, { recursive: true });
    await rename(join(this.#folder, segment), join(folder, segment));
    await syncPath(folder);
    await syncPath(this.#folder);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#turn = this.#turn.then(() => this.#end()).catch(() => {});
    await this.#turn;
  }

  /** Writes all that waits. A segment whose write failed ends there: what is behind an unfinished frame would be lost. */
  async #write(): Promise<void> {
    const batch = this.#waiting.splice(0);
    try {
      const segment = (this.#open ??= await this.#begin());
      const bytes = Buffer.concat(batch.map(({ frame }) => frame));
      await segment.file.appendFile(bytes);
      await segment.file.datasync();
      segment.bytes += bytes.length;
      for (const { kept } of batch) kept();
      if (segment.bytes >= SEGMENT_BYTES) await this.#end();
    } catch (error) {
      for (const { failed } of batch) failed(error);
      const segment = this.#open;
      this.#open = undefined;
      await segment?.file.close().catch(() => {});
    }
  }

  /** Begins a segment. The folder is made again where somebody has removed it. */
  async #begin(): Promise<OpenSegment> {
    if ((await orAbsent(stat(this.#folder))) === undefined) await makeInbox(this.#folder);
    if ((await this.#freeBytes()) < RESERVED_BYTES)
      throw new Transient('The disk of the service is nearly full: space must be freed there.', { isOwn: true });
    this.#last += 1;
    const name = `${String(this.#last).padStart(16, '0')}.inbox`;
    const file = await open(join(this.#folder, name), 'ax');
    try {
      await syncPath(this.#folder);
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    }
    return { name, file, bytes: 0 };
  }

  async #end(): Promise<void> {
    const segment = this.#open;
    this.#open = undefined;
    if (segment === undefined) return;
    try {
      await segment.file.appendFile(END);
    } finally {
      await segment.file.close();
    }
  }
}
