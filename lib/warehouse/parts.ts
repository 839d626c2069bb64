/** Bytes come from a worker in parts of any length. */
import { packingOf } from './packing.ts';
import type { FormedFile, LineForm } from './warehouse.ts';

const LINE_END = 0x0a;

/** Yields the files that a worker hands over: each is there until the next one is asked for. */
export async function* formedFiles(handed: AsyncIterable<Buffer>): AsyncGenerator<FormedFile> {
  for await (const file of handed) yield JSON.parse(file.toString()) as FormedFile;
}

/** Yields the lines that a worker gives in parts: packed as they come, else in pieces of whole ones, the last with its end. */
export async function* piecesOf(
  parts: AsyncIterable<Buffer> | Iterable<Buffer>,
  form: LineForm,
): AsyncGenerator<Buffer> {
  if (packingOf(form) !== null) {
    yield* parts;
    return;
  }
  const lines = new LineJoiner();
  for await (const part of parts) yield* lines.add(part);
  yield* lines.rest();
}

/** Parts are joined to pieces of about so many bytes: whoever packs them waits for another thread at each piece. */
const PIECE_BYTES = 512 * 1024;

class LineJoiner {
  /** What is to be joined; in the last of them a line may be cut. */
  #parts: Buffer[] = [];
  #bytes = 0;

  *add(part: Buffer): Generator<Buffer> {
    this.#keep(part);
    const end = part.lastIndexOf(LINE_END) + 1;
    if (this.#bytes < PIECE_BYTES || end === 0) return;
    this.#parts[this.#parts.length - 1] = part.subarray(0, end);
    yield this.#joined();
    if (end < part.length) this.#keep(part.subarray(end));
  }

  /** What is left when all parts have come. */
  *rest(): Generator<Buffer> {
    if (this.#bytes > 0) yield this.#joined();
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    this.#bytes += part.length;
  }

  #joined(): Buffer {
    const joined = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return joined;
  }
}
