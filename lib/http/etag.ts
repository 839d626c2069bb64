/** ETags: the version of an object's writable state, in quotes. */

export const etagOf = (version: number): string => `"${version}"`;

/** Stands for a tag that we never gave: no object has this version. */
const FOREIGN = -1;

/**
 * The versions that a header with tags names; undefined when it was not sent, or is `*`. Weak tags count: a proxy that
 * compresses answers weakens ours.
 */
export function versionsIn(header: string | undefined): number[] | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  return header.split(',').map((tag) => Number(/^(?:W\/)?"(\d{1,15})"$/.exec(tag.trim())?.[1] ?? FOREIGN));
}
