/** Returns the ETag of a version of an object's writable state: the version in quotes. */
export const etagOf = (version: number): string => `"${version}"`;

/** Stands for a tag that we never gave; no object has this version. */
const FOREIGN = -1;

/** Returns the versions in If-Match or If-None-Match; `any` for `*`. Weak tags count: compressing proxies make them. */
export function versionsIn(header: string): number[] | 'any' {
  if (header.trim() === '*') return 'any';
  return header.split(',').map((tag) => Number(/^(?:W\/)?"(\d{1,15})"$/.exec(tag.trim())?.[1] ?? FOREIGN));
}

/** Returns whether the header names this version. A header that was not sent names none. */
export function namesVersion(header: string | undefined, version: number): boolean {
  const versions = header === undefined ? [] : versionsIn(header);
  return versions === 'any' || versions.includes(version);
}
