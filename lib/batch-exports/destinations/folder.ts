import { randomUUID } from 'node:crypto';
import { mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import * as z from 'zod';
import { invalid, messageOf, Permanent, Transient } from '../../errors.ts';
import type { Delivery, Destination, Reach, Receipt } from './destination.ts';
import { checkFileConfig, FILE_KEYS, objectBytes, objectName, SAMPLE_SLOT } from './files.ts';

const FolderConfig = z.object({ path: z.string(), prefix: z.string().default(''), ...FILE_KEYS });

type FolderConfig = z.infer<typeof FolderConfig>;

/** A finished file that waits, hidden, beside its place. */
interface FolderReceipt extends Receipt {
  readonly file: string;
  readonly target: string;
  /** Inode and time of change, which a rename keeps: the mark by which a file in its place is known as ours. */
  readonly mark: string;
}

/**
 * A folder of this machine. `deliver` writes and syncs a file in a hidden folder beside its place
 * (`.<name>.partial/`); `commit` renames it into place.
 */
export const folder: Destination<FolderConfig> = {
  type: 'Folder',
  config: FolderConfig,
  secrets: [],
  addresses: [],

  check(config, _model, { folderRoots }) {
    checkFileConfig(config);
    const { path, prefix } = config;
    if (!isAbsolute(path) || path.includes('\0')) {
      invalid('destination', `path must be an absolute path, such as ${join(sep, 'srv', 'exports')}.`);
    }
    if (folderRoots === undefined) invalid('destination', 'This deployment does not offer folders.');
    if (folderRoots !== null && !isBelow(resolve(path), folderRoots)) {
      invalid('destination', `path must lie below one of: ${folderRoots.join(', ')}.`);
    }
    if (prefix.split('/').some((name) => name === '.' || name === '..')) {
      invalid('destination', "prefix may not hold '.' or '..' as a folder's name.");
    }
    const target = placeOf(config, SAMPLE_SLOT);
    const longest = Math.max(...target.split(sep).map((name) => Buffer.byteLength(name)));
    if (longest > MAX_NAME_BYTES || Buffer.byteLength(target) > MAX_PATH_BYTES) {
      invalid(
        'destination',
        `path and prefix are too long: at most ${MAX_NAME_BYTES} bytes a name, ${MAX_PATH_BYTES} in all.`,
      );
    }
  },

  steps: [
    {
      name: 'Check that the folder can be written',
      description: 'Writes an empty file into the folder and removes it.',
      async run({ path }, _outbound, reach) {
        await explained(path, async () => {
          await checkRoots(path, reach);
          await mkdir(path, { recursive: true });
          const probe = join(path, `.${randomUUID()}.partial`);
          await (await open(probe, 'wx')).close();
          await rm(probe);
        });
      },
    },
  ],

  async deliver(delivery): Promise<FolderReceipt> {
    const target = placeOf(delivery.config, delivery);
    return explained(target, () => write(delivery, target));
  },

  async commit(delivery, receipt) {
    const { file, target, mark } = receipt as FolderReceipt;
    await explained(target, async () => {
      const isMoved = (await moved(file, target)) || (await markOf(target)) === mark;
      // Neither beside its place nor in it: somebody removed it. The rows are still there.
      if (!isMoved) await rename((await write(delivery, target)).file, target);
      await syncFolder(dirname(target));
      await removePartials(target);
    });
  },

  async discard(delivery, receipt) {
    const target = (receipt as FolderReceipt | undefined)?.target ?? placeOf(delivery.config, delivery);
    await explained(target, () => removePartials(target));
  },
};

/** Limits of Linux, less what `.<name>.partial/<uuid>` adds while a file is unfinished. */
const MAX_NAME_BYTES = 255 - '..partial'.length;
const MAX_PATH_BYTES = 4095 - '..partial/'.length - randomUUID().length;

/** The absolute path of a slot's file, always below the folder. */
function placeOf(config: FolderConfig, slot: Parameters<typeof objectName>[1]): string {
  const target = join(config.path, objectName(config, slot));
  if (!isBelow(target, [resolve(config.path)])) {
    throw new Permanent(`File '${target}' would lie outside the folder '${config.path}'. Correct the prefix.`);
  }
  return target;
}

/** Where unfinished files of one target lie: on the same file system, out of sight, found without a listing. */
const partialsOf = (target: string): string => join(dirname(target), `.${basename(target)}.partial`);

const removePartials = (target: string): Promise<void> =>
  rm(partialsOf(target), { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });

function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => {
    const way = relative(root, path);
    return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  });
}

/** Refuses a path that leads outside the allowed roots, through a symbolic link too. */
async function checkRoots(path: string, { folderRoots }: Reach): Promise<void> {
  if (folderRoots === null) return;
  const roots = await Promise.all((folderRoots ?? []).map(realPlace));
  const place = await realPlace(path);
  if (!isBelow(place, roots)) {
    throw new Permanent(`'${place}' is outside the folders that exports may write to: ${roots.join(', ') || 'none'}.`);
  }
}

/** A path without symbolic links; what does not exist yet is taken as it is. */
async function realPlace(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(await realPlace(dirname(path)), basename(path));
  }
}

/** Writes the file beside its place, and takes away what earlier attempts left there. */
async function write(delivery: Delivery<FolderConfig>, target: string): Promise<FolderReceipt> {
  const { config, reach, signal } = delivery;
  await checkRoots(dirname(target), reach);
  await makeFolder(dirname(target));
  await removePartials(target);
  const partials = partialsOf(target);
  await mkdir(partials, { recursive: true });
  const path = join(partials, randomUUID());
  try {
    await using file = await open(path, 'wx');
    await file.writeFile(objectBytes(config, delivery), { signal });
    await file.sync();
    const { size } = await file.stat();
    return { bytes: size, file: path, target, mark: (await markOf(path)) ?? '' };
  } catch (error) {
    await removePartials(target);
    signal.throwIfAborted();
    throw error;
  }
}

/** Makes a folder and its parents, durably. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

/** Makes a rename or a new name in the folder survive a loss of power. */
async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}

/** False: there was nothing to move. */
async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

async function markOf(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeNs, size } = await stat(path, { bigint: true });
    return `${ino}-${mtimeNs}-${size}`;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code;

/** What a person can do about an error of the file system. Full disks are often emptied: those are tried again. */
const ADVICE: ReadonlyMap<string, { advice: string; failure: typeof Permanent | typeof Transient }> = new Map(
  Object.entries({
    ENOSPC: { advice: 'The disk is full: free some space.', failure: Transient },
    EDQUOT: { advice: 'The disk quota is used up: free some space.', failure: Transient },
    EMFILE: { advice: 'Too many open files.', failure: Transient },
    EACCES: {
      advice: 'Permission denied: let the service write to this folder, or choose another path.',
      failure: Permanent,
    },
    EPERM: {
      advice: 'Not permitted: let the service write to this folder, or choose another path.',
      failure: Permanent,
    },
    EROFS: { advice: 'The file system is read-only: choose another path.', failure: Permanent },
    ENOTDIR: {
      advice: 'A part of the path is a file, not a folder: choose another path or prefix.',
      failure: Permanent,
    },
    EEXIST: { advice: 'A file is in the way of a folder: choose another path or prefix.', failure: Permanent },
    EISDIR: {
      advice: 'A folder is in the place of the file: remove it, or choose another prefix.',
      failure: Permanent,
    },
    ENAMETOOLONG: { advice: 'The name is too long: choose a shorter path or prefix.', failure: Permanent },
    ELOOP: { advice: 'Symbolic links go in a circle: choose another path.', failure: Permanent },
    EXDEV: { advice: 'The folder is spread over two file systems: choose another path.', failure: Permanent },
    EINVAL: { advice: 'The file system does not take this name: choose another path or prefix.', failure: Permanent },
  }),
);

/** Turns errors of the file system into what, where and what to do. */
async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined || !(error as NodeJS.ErrnoException).syscall) throw error;
    const { advice, failure } = ADVICE.get(code) ?? { advice: messageOf(error), failure: Transient };
    throw new failure(`Could not write '${path}'. ${advice}`, { cause: error });
  }
}
