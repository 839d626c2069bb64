/** Lets at most `count` pieces of work run at a time; the others wait in line, in the order in which they came. */
export class Semaphore {
  #free: number;
  readonly #line = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs `work` when there is room; rejects with the signal's reason when that is aborted before. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#standInLine(signal);
    try {
      return await work();
    } finally {
      const [next] = this.#line;
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #standInLine(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#line.delete(called);
        signal?.removeEventListener('abort', gone);
      };
      const called = (): void => (leave(), resolve());
      const gone = (): void => (leave(), reject(signal?.reason as Error));
      this.#line.add(called);
      signal?.addEventListener('abort', gone);
    });
  }
}
