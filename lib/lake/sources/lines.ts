/**
 * A file's lines, plain or packed with gzip or zstd, in constant memory. Nothing that a file may hold ends the reading:
 * what cannot be a line says so, and a damaged end is reported with all that came before it.
 */
import { isUtf8 } from 'node:buffer';
import { open } from 'node:fs/promises';
import type { Transform } from 'node:stream';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import { messageOf } from '../../basics/text.ts';
import { MIB } from '../../basics/units.ts';

/** A line that holds more bytes than this is refused. */
export const LONGEST_LINE = MIB;
const PIECE = 256 * 1024;
const PACKED_PIECE = 16 * 1024;
/** What was inflated and not handed on has about so many bytes at most, however well it was packed. */
const READY = 8 * MIB;
/**
 * What a packed file may give: so many bytes, and beyond these so many times its own. A line takes time however short it
 * is, and so counts as so many bytes more: with zstd a file of 30 KB may be a gigabyte of lines of one character. A log of
 * nothing but one line is 11,000 times its size, and is read as far as that; logs as they are come to some hundred times.
 */
const MOST_INFLATED = { bytes: 1_024 * MIB, times: 1_000, ofLine: 64 } as const;

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

/** Where a line of a file begins. */
export interface LinePlace {
  /** In bytes, from 0. */
  readonly offset: number;
  /** How many lines are before it. */
  readonly lines: number;
}

/** How a file is read that is not packed. A packed one is always read whole. */
export interface LinesOptions {
  /** Default: its beginning. */
  readonly from?: LinePlace | undefined;
  /** Leaves out a last line without a line end: whoever writes it is not done. */
  readonly onlyEnded?: boolean | undefined;
}

interface FileLines {
  /** Lines in order, many at a time, blank ones too. Read it once. */
  batches(): AsyncGenerator<readonly Line[]>;
  /** How far the file was read, in bytes from its beginning. */
  bytesRead(): number;
  /** Where the line begins that follows those which were given and have a line end; undefined for a packed file. */
  place(): LinePlace | undefined;
  /** What is wrong with the end of the file, once all was read; undefined when nothing is. */
  damage(): string | undefined;
}

/** The lines of a file. Whether it is packed is told by its first bytes, not by its name. */
export function linesOf(path: string, { from = BEGINNING, onlyEnded = false }: LinesOptions = {}): FileLines {
  let bytesRead = from.offset;
  let damage: Damage | undefined;
  /** How many lines were found. */
  let count = 0;
  let place: LinePlace | undefined = from;

  async function* packed(): AsyncGenerator<Buffer> {
    await using file = await open(path);
    for (;;) {
      // A buffer of its own each time: what was handed on may still be looked at.
      const { buffer, bytesRead: length } = await file.read(Buffer.allocUnsafeSlow(PIECE), 0, PIECE, bytesRead);
      if (length === 0) return;
      bytesRead += length;
      yield buffer.subarray(0, length);
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
    const packing =
      from.offset === 0 ? PACKINGS.find(({ magic }) => magic.equals(first.value.subarray(0, magic.length))) : undefined;
    if (packing !== undefined) place = undefined;
    try {
      for await (const piece of packing === undefined ? whole : inflated(whole, packing, () => count)) {
        if (Buffer.isBuffer(piece)) yield piece;
        else damage = piece;
      }
    } finally {
      await source.return(undefined);
    }
  }

  async function* batches(): AsyncGenerator<readonly Line[]> {
    for await (const { lines, ended } of linesIn(content(), () => damage, from.lines)) {
      count += lines.length;
      if (place !== undefined && ended !== undefined)
        place = { offset: place.offset + ended, lines: place.lines + lines.length };
      if (ended !== undefined || place === undefined || !onlyEnded) yield lines;
    }
  }

  return { batches, bytesRead: () => bytesRead, place: () => place, damage: () => damage?.what };
}

/** What is wrong with packed data, and so with the line in which reading ends. */
interface Damage {
  readonly what: string;
  readonly ofLine: string;
}

const damaged = (what: string): Damage => ({ what, ofLine: 'the file is damaged in this line' });

const BEGINNING: LinePlace = { offset: 0, lines: 0 };

interface Packing {
  readonly name: string;
  /** How it begins. */
  readonly magic: Buffer;
  readonly open: () => Inflate;
}

type Inflate = Transform & { readonly bytesWritten: number };

const openZstd = (): Inflate => createZstdDecompress({ chunkSize: 64 * 1024 });

const PACKINGS: readonly Packing[] = [
  {
    name: 'gzip',
    magic: Buffer.from([0x1f, 0x8b]),
    open: () => createGunzip({ chunkSize: 64 * 1024, finishFlush: constants.Z_FINISH }),
  },
  { name: 'zstd', magic: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), open: openZstd },
];

/**
 * The inflated pieces, and at the end what is wrong with the data, which may be that there is far too much of it. `lines`:
 * how many were found in the pieces before.
 */
async function* inflated(
  source: AsyncIterable<Buffer>,
  packing: Packing,
  lines: () => number,
): AsyncGenerator<Buffer | Damage> {
  let [taken, given] = [0, 0];
  const take = (bytes: number): void => {
    taken += bytes;
  };
  for await (const piece of ofFrames(source, packing, take)) {
    if (Buffer.isBuffer(piece)) {
      given += piece.length;
      if (given + MOST_INFLATED.ofLine * lines() > MOST_INFLATED.bytes + MOST_INFLATED.times * taken) {
        const what = `the ${packing.name} data inflates to far more than its size: it is read no further`;
        yield { what, ofLine: 'the file is read no further than into this line' };
        return;
      }
    }
    yield piece;
  }
}

/** What the frames of a source inflate to, and at the end what is wrong with them. `take` is told what is inflated, in bytes. */
async function* ofFrames(
  source: AsyncIterable<Buffer>,
  packing: Packing,
  take: (bytes: number) => void,
): AsyncGenerator<Buffer | Damage> {
  let frame = openFrame(packing);
  let packed: Buffer = NOTHING;
  try {
    for await (const piece of source) {
      packed = Buffer.concat([packed, piece]);
      while (packed.length > 0 && frame.failure() === undefined) {
        if (frame.isEnded()) {
          const next = behindFrame(packed, packing);
          if (next === 'damage') {
            yield damaged(`something else follows the ${packing.name} data`);
            return;
          }
          if (next === 'padding') packed = NOTHING;
          if (next !== 'frame') break;
          frame.close();
          frame = openFrame(packing);
        }
        const some = packed.subarray(0, PACKED_PIECE);
        take(some.length);
        packed = packed.subarray(yield* frame.inflate(some));
      }
      if (frame.failure() !== undefined) break;
    }
    if (frame.failure() === undefined) yield* frame.end();
    const failure = frame.failure();
    if (failure !== undefined)
      yield damaged(
        failure.code === 'Z_BUF_ERROR'
          ? `the ${packing.name} data is cut off: its end is missing`
          : `the ${packing.name} data is damaged: ${messageOf(failure)}`,
      );
  } finally {
    frame.close();
  }
}

const NOTHING = Buffer.alloc(0);

/** Returns what comes behind the end of a frame; `unknown`: too little came to tell. */
function behindFrame(packed: Buffer, { magic }: Packing): 'frame' | 'padding' | 'damage' | 'unknown' {
  if (packed.length < magic.length) return 'unknown';
  // Padding up to the end of a block is no damage.
  if (packed.every((byte) => byte === 0)) return 'padding';
  return magic.equals(packed.subarray(0, magic.length)) ? 'frame' : 'damage';
}

interface Frame {
  /** Gives what the piece inflates to, and answers how much of the piece belongs to the frame. */
  inflate(piece: Buffer): AsyncGenerator<Buffer, number>;
  /** Gives what is left. */
  end(): AsyncGenerator<Buffer>;
  isEnded(): boolean;
  failure(): NodeJS.ErrnoException | undefined;
  close(): void;
}

function openFrame({ open: openInflate }: Packing): Frame {
  const inflate = openInflate();
  let ready: Buffer[] = [];
  let bytes = 0;
  let isEnded = false;
  let failure: NodeJS.ErrnoException | undefined;
  let wake: (() => void) | undefined;
  // Flowing, so that what was inflated before an error is here, and not dropped with the stream's buffer.
  inflate.on('data', (piece: Buffer) => {
    ready.push(piece);
    bytes += piece.length;
    if (bytes < READY) return;
    inflate.pause();
    wake?.();
  });
  inflate.on('end', () => {
    isEnded = true;
    wake?.();
  });
  inflate.on('error', (error) => {
    failure = error;
    wake?.();
  });

  /** Hands on what is inflated, until the work that calls back is done; behind a frame's end or a failure nothing is. */
  async function* during(begin: (done: () => void) => void): AsyncGenerator<Buffer> {
    let isDone = isEnded || failure !== undefined;
    if (!isDone)
      begin(() => {
        isDone = true;
        wake?.();
      });
    for (;;) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isDone || isEnded || failure !== undefined || inflate.isPaused()) resolve();
      });
      const now = ready;
      ready = [];
      bytes = 0;
      yield* now;
      if (isDone || isEnded || failure !== undefined) return;
      inflate.resume();
    }
  }

  return {
    inflate: async function* (piece) {
      const before = inflate.bytesWritten;
      yield* during((done) => inflate.write(piece, done));
      return isEnded ? inflate.bytesWritten - before : piece.length;
    },
    // Only the end itself is the end: a callback may come before the last data.
    end: () => during(() => inflate.end()),
    isEnded: () => isEnded,
    failure: () => failure,
    close: () => inflate.destroy(),
  };
}

/** Lines of pieces, and how many bytes they have with their line ends; undefined: of the last line, which has none. */
interface SomeLines {
  readonly lines: readonly Line[];
  readonly ended: number | undefined;
}

/** `before`: lines that are before the first piece. */
async function* linesIn(
  source: AsyncIterable<Buffer>,
  damage: () => Damage | undefined,
  before: number,
): AsyncGenerator<SomeLines> {
  let rest: Buffer = Buffer.alloc(0);
  let number = before;
  /** Bytes that came, and were not told of as those of lines. */
  let untold = 0;
  /** The beginning of a line that is too long, while its end is looked for. */
  let tooLong: Buffer | undefined;

  for await (let piece of source) {
    const lines: Line[] = [];
    untold += piece.length;
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
    const open = rest.length;
    if (open > LONGEST_LINE) {
      tooLong = Buffer.from(rest.subarray(0, LONGEST_LINE));
      rest = Buffer.alloc(0);
    }
    number += lines.length;
    if (lines.length === 0) continue;
    yield { lines, ended: untold - open };
    untold = open;
  }
  if (tooLong !== undefined) yield { lines: [longLine(number + 1, tooLong)], ended: undefined };
  else if (rest.length > 0) {
    const problem = damage()?.ofLine;
    const lines = split(rest, number).map((line) => (problem === undefined ? line : { ...line, problem }));
    yield { lines, ended: undefined };
  }
}

/** Lines of a buffer that ends where a line ends; numbers go on from `before`. */
function split(whole: Buffer, before: number): Line[] {
  const first = before + 1;
  if (isUtf8(whole))
    return whole
      .toString('utf8')
      .split('\n')
      .map((text, n) => lineOf(first + n, text, 'utf8'));
  // Each by itself: one that is no UTF-8 leaves the others as they are.
  const texts = whole.toString('latin1').split('\n');
  return texts.map((text, n) => {
    const bytes = Buffer.from(text, 'latin1');
    const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
    return lineOf(first + n, bytes.toString(encoding), encoding);
  });
}

function lineOf(number: number, written: string, encoding: 'utf8' | 'latin1'): Line {
  const withEnd = number === 1 ? written.replace(/^\ufeff/, '') : written;
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
