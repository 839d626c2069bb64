import { hash } from 'node:crypto';
import { appendFile, mkdir, rm, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { orAbsent } from '../../ports/files/or-absent.ts';
import { type Line, LONGEST_LINE } from '../sources/lines.ts';

/** A line that is no event. */
export interface RejectedLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

/** How many rejected lines a report names; the rest is only counted. */
const NAMED = 20;

/** So many bytes of a file's rejected lines are copied: what is packed unpacks to a thousand times as many. */
const COPIED_BYTES = 100e6;

/** Where the lines of one file go that are no events: as they were, so that they can be mended and imported again. */
export interface Rejected {
  /**
   * Takes lines in their order; of a file that is read again, only those behind the last that it has taken. `header`: the
   * line that says what the others hold, for the copy to begin with.
   */
  add(line: Line, reason: string, header?: Line): void;
  /** Writes what was added since. */
  flush(): Promise<void>;
  /** The copy's path, once there is one. */
  path(): string | undefined;
  /** Says that lines were not copied, for they are too many; undefined: all were. */
  problem(): string | undefined;
}

/**
 * Rejected lines of `file`, copied into a file of `folder` that has its name. A copy that an earlier import made is
 * removed, unless the file is read on from behind its lines. Of a line that is too long only the beginning is copied, and of
 * all together the first 100 MB.
 */
export async function rejectedLines(
  file: string,
  folder: string,
  named: RejectedLine[],
  linesBefore = 0,
): Promise<Rejected> {
  const path = join(folder, `${basename(file)}-${hash('sha256', resolve(file)).slice(0, 8)}`);
  if (linesBefore === 0) await rm(path, { force: true });
  let copied = (await orAbsent(stat(path)))?.size ?? 0;
  let isCut = false;
  let waiting: Buffer[] = [];
  let isThere = false;
  let last = 0;
  return {
    add: (line, reason, header) => {
      if (line.number <= last) return;
      last = line.number;
      if (named.length < NAMED) named.push({ file, line: line.number, reason });
      const begins = header !== undefined && !isThere && waiting.length === 0;
      const bytes = Buffer.concat([...(begins ? [bytesOf(header)] : []), bytesOf(line)]);
      isCut ||= copied + bytes.length > COPIED_BYTES;
      if (isCut) return;
      copied += bytes.length;
      waiting.push(bytes);
    },
    flush: async () => {
      if (waiting.length === 0) return;
      await mkdir(folder, { recursive: true });
      await appendFile(path, Buffer.concat(waiting));
      isThere = true;
      waiting = [];
    },
    path: () => (isThere ? path : undefined),
    problem: () =>
      isCut ? `more than ${COPIED_BYTES / 1e6} MB of it were rejected: the others were not copied` : undefined,
  };
}

const bytesOf = ({ text, encoding }: Line): Buffer => Buffer.from(`${text.slice(0, LONGEST_LINE)}\n`, encoding);
