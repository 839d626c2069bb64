/** Rings once after `milliseconds` (at most 2^31 - 1). Returns the function that calls it off. */
export type Timer = (milliseconds: number, ring: () => void) => () => void;

export const systemTimer: Timer = (milliseconds, ring) => {
  const timeout = setTimeout(ring, milliseconds);
  return () => clearTimeout(timeout);
};

/** A timer holds 31 bits of milliseconds, 24.8 days; an alarm that is further away is armed again after 24 days. */
const MAX_TIMER_MS = 24 * 24 * 3600 * 1000;

/** Rings when the clock reaches the instant, however far, or now if it has. Returns what calls it off. */
export function alarm(instant: number, clock: () => number, timer: Timer, ring: () => void): () => void {
  let callOff: (() => void) | undefined;
  const arm = (): void => {
    const rest = instant - clock();
    if (rest <= 0) ring();
    else callOff = timer(Math.min(rest, MAX_TIMER_MS), arm);
  };
  arm();
  return () => callOff?.();
}
