import { SingleBar } from 'cli-progress';

/** How far a long command is. */
export interface Progress {
  update(done: number, total: number, note: string): void;
  end(): void;
}

/** Nobody watches. */
export const silentProgress = (): Progress => ({ update: () => {}, end: () => {} });

/** A bar on a terminal. */
export function terminalProgress(stream: NodeJS.WriteStream): Progress {
  const bar = new SingleBar({
    format: '{bar} {percentage}%  {note}',
    stream,
    barsize: 30,
    hideCursor: true,
    clearOnComplete: true,
    emptyOnZero: true,
    // Else the bar would end the process at a signal, before the command has ended.
    gracefulExit: false,
  });
  let started = false;
  return {
    update(done, total, note) {
      if (!started) bar.start(total, done, { note });
      else bar.update(done, { note });
      started = true;
    },
    end: () => bar.stop(),
  };
}
