/** What a service and its worker say to each other: frames of bytes over one socket, each of a kind. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** `task` goes to the worker; of the others, any number of `bytes` and then one `result` or `error` come back. */
export type FrameKind = 'task' | 'bytes' | 'result' | 'error';

export interface Frame {
  readonly kind: FrameKind;
  readonly body: Buffer;
}

/** Before each body: its length in bytes, then the number of its kind. */
const HEADER_BYTES = 5;
const KINDS: readonly FrameKind[] = ['task', 'bytes', 'result', 'error'];

/** Yields the frames of a stream. Throws the stream's error; ends when it ends, also within a frame. */
export async function* framesOf(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  const header = Buffer.alloc(HEADER_BYTES);
  let known = 0;
  let body: Buffer | undefined;
  let filled = 0;
  for await (const chunk of source) {
    for (let from = 0; from < chunk.length; ) {
      if (body === undefined) {
        const taken = chunk.copy(header, known, from);
        known += taken;
        from += taken;
        if (known < HEADER_BYTES) break;
        body = Buffer.allocUnsafeSlow(header.readUInt32LE(0));
        filled = 0;
      }
      const taken = chunk.copy(body, filled, from);
      filled += taken;
      from += taken;
      if (filled < body.length) continue;
      const kind = KINDS[header[HEADER_BYTES - 1] ?? 0] ?? 'error';
      const whole = { kind, body };
      body = undefined;
      known = 0;
      yield whole;
    }
  }
}

/** Writes a frame, and waits while the reader is behind. */
export async function writeFrame(stream: Writable, kind: FrameKind, body: Uint8Array): Promise<void> {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(body.length, 0);
  header[HEADER_BYTES - 1] = KINDS.indexOf(kind);
  stream.cork();
  stream.write(header);
  const isTaken = stream.write(body);
  stream.uncork();
  if (!isTaken) await once(stream, 'drain');
}

/** The body of a frame that is JSON. */
export const jsonBody = (value: unknown): Buffer => Buffer.from(JSON.stringify(value ?? null));
