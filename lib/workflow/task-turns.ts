import { getOrMake } from '../basics/maps.ts';
import { alarm, type Time } from '../basics/timer.ts';
import { MINUTE_MS } from '../basics/units.ts';
import { Turns } from '../workers/turns.ts';
import type { Background } from './background.ts';
import type { Json } from './workflow.ts';

/** Whose turn tasks take. */
export interface TurnOptions {
  /** Tasks of one line that run at the same time. Executions that wait cost nothing. */
  readonly concurrency?: number;
  /** Returns in which line a task stands, by its name: those of a line take turns among themselves. */
  readonly lineNameOf: (name: string) => string;
  /**
   * Returns whose turn a task takes, by its input; it is asked again when it fails. Of those who wait each has a fair
   * turn, and nobody more than half of a line.
   */
  readonly ownerOf: (input: Json) => Promise<string>;
  /**
   * Returns who answers for an owner, of whose owners together nobody has more than half of a line, but for one task of
   * each of whom nothing runs while more than a quarter is free; undefined: nobody known.
   */
  readonly userOf: (owner: string) => Promise<string | undefined>;
  /**
   * Returns which part of its owner's a task is for, by its name and input: no part has more than half of the owner's places
   * in a line, so that one which holds its places leaves some to the others. Undefined: it may have all of them.
   */
  readonly partOf: (name: string, input: Json) => string | undefined;
  /** Told of a task, by its name and input, that has waited for its turn for a minute: once each time that it waits. */
  readonly onWaiting: (name: string, input: Json) => Promise<void>;
}

/** How long a task waits for its turn before that is told. */
const WAITING_MS = MINUTE_MS;

/** Those who take turns: a part's tasks among themselves, then its owner's among those of all owners. */
interface Line {
  readonly owners: Turns;
  readonly parts: Turns;
}

/** Has each task wait for its turn: that of its part, and then that of its owner. */
export class TaskTurns {
  readonly #options: TurnOptions;
  readonly #time: Time;
  readonly #background: Background;
  readonly #lineFor: (name: string) => Line;

  constructor(options: TurnOptions, time: Time, background: Background) {
    this.#options = options;
    this.#time = time;
    this.#background = background;
    // Tasks wait for disks and networks more than they compute; 8, which one owner may have, keep a small machine busy.
    const { concurrency: atOnce = 16 } = options;
    const each = Math.ceil(atOnce / 2);
    const limits = { atOnce, each, users: { waiting: Infinity, each, left: Math.ceil(atOnce / 4) } };
    const ofPart = { atOnce: Infinity, each: Math.ceil(each / 2) };
    const lines = new Map<string, Line>();
    const newLine = (): Line => ({ owners: new Turns(limits), parts: new Turns(ofPart) });
    this.#lineFor = (name) => getOrMake(lines, options.lineNameOf(name), newLine);
  }

  /** Does the work of a task once it has its turn. */
  async run<T>(name: string, input: Json, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { ownerOf, userOf, partOf, onWaiting } = this.#options;
    const callOff = alarm(this.#time.clock() + WAITING_MS, this.#time, () => {
      void this.#background.run(() => onWaiting(name, input));
    });
    try {
      const owner = await this.#background.durably(signal, () => ownerOf(input));
      const user = await this.#background.durably(signal, () => userOf(owner));
      const part = partOf(name, input);
      const { owners, parts } = this.#lineFor(name);
      const begin = () => (callOff(), work());
      const ofOwner = () => owners.run(owner, begin, signal, user);
      return await (part === undefined ? ofOwner() : parts.run(part, ofOwner, signal));
    } finally {
      callOff();
    }
  }
}
