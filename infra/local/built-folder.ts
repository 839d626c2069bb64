import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { contentHash } from './content-hash.ts';

/** What a build leaves beside its files. */
const RECORD = 'build.json';

/** A record of a build. */
interface Build {
  /** A hash of all that the build was made of. */
  readonly sources: string;
}

/**
 * Lets a folder hold what is made of these files and folders of the repository, and returns the record of it: it is made
 * anew when one of them, a package or Node has changed. Two processes may ask at once, and whoever dies leaves what was
 * there. `make` writes into an empty folder beside it; what it returns is kept as JSON.
 */
export async function builtFolder<Made>(
  folder: string,
  madeOf: readonly string[],
  make: (fresh: string) => Promise<Made>,
): Promise<Made & Build> {
  const sources = contentHash(madeOf);
  const held = (): (Made & Build) | undefined => {
    const path = join(folder, RECORD);
    const record = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Made & Build) : undefined;
    return record?.sources === sources ? record : undefined;
  };
  const before = held();
  if (before !== undefined) return before;
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}-`);
  // Who builds it, for an image, need not be who runs the service.
  chmodSync(fresh, 0o777 & ~process.umask());
  try {
    const record = { ...(await make(fresh)), sources };
    writeFileSync(join(fresh, RECORD), JSON.stringify(record));
    // Another process may be reading what it has made meanwhile of the same sources.
    const meanwhile = held();
    if (meanwhile !== undefined) return meanwhile;
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
    return record;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
