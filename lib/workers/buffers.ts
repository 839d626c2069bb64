import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * By default V8 collects garbage after every few megabytes of buffers, however small its heap is: over a delivery's rows
 * that takes a third of all time. So counted, it does so a fifth as often; a process then holds some 150 MB more.
 */
export function collectBuffersRarely(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit');
}

/** Gives back the buffers that nothing needs any more: some 20 ms where the heap is small. */
export function collectBuffers(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;
  collect();
  // V8 gives buffers back in a thread of its own, for which the next collection waits.
  collect({ type: 'minor' });
}
