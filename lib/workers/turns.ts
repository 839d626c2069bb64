/** Lets so many pieces of work run at a time, and gives each owner a fair turn among those who wait. */
import { fail } from '../ports/errors.ts';

export interface TurnLimits {
  /** Pieces of work that run at the same time. */
  readonly atOnce: number;
  /** Those of them that may be one owner's; what is left is there for others. */
  readonly each: number;
  /**
   * The longest lines: of one owner, and of all together. Beyond the second an owner of whom nothing waits has one place
   * all the same, so that others cannot keep it out; not where owners are strangers, of whom there may be any number.
   * Absent: without end.
   */
  readonly waiting?: { readonly each: number; readonly all: number; readonly areStrangers?: boolean };
}

/** A line is as long as it may be. */
export class LineFull extends Error {
  override readonly name = 'LineFull';
}

/** When to come again, in seconds: by then whoever has their turn now has had their time. */
const RETRY_AFTER_SECONDS = 10;

/** Ends a request that met `LineFull` with 429; `what` is the sentence that says of what there is too much. */
export const failFull = (what: string): never =>
  fail('throttled', {
    detail: `${what} Try again in ${RETRY_AFTER_SECONDS} seconds.`,
    headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
  });

interface Owner {
  running: number;
  readonly line: Set<() => void>;
}

/**
 * Whose turn is next: of the owners who wait, the one of whom the least runs; of these the one who was served longest
 * ago. An owner's own pieces of work run in the order in which they came.
 */
export class Turns {
  readonly #limits: TurnLimits;
  /** Whoever waits or runs something; who was served last stands last. */
  readonly #owners = new Map<string, Owner>();
  #running = 0;
  #waiting = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Runs `work` in its owner's turn; rejects as `take` does. */
  async run<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const giveBack = await this.take(owner, signal);
    try {
      return await work();
    } finally {
      giveBack();
    }
  }

  /**
   * Waits for a turn and returns what gives it back, once. Rejects with the signal's reason when that is aborted
   * before, and with `LineFull` at once when too many wait already.
   */
  async take(name: string, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    const owner = this.#owners.get(name) ?? { running: 0, line: new Set() };
    const isNext = this.#mayRun(owner);
    if (!isNext && this.#isFull(owner)) throw new LineFull('too much work waits already');
    this.#owners.set(name, owner);
    if (isNext) this.#begin(name, owner);
    else await this.#standInLine(name, owner, signal);
    return () => {
      owner.running -= 1;
      this.#running -= 1;
      this.#putLast(name, owner);
      this.#callNext();
      this.#forget(name, owner);
    };
  }

  #mayRun({ running }: Owner): boolean {
    return this.#running < this.#limits.atOnce && running < this.#limits.each;
  }

  #isFull({ line }: Owner): boolean {
    const { waiting } = this.#limits;
    if (waiting === undefined) return false;
    if (line.size >= waiting.each) return true;
    return this.#waiting >= waiting.all && (line.size > 0 || waiting.areStrangers === true);
  }

  #begin(name: string, owner: Owner): void {
    owner.running += 1;
    this.#running += 1;
    this.#putLast(name, owner);
  }

  #putLast(name: string, owner: Owner): void {
    this.#owners.delete(name);
    this.#owners.set(name, owner);
  }

  #callNext(): void {
    let next: [name: string, owner: Owner] | undefined;
    for (const [name, owner] of this.#owners) {
      if (owner.line.size === 0 || !this.#mayRun(owner)) continue;
      if (next === undefined || owner.running < next[1].running) next = [name, owner];
    }
    if (next === undefined) return;
    this.#begin(...next);
    const [call] = next[1].line;
    call?.();
  }

  #standInLine(name: string, owner: Owner, signal: AbortSignal | undefined): Promise<void> {
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        owner.line.delete(called);
        this.#waiting -= 1;
        signal?.removeEventListener('abort', gone);
      };
      const called = (): void => (leave(), resolve());
      const gone = (): void => (leave(), this.#forget(name, owner), reject(signal?.reason as Error));
      owner.line.add(called);
      signal?.addEventListener('abort', gone);
    });
  }

  #forget(name: string, { running, line }: Owner): void {
    if (running === 0 && line.size === 0) this.#owners.delete(name);
  }
}

/** Returns what runs at most `atOnce` pieces of work at a time, in the order in which they came; rejects as `take` does. */
export function lineOf(atOnce: number): <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  const turns = new Turns({ atOnce, each: atOnce });
  return (work, signal) => turns.run('', work, signal);
}
