import { messageOf } from '../basics/text.ts';
import { alarm, type Time } from '../basics/timer.ts';
import { MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import { inWords } from '../ports/disk-failures.ts';
import type { Log } from '../ports/log.ts';
import { Refused, TooLarge } from '../ports/table/table.ts';
import { Halt } from './call-step.ts';
import { IdleTracker } from './idle-tracker.ts';
import { StateError } from './state-error.ts';

/** What failed at the table is tried again after these pauses, without end: until the disk or the table is well again. */
const TABLE_PAUSE_MS = { first: SECOND_MS, longest: MINUTE_MS };

/** What an engine does by itself until it closes: work in the background, pauses, and what must be done at the table. */
export class Background {
  readonly idleTracker = new IdleTracker();
  readonly #time: Time;
  readonly #log: Log;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor(time: Time, log: Log) {
    this.#time = time;
    this.#log = log;
  }

  /** Aborted with a `Halt` when the engine closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#closing.abort(new Halt('closing'));
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Resolves when the work has ended; that it failed is logged. */
  async run(work: () => Promise<void>): Promise<void> {
    this.idleTracker.enter();
    const done = (async () => {
      try {
        await work();
      } catch (error) {
        // A branch that stops, as its execution has ended or the service is closing, has not failed.
        if (!(error instanceof Halt)) this.#log.error('the engine failed', { error });
      }
    })();
    this.#underWay.add(done);
    await done;
    this.#underWay.delete(done);
    this.idleTracker.leave();
  }

  /** Reads or writes the table, and when that fails for want of a disk or a turn, does it again until it is done. */
  async durably<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    for (let pause = TABLE_PAUSE_MS.first; ; pause = Math.min(pause * 2, TABLE_PAUSE_MS.longest)) {
      try {
        return await act();
      } catch (error) {
        if (error instanceof Refused || error instanceof StateError) throw error;
        if (error instanceof TooLarge) throw new StateError('States.DataLimitExceeded', error.message);
        this.#log.error('the table could not be read or written', { reason: messageOf(inWords(error)) });
        await this.sleepUntil(this.#time.clock() + pause, signal);
      }
    }
  }

  async sleepUntil(instant: number, signal: AbortSignal): Promise<void> {
    if (this.#time.clock() >= instant) return;
    await this.idleTracker.suspend<void>(signal, (resolve) => alarm(instant, this.#time, resolve));
  }
}
