/**
 * A folder that an adapter may keep for files that are being written. It is never listed, and no path may begin with
 * it.
 */
export const UNFINISHED = '.unfinished';

/** Returns the names of a path of the spool. Throws `TypeError` when it is no path, or would lead out of the spool. */
export function partsOf(path: string): string[] {
  const parts = path.split('/');
  const escapes = parts.some((part) => part === '' || part === '.' || part === '..' || /[\\\0]/.test(part));
  if (escapes || parts[0] === UNFINISHED) throw new TypeError(`not a path of the spool: ${JSON.stringify(path)}`);
  return parts;
}
