/** Knows whether anything is being done. Work enters and leaves, and is suspended while it waits. */
export class IdleTracker {
  #working = 0;
  #watchers: (() => void)[] = [];

  enter(): void {
    this.#working += 1;
  }

  leave(): void {
    this.#working -= 1;
    if (this.#working === 0) for (const wake of this.#watchers.splice(0)) wake();
  }

  /** Resolves when nothing is being done. */
  idle(): Promise<void> {
    return this.#working === 0 ? Promise.resolve() : new Promise((resolve) => this.#watchers.push(resolve));
  }

  /**
   * Waits until what `arrange` arranged resolves, or rejects with the signal's reason; `arrange` returns what calls it
   * off. Whoever wakes the sleeper makes it active again before they leave, so `idle` never comes between.
   */
  suspend<T>(signal: AbortSignal, arrange: (resolve: (value: T) => void) => () => void): Promise<T> {
    signal.throwIfAborted();
    return new Promise<T>((resolve, reject) => {
      let callOff: (() => void) | undefined;
      let awake = false;
      const wake = (then: () => void): void => {
        if (awake) return;
        awake = true;
        callOff?.();
        signal.removeEventListener('abort', aborted);
        this.enter();
        then();
      };
      const aborted = (): void => wake(() => reject(signal.reason as Error));
      signal.addEventListener('abort', aborted);
      callOff = arrange((value) => wake(() => resolve(value)));
      this.leave();
    });
  }
}
