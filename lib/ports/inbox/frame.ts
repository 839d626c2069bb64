/**
 * Requests as bytes, one after the other. A frame is a mark of 4 bytes, the length of what follows the checksum, the
 * CRC-32 of that, then the length of the head, the head as JSON, and the body.
 *
 * A frame with a bad checksum is left by its length. No frame is taken from elsewhere: a body may hold what looks like
 * one, and its sender must not become another project.
 */
import { crc32 } from 'node:zlib';
import { MIB } from '../../basics/units.ts';
import type { CapturedRequest } from './inbox.ts';

const MARK = Buffer.from('evt\x01', 'latin1');
/** Mark, length, checksum. */
const PREFIX_BYTES = 12;

type Head = Omit<CapturedRequest, 'body'>;

/** A request as a frame. */
export function frameOf({ body, ...head }: CapturedRequest): Buffer {
  const text = Buffer.from(JSON.stringify(head satisfies Head));
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + 4 + text.length + body.length);
  MARK.copy(frame);
  frame.writeUInt32BE(4 + text.length + body.length, 4);
  frame.writeUInt32BE(text.length, PREFIX_BYTES);
  text.copy(frame, PREFIX_BYTES + 4);
  frame.set(body, PREFIX_BYTES + 4 + text.length);
  frame.writeUInt32BE(crc32(frame.subarray(PREFIX_BYTES)), 8);
  return frame;
}

/** What frames hold. */
interface Frames {
  readonly requests: readonly CapturedRequest[];
  /** Bytes of frames whose checksum is wrong. */
  readonly damaged: number;
  /** Bytes at the end that are no frame. */
  readonly rest: number;
}

/** The requests of frames. The bodies share the memory of `bytes`. */
export function requestsIn(bytes: Buffer): Frames {
  const requests: CapturedRequest[] = [];
  const unwritten = withoutZeros(bytes).length;
  let [at, damaged] = [0, 0];
  for (let end = endOf(bytes, at); end !== undefined; end = endOf(bytes, at)) {
    if (hasChecksum(bytes, at, end)) requests.push(requestIn(bytes.subarray(at + PREFIX_BYTES, end)));
    // The last one, of which only the beginning was written.
    else if (unwritten < end && bytes.length - unwritten >= UNWRITTEN_ZEROS) break;
    else damaged += end - at;
    at = end;
  }
  return { requests, damaged, rest: bytes.length - at };
}

/**
 * So many zeros up to the end of the file, of which some are in the end of a frame that is wrong, were never written: some
 * file systems leave them after a power loss. A packed body ends in three at most, and text in none.
 */
const UNWRITTEN_ZEROS = 16;

/** Bytes without the zeros that they end in. */
export function withoutZeros(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return bytes.subarray(0, end);
}

/**
 * Whether a rest may be a write that was cut short: the beginning of a frame, with zeros behind it or not, and no frame that
 * is whole is in it. It would be behind one that was acknowledged and is damaged. What looks like too many frames to look
 * into is taken for damaged.
 */
export function canBeCutShort(rest: Buffer): boolean {
  const written = withoutZeros(rest);
  if (!written.subarray(0, MARK.length).equals(MARK.subarray(0, written.length))) return false;
  if (written.length < PREFIX_BYTES) return true;
  // All of it is here, and only its length is not what was written.
  if (hasChecksum(rest, 0, rest.length)) return false;
  let looked = 0;
  for (let at = rest.indexOf(MARK, 1); at !== -1; at = rest.indexOf(MARK, at + 1)) {
    const end = endOf(rest, at);
    looked += BYTES_OF_A_LOOK + (end === undefined ? 0 : end - at);
    if (looked > MOST_LOOKED_BYTES) return false;
    if (end !== undefined && hasChecksum(rest, at, end)) return false;
  }
  return true;
}

/** To look into so many takes some tenths of a second. */
const MOST_LOOKED_BYTES = 64 * MIB;
/** What looks like a frame takes at least the time of so many. */
const BYTES_OF_A_LOOK = 256;

const hasChecksum = (bytes: Buffer, at: number, end: number): boolean =>
  crc32(bytes.subarray(at + PREFIX_BYTES, end)) === bytes.readUInt32BE(at + 8);

/** Where the frame that begins here ends; undefined: none does. */
function endOf(bytes: Buffer, at: number): number | undefined {
  const start = at + PREFIX_BYTES;
  if (start > bytes.length || !bytes.subarray(at, at + MARK.length).equals(MARK)) return undefined;
  const length = bytes.readUInt32BE(at + MARK.length);
  // None is empty: zeros behind a mark are none.
  return length < 4 || start + length > bytes.length ? undefined : start + length;
}

function requestIn(content: Buffer): CapturedRequest {
  const body = 4 + content.readUInt32BE(0);
  const head = JSON.parse(content.toString('utf8', 4, body)) as Head;
  return { ...head, body: content.subarray(body) };
}
