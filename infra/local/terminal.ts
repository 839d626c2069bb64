/** How a command behaves on a terminal, and in a pipe. */

/** Ends the process quietly when whoever reads its output has gone, as `head` does. */
export function endWithReader(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Returns a signal that Ctrl-C aborts, in the place of ending the process; the second Ctrl-C ends it. */
export function interruption(reason: Error): { readonly signal: AbortSignal; readonly end: () => void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort(reason);
  for (const signal of SIGNALS) process.once(signal, abort);
  return {
    signal: controller.signal,
    end: () => {
      for (const signal of SIGNALS) process.off(signal, abort);
    },
  };
}
