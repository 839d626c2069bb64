/**
 * A file's lines, plain or gzipped, in constant memory. Nothing that a file may hold ends the reading: what cannot be
 * a line says so, and a damaged end is reported with all that came before it.
 */
import { isUtf8 } from 'node:buffer';
import { open } from 'node:fs/promises';
import { constants, createGunzip } from 'node:zlib';
import { messageOf } from '../../errors.ts';

/** A line that holds more bytes than this is refused. */
export const LONGEST_LINE = 1024 * 1024;
const PIECE = 256 * 1024;
/** What is inflated at once: gzip packs at most 1,032 to 1, so 16 KiB become 17 MB at most. */
const PACKED_PIECE = 16 * 1024;

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its line end; of a line that is too long the beginning. */
  readonly text: string;
  /** `latin1`: it is not UTF-8, and each byte became one character, so nothing is lost. */
  readonly encoding: 'utf8' | 'latin1';
  /** Why it cannot be read as a line at all. */
  readonly problem?: string;
}

export interface FileLines {
  /** Lines in order, many at a time, blank ones too. Read it once. */
  batches(): AsyncGenerator<readonly Line[]>;
  /** Bytes of the file read so far. */
  bytesRead(): number;
  /** What is wrong with the end of the file, once all was read; undefined when nothing is. */
  damage(): string | undefined;
}

/** The lines of a file. Whether it is gzipped is told by its first two bytes, not by its name. */
export function linesOf(path: string): FileLines {
  let bytesRead = 0;
  let damage: string | undefined;

  async function* packed(): AsyncGenerator<Buffer> {
    const file = await open(path, 'r');
    try {
      for (;;) {
        // A buffer of its own each time: what was handed on may still be looked at.
        const { buffer, bytesRead: length } = await file.read(Buffer.allocUnsafeSlow(PIECE), 0, PIECE);
        if (length === 0) return;
        bytesRead += length;
        yield buffer.subarray(0, length);
      }
    } finally {
      await file.close();
    }
  }

  async function* content(): AsyncGenerator<Buffer> {
    const source = packed();
    const first = await source.next();
    if (first.done) return;
    const whole = (async function* () {
      yield first.value;
      yield* source;
    })();
    const isPacked = first.value[0] === 0x1f && first.value[1] === 0x8b;
    try {
      for await (const piece of isPacked ? inflated(whole) : whole) {
        if (typeof piece === 'string') damage = piece;
        else yield piece;
      }
    } finally {
      await source.return(undefined);
    }
  }

  return { batches: () => linesIn(content(), () => damage), bytesRead: () => bytesRead, damage: () => damage };
}

/** The inflated pieces; a text at the end says what is wrong with the data. */
async function* inflated(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer | string> {
  const gunzip = createGunzip({ chunkSize: 64 * 1024, finishFlush: constants.Z_FINISH });
  let ready: Buffer[] = [];
  const state: { failure?: NodeJS.ErrnoException } = {};
  // Flowing, so that what was inflated before an error is here, and not dropped with the stream's buffer.
  gunzip.on('data', (piece: Buffer) => ready.push(piece));
  const failed = new Promise<void>((resolve) => {
    gunzip.on('error', (error) => {
      state.failure = error;
      resolve();
    });
  });
  const written = (piece: Buffer): Promise<void> =>
    Promise.race([failed, new Promise<void>((resolve) => gunzip.write(piece, () => resolve()))]);
  const ended = (): Promise<void> =>
    Promise.race([failed, new Promise<void>((resolve) => gunzip.end().on('end', resolve))]);

  try {
    for await (const piece of source) {
      for (let at = 0; at < piece.length && state.failure === undefined; at += PACKED_PIECE) {
        await written(piece.subarray(at, at + PACKED_PIECE));
        yield* ready;
        ready = [];
      }
      if (state.failure !== undefined) break;
    }
    if (state.failure === undefined) await ended();
    yield* ready;
    if (state.failure !== undefined)
      yield state.failure.code === 'Z_BUF_ERROR'
        ? 'the gzip data is cut off: its end is missing'
        : `the gzip data is damaged: ${messageOf(state.failure)}`;
  } finally {
    gunzip.destroy();
  }
}

async function* linesIn(
  source: AsyncIterable<Buffer>,
  damage: () => string | undefined,
): AsyncGenerator<readonly Line[]> {
  let rest: Buffer = Buffer.alloc(0);
  let number = 0;
  /** The beginning of a line that is too long, while its end is looked for. */
  let tooLong: Buffer | undefined;

  for await (let piece of source) {
    const lines: Line[] = [];
    if (tooLong !== undefined) {
      const end = piece.indexOf(10);
      if (end === -1) continue;
      lines.push(longLine(number + 1, tooLong));
      tooLong = undefined;
      piece = piece.subarray(end + 1);
    }
    const last = piece.lastIndexOf(10);
    if (last !== -1) {
      const whole = Buffer.concat([rest, piece.subarray(0, last)]);
      for (const line of split(whole, number + lines.length)) lines.push(line);
      rest = piece.subarray(last + 1);
    } else {
      rest = Buffer.concat([rest, piece]);
    }
    if (rest.length > LONGEST_LINE) {
      tooLong = Buffer.from(rest.subarray(0, LONGEST_LINE));
      rest = Buffer.alloc(0);
    }
    number += lines.length;
    if (lines.length > 0) yield lines;
  }
  if (tooLong !== undefined) yield [longLine(number + 1, tooLong)];
  else if (rest.length > 0) {
    const isDamaged = damage() !== undefined;
    yield split(rest, number).map((line) =>
      isDamaged ? { ...line, problem: 'the file is damaged in this line' } : line,
    );
  }
}

/** Lines of a buffer that ends where a line ends; numbers go on from `before`. */
function split(whole: Buffer, before: number): Line[] {
  const lines: Line[] = [];
  let number = before;
  if (isUtf8(whole)) {
    for (const text of whole.toString('utf8').split('\n')) {
      number += 1;
      lines.push(lineOf(number, number === 1 ? text.replace(/^\ufeff/, '') : text, 'utf8'));
    }
    return lines;
  }
  for (let at = 0; at <= whole.length; ) {
    const found = whole.indexOf(10, at);
    const end = found === -1 ? whole.length : found;
    const bytes = whole.subarray(at, end);
    const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
    number += 1;
    lines.push(lineOf(number, bytes.toString(encoding), encoding));
    at = end + 1;
  }
  return lines;
}

function lineOf(number: number, withEnd: string, encoding: 'utf8' | 'latin1'): Line {
  const text = withEnd.endsWith('\r') ? withEnd.slice(0, -1) : withEnd;
  // A character of UTF-16 is at most three bytes of UTF-8.
  if (withEnd.length > LONGEST_LINE / 3 && Buffer.byteLength(withEnd, encoding) > LONGEST_LINE)
    return longLine(number, Buffer.from(withEnd, encoding).subarray(0, LONGEST_LINE));
  return text.includes('\0') ? { number, text, encoding, problem: 'holds a NUL byte' } : { number, text, encoding };
}

const longLine = (number: number, beginning: Buffer): Line => ({
  number,
  text: beginning.toString('latin1'),
  encoding: 'latin1',
  problem: `longer than ${LONGEST_LINE} bytes`,
});
