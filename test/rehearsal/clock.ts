/** The rehearsal's clock: the system's, and ahead of it by what was skipped. What waits for a skipped instant is woken. */
import { systemTimer, type Timer } from '../../lib/basics/timer.ts';

export interface RehearsalClock {
  /** Now, in milliseconds since 1970. */
  readonly now: () => number;
  /** How far it is ahead of the system's, in milliseconds. */
  readonly offset: () => number;
  readonly timer: Timer;
  advance(milliseconds: number): void;
}

export function rehearsalClock(): RehearsalClock {
  let offset = 0;
  const now = (): number => Date.now() + offset;
  const waiting = new Set<{ readonly at: number; readonly ring: () => void }>();
  return {
    now,
    offset: () => offset,
    timer: (milliseconds, ring) => {
      const ringOnce = (): void => {
        callOff();
        ring();
      };
      const one = { at: now() + milliseconds, ring: ringOnce };
      const stop = systemTimer(milliseconds, ringOnce);
      const callOff = (): void => {
        stop();
        waiting.delete(one);
      };
      waiting.add(one);
      return callOff;
    },
    advance: (milliseconds) => {
      offset += milliseconds;
      for (const one of waiting) if (one.at <= now()) one.ring();
    },
  };
}
