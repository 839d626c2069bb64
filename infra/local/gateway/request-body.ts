import type { IncomingMessage } from 'node:http';

/**
 * The whole body; undefined when it is larger than the limit (the rest is not read), or when `take`, which is told of each
 * piece before it is kept, says that there is no room for it. Throws when it is cut off.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  take: (bytes: number) => boolean,
): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  if (request.destroyed) throw new Error('The request was cut off.');
  // By its events: an iterator takes as long as all else that is done with a small request.
  return new Promise((resolve, reject) => {
    const end = (): void => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size));
    const close = (): void => {
      if (!request.readableEnded) reject(new Error('The request was cut off.'));
    };
    const data = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit || !take(chunk.length)) {
        request.pause();
        request.off('data', data).off('end', end).off('close', close);
        resolve(undefined);
        return;
      }
      chunks.push(chunk);
    };
    request.on('data', data).on('end', end).on('close', close).on('error', reject);
  });
}

/** Reads on, and keeps nothing: many clients read no answer before they have sent all. After so many bytes it stops. */
export async function drain(request: IncomingMessage, limit: number): Promise<void> {
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return;
  }
}
