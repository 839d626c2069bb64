import { fail } from '../ports/errors.ts';

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

/** The versions that If-Match names: the object must have one of them. Undefined: it may have any. */
export type IfMatch = readonly number[] | undefined;

/** Returns what If-Match adds to the condition of a write. */
export const inVersion = (ifMatch: IfMatch): { readonly ver?: readonly number[] } =>
  ifMatch === undefined ? {} : { ver: ifMatch };

/** Throws a 412 when the object, as it was read, is not as If-Match wants it. */
export function checkVersion({ ver }: { readonly ver: number }, ifMatch: IfMatch): void {
  if (ifMatch !== undefined && !ifMatch.includes(ver)) fail('precondition_failed');
}
