/** A folder for files that are being written. It is never listed, and no path may begin with it. */
export const UNFINISHED = '.unfinished';

/** Returns the names of a path of files. Throws `TypeError` when it is no path, or would lead out of their folder. */
export function partsOf(path: string): string[] {
  const parts = path.split('/');
  const escapes = parts.some((part) => part === '' || part === '.' || part === '..' || /[\\\0]/.test(part));
  if (escapes || parts[0] === UNFINISHED) throw new TypeError(`not a path of files: ${JSON.stringify(path)}`);
  return parts;
}
