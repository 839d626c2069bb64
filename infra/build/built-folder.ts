import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { HOUR_MS } from '../../lib/basics/units.ts';
import { contentHash } from './content-hash.ts';

/** What a build leaves beside its files. */
const RECORD = 'build.json';

/**
 * Lets a folder hold what is made of these files and folders of the repository: it is made anew when one of them, a package
 * or Node has changed. Two processes may ask at once, and whoever dies leaves what was there. `make` writes into an empty
 * folder beside it; what it returned, kept as JSON, is returned again as long as the folder is right.
 */
export async function builtFolder<Made extends object>(
  folder: string,
  madeOf: readonly string[],
  make: (fresh: string) => Promise<Made>,
): Promise<Made> {
  const sources = contentHash(madeOf);
  const held = (): Made | undefined => {
    const path = join(folder, RECORD);
    if (!existsSync(path)) return undefined;
    const { sources: known, ...made } = JSON.parse(readFileSync(path, 'utf8')) as Made & { readonly sources: string };
    return known === sources ? (made as unknown as Made) : undefined;
  };
  const before = held();
  if (before !== undefined) return before;
  mkdirSync(dirname(folder), { recursive: true });
  removeUnfinished(folder);
  const fresh = mkdtempSync(`${folder}-`);
  // Who builds it, for an image or as root, need not be who runs the service.
  chmodSync(fresh, 0o777 & ~process.umask());
  try {
    const made = await make(fresh);
    writeFileSync(join(fresh, RECORD), JSON.stringify({ ...made, sources }));
    // Another process may be reading what it has made meanwhile of the same sources.
    const meanwhile = held();
    if (meanwhile !== undefined) return meanwhile;
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
    return made;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Removes what builds have left that were killed: none takes an hour. */
function removeUnfinished(folder: string): void {
  const beside = dirname(folder);
  const unfinished = new RegExp(`^${basename(folder)}-[A-Za-z0-9]{6}$`);
  for (const name of readdirSync(beside).filter((one) => unfinished.test(one))) {
    const left = statSync(join(beside, name), { throwIfNoEntry: false });
    if (left !== undefined && left.mtimeMs < Date.now() - HOUR_MS)
      rmSync(join(beside, name), { recursive: true, force: true });
  }
}
