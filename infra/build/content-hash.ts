import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/**
 * Returns a hash of these files and all files in these folders of the repository, of the versions of its packages, and of
 * that of Node: what is made of them alone is the same as long as the hash is. What is not there is left out: a package
 * or an image of the service has no lockfile.
 */
export function contentHash(places: readonly string[]): string {
  const hash = createHash('sha256').update(process.version);
  for (const path of [...places, 'package.json', 'package-lock.json'].flatMap(filesAt).toSorted()) {
    const content = readFileSync(join(ROOT, path));
    hash.update(`${path} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 32);
}

/** Returns the paths of a file, or of all files in a folder, from the root of the repository. */
function filesAt(place: string): readonly string[] {
  const path = join(ROOT, place);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return readdirSync(path).flatMap((name) => filesAt(join(place, name)));
  return found === undefined ? [] : [place];
}
