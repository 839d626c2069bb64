import { getOrMake } from './maps.ts';

/**
 * What was used last, in memory: as much as fits. The package for it, `lru-cache`, is 19 KB in each function that shows
 * answers, which start in the time that their code takes to be read.
 */
export class Recent<T, Name = string> {
  /** Those used last at the end. */
  readonly #kept = new Map<Name, T>();
  readonly #most: number;
  readonly #sizeOf: (value: T) => number;
  #size = 0;

  /** Keeps values whose sizes are `most` together; without sizes so many. */
  constructor(most: number, sizeOf: (value: T) => number = () => 1) {
    this.#most = most;
    this.#sizeOf = sizeOf;
  }

  has(name: Name): boolean {
    return this.#kept.has(name);
  }

  /** Returns a value, which is the one used last from now on; undefined: it is not kept. */
  get(name: Name): T | undefined {
    const value = this.#kept.get(name);
    if (value === undefined) return undefined;
    this.#kept.delete(name);
    this.#kept.set(name, value);
    return value;
  }

  /** Keeps a value in the place of what has its name. One that is larger than all may be together is not kept. */
  set(name: Name, value: T): void {
    this.delete(name);
    const size = this.#sizeOf(value);
    if (size > this.#most) return;
    this.#kept.set(name, value);
    this.#size += size;
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.#most) break;
      this.delete(oldest);
    }
  }

  delete(name: Name): void {
    const value = this.#kept.get(name);
    if (value === undefined) return;
    this.#size -= this.#sizeOf(value);
    this.#kept.delete(name);
  }
}

/** Returns what gives the memory that an object has of its own, as long as the object lives. */
export function recentOf<T>(most: number, sizeOf?: (value: T) => number): (owner: object) => Recent<T> {
  const memories = new WeakMap<object, Recent<T>>();
  return (owner) => getOrMake(memories, owner, () => new Recent<T>(most, sizeOf));
}
