import type { Op } from '../ports/table/table.ts';

interface LateWritesOptions {
  /** Writes ops without conditions, each by itself. */
  readonly write: (ops: readonly Op[]) => Promise<unknown>;
  /** Rings once, some time later. Returns what calls it off. */
  readonly later: (ring: () => void) => () => void;
}

/** Writes ops together, some time after the first of them was there. A process that dies before that loses them. */
export class LateWrites {
  readonly #options: LateWritesOptions;
  readonly #writing = new Set<Promise<unknown>>();
  #waiting: Op[] = [];
  #callOff: (() => void) | undefined;

  constructor(options: LateWritesOptions) {
    this.#options = options;
  }

  add(op: Op): void {
    this.#waiting.push(op);
    this.#callOff ??= this.#options.later(() => this.#writeAll());
  }

  /** Writes what waits. Resolves when nothing is being written any more. */
  async end(): Promise<void> {
    this.#callOff?.();
    if (this.#waiting.length > 0) this.#writeAll();
    await Promise.allSettled(this.#writing);
  }

  #writeAll(): void {
    const ops = this.#waiting;
    this.#waiting = [];
    this.#callOff = undefined;
    const writing = this.#options.write(ops).finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }
}
