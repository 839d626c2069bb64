/** Instants in fields of date and time. */

const MINUTE_MS = 60_000;
/** `2026-01-05T07:00` */
const LENGTH = 16;

/** Returns an instant as a field of date and time has it, by the clock of the reader. */
export function localOf(at: string): string {
  const instant = new Date(at);
  return new Date(instant.getTime() - instant.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, LENGTH);
}
