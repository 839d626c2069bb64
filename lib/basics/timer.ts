import { DAY_MS } from './units.ts';

/** Rings once after `milliseconds` (at most 2^31 - 1). Returns the function that calls it off. */
export type Timer = (milliseconds: number, ring: () => void) => () => void;

export const systemTimer: Timer = (milliseconds, ring) => {
  const timeout = setTimeout(ring, milliseconds);
  return () => clearTimeout(timeout);
};

/** What time it is, in milliseconds since 1970, and what rings when some of it has passed. */
export interface Time {
  readonly clock: () => number;
  readonly timer: Timer;
}

/** A timer holds 31 bits of milliseconds, 24.8 days; an alarm that is further away is armed again after 24 days. */
const MAX_TIMER_MS = 24 * DAY_MS;

/** Rings when the clock reaches the instant, however far, or now if it has. Returns what calls it off. */
export function alarm(instant: number, { clock, timer }: Time, ring: () => void): () => void {
  let callOff: (() => void) | undefined;
  const arm = (): void => {
    const rest = instant - clock();
    if (rest <= 0) ring();
    else callOff = timer(Math.min(rest, MAX_TIMER_MS), arm);
  };
  arm();
  return () => callOff?.();
}
