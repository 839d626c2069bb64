/** Rings once after `milliseconds` (at most 2^31 - 1); the answer calls it off. */
export type Timer = (milliseconds: number, ring: () => void) => () => void;

export const systemTimer: Timer = (milliseconds, ring) => {
  const timeout = setTimeout(ring, milliseconds);
  return () => clearTimeout(timeout);
};

/** A timer holds 31 bits of milliseconds, 24.8 days; what is later is armed again after 24 days. */
const LONGEST = 24 * 24 * 3600 * 1000;

/** Rings when the clock reaches the instant (now, if it has), however far it is; the answer calls it off. */
export function alarm(instant: number, clock: () => number, timer: Timer, ring: () => void): () => void {
  let callOff: (() => void) | undefined;
  const arm = (): void => {
    const rest = instant - clock();
    if (rest <= 0) ring();
    else callOff = timer(Math.min(rest, LONGEST), arm);
  };
  arm();
  return () => callOff?.();
}

/**
 * Knows whether anything is being done. Whoever works has entered; `suspend` leaves while it waits for what only time
 * or somebody else brings.
 */
export class Activity {
  #working = 0;
  #watchers: (() => void)[] = [];

  enter(): void {
    this.#working += 1;
  }

  leave(): void {
    this.#working -= 1;
    if (this.#working === 0) for (const tell of this.#watchers.splice(0)) tell();
  }

  /** Resolves when nobody works. */
  idle(): Promise<void> {
    return this.#working === 0 ? Promise.resolve() : new Promise((resolve) => this.#watchers.push(resolve));
  }

  /**
   * Waits until `arrange` resolves (it answers how to call it off), or rejects with the signal's reason. The one who
   * wakes makes the sleeper active again before he leaves himself, so `idle` never comes between.
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
