/** Names that ICU has, and `Intl` with it, but no tz database: neither `Temporal` nor Athena knows what they mean. */
const ICU_ALONE = /^(?:(?:A[CEGRS]|B[ES]|C[ANST]|E[AC]|I[ES]|JS|MI|N[ES]|P[LNRS]|SS|VS)T|SystemV\/.*)$/i;

/**
 * Returns the name that every tz database has for a time zone, whichever of its names, and however written, this one is;
 * undefined: it names none. An offset such as `+01:00` names none: a zone knows its changes of clocks.
 */
export function timeZoneOf(name: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/.test(name) || ICU_ALONE.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
