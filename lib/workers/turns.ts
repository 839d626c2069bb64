/** Lets so many pieces of work run at a time, and gives each owner a fair turn among those who wait. */
import { getOrMake } from '../basics/maps.ts';
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
  /**
   * Users are told apart, each of whom may send the work of many owners: `each` pieces of a user, one by default, run at a
   * time, and so many wait, which are one place in the lines above. Absent: they are not. An owner of whom nothing runs may
   * begin one piece beyond its user's, while more than `left` are free; absent: never.
   */
  readonly users?: { readonly waiting: number; readonly each?: number; readonly left?: number };
}

/** Who waits for work that is done in turns: in whose turn it is, and what is aborted when nobody waits any more. */
export interface Waiter {
  readonly organization: string;
  /** Who asks, by their uuid. Absent: nobody of whom there is anything to count, such as readers of a shared page. */
  readonly user?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A line is as long as it may be: that of a user, or of the owner or all. */
export class LineFull extends Error {
  override readonly name = 'LineFull';
  readonly of: 'owner' | 'user';
  constructor(message: string, of: LineFull['of'] = 'owner') {
    super(message);
    this.of = of;
  }
}

/** When to come again, in seconds: by then whoever has their turn now has had their time. */
const RETRY_AFTER_SECONDS = 10;

/** Ends a request that met `LineFull` with 429; `what` is the sentence that says of what there is too much. */
export const failFull = (what: string): never =>
  fail('throttled', {
    detail: `${what} Try again in ${RETRY_AFTER_SECONDS} seconds.`,
    headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
  });

interface Sharer {
  running: number;
  /** Of an owner: places in its line. */
  waiting: number;
  /** When it came, or had its turn last, counted from 1. */
  servedAt: number;
}

interface Owner extends Sharer {
  /** Who waits, by user. */
  readonly lines: Map<Sharer, Set<() => void>>;
  /** Stands for all whose user is not told. */
  readonly nobody: Sharer;
}

/** A piece of work: whose it is, and who has sent it. */
interface Work {
  readonly name: string;
  readonly owner: Owner;
  readonly userName: string | undefined;
  readonly user: Sharer;
}

/** Those who wait as a user for an owner. */
interface Next {
  readonly owner: Owner;
  readonly user: Sharer;
  readonly line: ReadonlySet<() => void>;
}

/**
 * Whose turn is next: of the owners who wait, the one of whom the least runs; of these the one who was served longest
 * ago, as was its user. A user's own pieces of work for an owner run in the order in which they came.
 */
export class Turns {
  readonly #limits: TurnLimits;
  /** Whoever waits or runs something. */
  readonly #owners = new Map<string, Owner>();
  readonly #users = new Map<string, Sharer>();
  #served = 0;
  #running = 0;
  #waiting = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Runs `work` in its owner's turn; rejects as `take` does. */
  async run<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal, user?: string): Promise<T> {
    const giveBack = await this.take(owner, signal, user);
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
  async take(name: string, signal?: AbortSignal, sentBy?: string): Promise<() => void> {
    signal?.throwIfAborted();
    const userName = this.#limits.users === undefined ? undefined : sentBy;
    const owner = this.#owners.get(name) ?? { ...this.#newcomer(), lines: new Map(), nobody: this.#newcomer() };
    const user = userName === undefined ? owner.nobody : (this.#users.get(userName) ?? this.#newcomer());
    const work: Work = { name, owner, userName, user };
    const isNext = this.#mayRun(owner, user);
    if (!isNext) this.#checkRoom(work);
    this.#owners.set(name, owner);
    if (userName !== undefined) this.#users.set(userName, user);
    if (isNext) this.#begin(owner, user);
    else await this.#standInLine(work, signal);
    return () => {
      this.#running -= 1;
      for (const one of [owner, user]) one.running -= 1;
      this.#putLast(owner, user);
      this.#callNext();
      this.#forget(work);
    };
  }

  #newcomer(): Sharer {
    this.#served += 1;
    return { running: 0, waiting: 0, servedAt: this.#served };
  }

  #mayRun(owner: Owner, user: Sharer): boolean {
    const { atOnce, each, users: { each: eachUser = 1, left = atOnce } = {} } = this.#limits;
    const free = atOnce - this.#running;
    const isFree = user === owner.nobody || user.running < eachUser || (owner.running === 0 && free > left);
    return isFree && free > 0 && owner.running < each;
  }

  /** Throws `LineFull` where one more may not wait. */
  #checkRoom({ owner, user }: Work): void {
    const { waiting, users } = this.#limits;
    if (users !== undefined && user !== owner.nobody && user.waiting >= users.waiting)
      throw new LineFull('too much work of the user waits already', 'user');
    if (waiting === undefined) return;
    const isNew = user === owner.nobody || !owner.lines.has(user);
    const isNewOfAll = user === owner.nobody || user.waiting === 0;
    const isOfAllFull = this.#waiting >= waiting.all && (owner.waiting > 0 || waiting.areStrangers === true);
    if ((isNew && owner.waiting >= waiting.each) || (isNewOfAll && isOfAllFull))
      throw new LineFull('too much work waits already');
  }

  #begin(owner: Owner, user: Sharer): void {
    this.#running += 1;
    for (const one of [owner, user]) one.running += 1;
    this.#putLast(owner, user);
  }

  #putLast(owner: Owner, user: Sharer): void {
    this.#served += 1;
    owner.servedAt = user.servedAt = this.#served;
  }

  /** Lets all run whose turn it is: what has ended may have kept the owner's next work waiting, and the user's. */
  #callNext(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#begin(next.owner, next.user);
      const [call] = next.line;
      call?.();
    }
  }

  #next(): Next | undefined {
    if (this.#running >= this.#limits.atOnce) return undefined;
    let next: Next | undefined;
    let least: readonly number[] = [];
    for (const owner of this.#owners.values())
      for (const [user, line] of owner.lines) {
        if (!this.#mayRun(owner, user)) continue;
        const rank = [owner.running, Math.max(owner.servedAt, user.servedAt), user.servedAt];
        if (next !== undefined && !isBefore(rank, least)) continue;
        [next, least] = [{ owner, user, line }, rank];
      }
    return next;
  }

  #standInLine(work: Work, signal: AbortSignal | undefined): Promise<void> {
    const { owner, user } = work;
    const line = getOrMake(owner.lines, user, () => new Set<() => void>());
    /** Changes how many wait: a user's are one place. */
    const count = (change: 1 | -1): void => {
      const isNobody = user === owner.nobody;
      const beside = change === 1 ? user.waiting : user.waiting - 1;
      if (isNobody || line.size === 0) owner.waiting += change;
      if (isNobody || beside === 0) this.#waiting += change;
      user.waiting += change;
    };
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        line.delete(called);
        count(-1);
        if (line.size === 0) owner.lines.delete(user);
        signal?.removeEventListener('abort', gone);
      };
      const called = (): void => (leave(), resolve());
      const gone = (): void => (leave(), this.#forget(work), reject(signal?.reason as Error));
      count(1);
      line.add(called);
      signal?.addEventListener('abort', gone);
    });
  }

  #forget({ name, owner, userName, user }: Work): void {
    if (owner.running === 0 && owner.lines.size === 0) this.#owners.delete(name);
    if (userName !== undefined && user.running === 0 && user.waiting === 0) this.#users.delete(userName);
  }
}

const isBefore = (one: readonly number[], other: readonly number[]): boolean => {
  const at = one.findIndex((value, n) => value !== other[n]);
  return at >= 0 && (one[at] as number) < (other[at] as number);
};

/** Returns what runs at most `atOnce` pieces of work at a time, in the order in which they came; rejects as `take` does. */
export function lineOf(atOnce: number): <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  const turns = new Turns({ atOnce, each: atOnce });
  return (work, signal) => turns.run('', work, signal);
}
