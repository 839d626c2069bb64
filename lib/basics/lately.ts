/**
 * Returns whether something was at an instant less than so many milliseconds ago. What was at a later time than now, as
 * before the clock was set back, was not lately: it would be so for longer than it was meant.
 */
export const wasLately = (at: number, now: number, milliseconds: number): boolean =>
  at <= now && now < at + milliseconds;
