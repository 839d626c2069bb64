/** A folder that an adapter may keep for files on their way; never listed, and no path may begin with it. */
export const UNFINISHED = '.unfinished';

/** The names that a path of the spool is made of. Throws `TypeError` for what is none, or would lead out of it. */
export function partsOf(path: string): string[] {
  const parts = path.split('/');
  const escapes = parts.some((part) => part === '' || part === '.' || part === '..' || /[\\\0]/.test(part));
  if (escapes || parts[0] === UNFINISHED) throw new TypeError(`not a path of the spool: ${JSON.stringify(path)}`);
  return parts;
}
