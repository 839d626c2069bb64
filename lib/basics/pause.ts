import { setTimeout } from 'node:timers/promises';

/** Resolves after so many milliseconds; rejects with the signal's own reason when that is aborted before. */
export const pause = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  setTimeout(milliseconds, undefined, { signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
