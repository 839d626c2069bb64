import type { IncomingMessage } from 'node:http';

/**
 * The whole body; undefined when it is larger than the limit (the rest is not read), or when `take`, which is told of each
 * piece before it is kept, says that there is no room for it. Throws when it is cut off.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  take: (bytes: number) => boolean = () => true,
): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit || !take(chunk.length)) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** Reads on, and keeps nothing: many clients read no answer before they have sent all. After so many bytes it stops. */
export async function drain(request: IncomingMessage, limit: number): Promise<void> {
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return;
  }
}
