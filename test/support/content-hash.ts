import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Returns a hash of all files in these folders of the repository, of its packages, and of the version of Node. */
export function contentHash(folders: readonly string[]): string {
  const hash = createHash('sha256').update(process.version);
  const sources = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const path of [...sources.toSorted(), join(ROOT, 'package.json'), join(ROOT, 'package-lock.json')]) {
    const content = readFileSync(path);
    hash.update(`${path} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 32);
}
