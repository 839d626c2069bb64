import { fail, invalid } from '../ports/errors.ts';

/** Returns the ETag of a version of an object's writable state: the version in quotes. */
export const etagOf = (version: number): string => `"${version}"`;

/** Stands for a tag that we never gave; no object has this version. */
const FOREIGN = -1;

/** Returns the versions in If-Match or If-None-Match; `any` for `*`. Weak tags count: compressing proxies make them. */
function versionsIn(header: string): Set<number> | 'any' {
  if (header.trim() === '*') return 'any';
  const tags = header.split(',');
  return new Set(tags.map((tag) => Number(/^(?:W\/)?"(\d{1,15})"$/.exec(tag.trim())?.[1] ?? FOREIGN)));
}

/** Returns whether the header names this version. A header that was not sent names none. */
export function namesVersion(header: string | undefined, version: number): boolean {
  const versions = header === undefined ? new Set() : versionsIn(header);
  return versions === 'any' || versions.has(version);
}

/** The versions that If-Match names: the object must have one of them. Undefined: it may have any. */
export type IfMatch = readonly number[] | undefined;

/** A condition of DynamoDB compares with so many values at most. */
const MAX_VERSIONS = 100;

/** Returns the versions that the header names, if it was sent and is not `*`. Throws a 400 for more than 100. */
export function ifMatchOf(header: string | undefined): IfMatch {
  const versions = header === undefined ? 'any' : versionsIn(header);
  if (versions === 'any') return undefined;
  if (versions.size > MAX_VERSIONS) invalid(null, `If-Match names more than ${MAX_VERSIONS} versions.`);
  return [...versions];
}

/** Returns what If-Match adds to the condition of a write. */
export const inVersion = (ifMatch: IfMatch): { readonly ver?: readonly number[] } =>
  ifMatch === undefined ? {} : { ver: ifMatch };

/** Throws a 412 when the object, as it was read, is not as If-Match wants it. */
export function checkVersion({ ver }: { readonly ver: number }, ifMatch: IfMatch): void {
  if (ifMatch !== undefined && !ifMatch.includes(ver)) fail('precondition_failed');
}
