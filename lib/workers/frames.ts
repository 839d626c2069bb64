/** What a service and its worker say to each other: frames of bytes over one socket, each of a kind. */
import type { Writable } from 'node:stream';

/**
 * `task` and `next` go to the worker, which says once that it is `ready` for tasks. For each any number of `bytes` and
 * `handed`, which is JSON, come back, and then one `result` or `error`. After `handed` the worker waits for `next`.
 */
type FrameKind = 'task' | 'bytes' | 'result' | 'error' | 'handed' | 'next' | 'ready';

export interface Frame {
  readonly kind: FrameKind;
  readonly body: Buffer;
}

/** Before each body: its length in bytes, then the number of its kind. */
const HEADER_BYTES = 5;
const KINDS: readonly FrameKind[] = ['task', 'bytes', 'result', 'error', 'handed', 'next', 'ready'];

/**
 * Yields the frames of a stream. One of bytes comes in the parts in which it arrives, for a copy of each would cost as
 * much as all the rest; an empty one is a part. Throws the stream's error; ends when it ends, also within a frame.
 */
export async function* framesOf(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  const header = Buffer.alloc(HEADER_BYTES);
  let known = 0;
  let kind: FrameKind = 'error';
  let left = 0;
  let body: Buffer | undefined;
  for await (const chunk of source) {
    for (let from = 0; from < chunk.length; ) {
      if (known < HEADER_BYTES) {
        const taken = chunk.copy(header, known, from);
        known += taken;
        from += taken;
        if (known < HEADER_BYTES) break;
        kind = KINDS[header[HEADER_BYTES - 1] ?? 0] ?? 'error';
        left = header.readUInt32LE(0);
        body = kind === 'bytes' ? undefined : Buffer.allocUnsafeSlow(left);
        if (left === 0) yield { kind, body: Buffer.alloc(0) };
      }
      const part = chunk.subarray(from, from + left);
      if (body === undefined && part.length > 0) yield { kind, body: part };
      if (body !== undefined) part.copy(body, body.length - left);
      from += part.length;
      left -= part.length;
      if (left > 0) continue;
      if (body !== undefined && body.length > 0) yield { kind, body };
      known = 0;
    }
  }
}

/** Writes a frame. Resolves when the system has taken it: who waits for each does nothing while the reader is behind. */
export async function writeFrame(stream: Writable, kind: FrameKind, body: Uint8Array): Promise<void> {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(body.length, 0);
  header[HEADER_BYTES - 1] = KINDS.indexOf(kind);
  stream.cork();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.write(header);
  stream.write(body, (error) => (error ? reject(error) : resolve()));
  stream.uncork();
  await promise;
}

/** The body of a frame that is JSON. */
export const jsonBody = (value: unknown): Buffer => Buffer.from(JSON.stringify(value ?? null));
