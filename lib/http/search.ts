/** The `search` of lists: a text of which any case is meant. */

/** Returns whether one of these texts holds what is sought; what nobody seeks is everywhere. */
export function holdsText(texts: readonly (string | null | undefined)[], sought = ''): boolean {
  const lower = sought.toLowerCase();
  return lower === '' || texts.some((text) => text?.toLowerCase().includes(lower) === true);
}
