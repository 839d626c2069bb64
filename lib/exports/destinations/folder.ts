import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import {
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import * as z from 'zod';
import { messageOf } from '../../basics/text.ts';
import { SECOND_MS } from '../../basics/units.ts';
import { Permanent, Transient } from '../../ports/errors.ts';
import { isBelow } from '../../ports/files/below.ts';
import { orAbsent } from '../../ports/files/or-absent.ts';
import { syncPath } from '../../ports/files/sync-path.ts';
import type { Delivery, Destination, Reach, Receipt } from './destination.ts';
import { checkFileConfig, FILE_KEYS } from './files/config.ts';
import { intervalFiles } from './files/interval-files.ts';
import {
  certainNames,
  fileName,
  type IntervalNames,
  intervalNames,
  longestNames,
  manifestName,
  manifestText,
  strayNames,
} from './files/names.ts';
import { refuseTaken } from './files/owner.ts';
import { refuseConfig } from './refusal.ts';

const FolderConfig = z.object({ path: z.string(), prefix: z.string().default(''), ...FILE_KEYS });

type FolderConfig = z.infer<typeof FolderConfig>;

/** Where an interval's files lie, and whose they are. */
interface FolderInterval {
  readonly exportId: string;
  /** The folder. */
  readonly path: string;
  /** Below it. */
  readonly names: IntervalNames;
}

/** Finished files that wait, hidden, beside their places. */
interface FolderReceipt extends Receipt, FolderInterval {
  /** In the order in which they are put into their places: what says which ones count comes last. */
  readonly files: readonly WaitingFile[];
}

interface WaitingFile {
  /** Where it waits. */
  readonly from: string;
  /** Below the folder. */
  readonly name: string;
  /** Time of change and size, which a rename keeps: the mark by which a file in its place is known as ours. */
  readonly mark: string;
}

/**
 * A folder of this machine. `deliver` writes and syncs the files in a hidden folder beside their places
 * (`.<name>.<export id>.partial/`); `commit` links them into place, the manifest last if there is one, and then removes
 * what does not count any more. A link is refused where something is, and that is replaced only if it is the export's: if
 * its mark stands in `.<name>.<export id>.owner` beside it, which has a line for each file that the export has put there.
 */
export const folder: Destination<FolderConfig, FolderReceipt> = {
  type: 'Folder',
  config: FolderConfig,
  secrets: [],
  addresses: [],

  check(config, _model, { folderRoots, dataDirectory }) {
    checkFileConfig(config);
    const { path, prefix } = config;
    if (!isAbsolute(path) || path.includes('\0')) {
      refuseConfig(`path must be an absolute path, such as ${join(sep, 'srv', 'exports')}.`);
    }
    if (folderRoots === undefined)
      refuseConfig('Folder is not offered here. On one machine whoever runs the service allows it with FOLDER_ROOTS.');
    if (folderRoots !== null && !isBelow(resolve(path), folderRoots)) {
      refuseConfig(`path must lie below one of: ${folderRoots.join(', ')}.`);
    }
    if (prefix.split('/').some((name) => name === '.' || name === '..')) {
      refuseConfig("prefix may not hold '.' or '..' as a folder's name.");
    }
    const targets = longestNames(config).map((name) => placeOf(config.path, name));
    if (dataDirectory !== null && [path, ...targets].some((target) => isBelow(resolve(target), [dataDirectory]))) {
      refuseConfig(`path must not lie in '${dataDirectory}', where the service keeps its own files.`);
    }
    const longest = Math.max(...targets.flatMap((target) => target.split(sep)).map((name) => Buffer.byteLength(name)));
    if (longest > MAX_NAME_BYTES || targets.some((target) => Buffer.byteLength(target) > MAX_PATH_BYTES)) {
      refuseConfig(`path and prefix are too long: at most ${MAX_NAME_BYTES} bytes a name, ${MAX_PATH_BYTES} in all.`);
    }
  },

  steps: [
    {
      name: 'Check that the folder can be written',
      description: 'Writes an empty file into the folder and removes it.',
      run: (config, _outbound, reach) => proveWritable(config, reach),
    },
  ],
  prove: proveWritable,

  places: (config, about) => certainNames(config, about).map((name) => join(config.path, name)),

  async deliver(delivery) {
    return { receipt: await explained(wholePlace(whereabouts(delivery)), () => write(delivery)) };
  },

  async commit(delivery, { receipt }) {
    await explained(wholePlace(receipt), async () => {
      await checkRoots(dirname(wholePlace(receipt)), delivery.reach);
      let ready = receipt;
      if (!(await putInPlace(delivery, ready))) {
        // Somebody removed what was prepared. The rows are still there.
        ready = await write(delivery);
        if (!(await putInPlace(delivery, ready))) {
          throw new Transient(`What was prepared below '${ready.path}' was removed from outside, twice.`);
        }
      }
      await removeStrays(ready);
      await removePut(ready);
    });
  },

  async discard(delivery, prepared) {
    const interval = prepared?.receipt ?? whereabouts(delivery);
    await explained(wholePlace(interval), async () => {
      await checkRoots(dirname(wholePlace(interval)), delivery.reach);
      await removePartials(interval);
    });
  },
};

/** Makes the folder if need be, and writes a file into it, which is removed. */
async function proveWritable({ path }: FolderConfig, reach: Reach): Promise<void> {
  const probing = async (): Promise<void> => {
    await checkRoots(path, reach);
    await makeFolder(path);
    const probe = join(path, `.${randomUUID()}.partial`);
    await (await open(probe, 'wx')).close();
    // Who creates an export waits for it: `rm` would look twice at what it removes.
    await unlink(probe);
  };
  await explained(path, probing, PROBE_ADVICE);
}

/** Linux's limits, less what `.<name>.<export id>.partial/<uuid>` adds while a file is unfinished. Its name is short. */
const MAX_NAME_BYTES = 255 - '..partial'.length;
const MAX_PATH_BYTES = 4095 - '...partial/'.length - 2 * randomUUID().length;

/** Returns the absolute path of a file. Throws `Permanent` when it is not below the folder. */
function placeOf(path: string, name: string): string {
  const target = join(path, name);
  if (!isBelow(target, [resolve(path)])) {
    throw new Permanent(`File '${target}' would lie outside the folder '${path}'. Correct the prefix.`);
  }
  return target;
}

const whereabouts = (delivery: Delivery<FolderConfig>): FolderInterval => ({
  exportId: delivery.exportId,
  path: delivery.config.path,
  names: intervalNames(delivery.config, delivery),
});

/** Returns where the interval's file lies if it has only one. */
const wholePlace = ({ path, names }: FolderInterval): string => placeOf(path, fileName(names, null));

/** Returns a hidden place beside the interval's files, for what its export keeps there: found without a listing. */
function besideOf(interval: FolderInterval, what: 'partial' | 'owner'): string {
  const target = wholePlace(interval);
  return join(dirname(target), `.${basename(target)}.${interval.exportId}.${what}`);
}

/** Returns where unfinished files of one interval lie: on the same file system, out of sight. */
const partialsOf = (interval: FolderInterval): string => besideOf(interval, 'partial');

/** Makes the folder of unfinished files, without what earlier attempts left there. */
async function makePartials(interval: FolderInterval): Promise<void> {
  const partials = partialsOf(interval);
  try {
    await mkdir(partials);
    return;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') await removePartials(interval);
    else await makeFolder(dirname(partials));
  }
  await mkdir(partials, { recursive: true });
}

/** Removes what is left where files waited that are in their places: of linked ones their other names. */
async function removePut(receipt: FolderReceipt): Promise<void> {
  try {
    for (const { from } of receipt.files) await unlink(from);
    await rmdir(partialsOf(receipt));
  } catch {
    // Some were moved, or there is more: a few calls of the system more.
    await removePartials(receipt);
  }
}

const removePartials = (interval: FolderInterval): Promise<void> =>
  rm(partialsOf(interval), { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });

/** Throws `Permanent` when a path leads outside the allowed roots or among the service's files, through a symbolic link too. */
async function checkRoots(path: string, { folderRoots, dataDirectory }: Reach): Promise<void> {
  const [place, own] = await Promise.all([realPathOf(path), dataDirectory === null ? null : realPathOf(dataDirectory)]);
  if (own !== null && isBelow(place, [own])) {
    throw new Permanent(
      `'${place}' is in '${dataDirectory}', where the service keeps its own files. Choose another path.`,
    );
  }
  if (folderRoots === null) return;
  const roots = await Promise.all((folderRoots ?? []).map(realPathOf));
  if (!isBelow(place, roots)) {
    throw new Permanent(`'${place}' is outside the folders that exports may write to: ${roots.join(', ') || 'none'}.`);
  }
}

/** Returns a path without symbolic links; what does not exist yet is taken as it is. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  }
}

/** Writes the files beside their places, and takes away what earlier attempts left there. */
async function write(delivery: Delivery<FolderConfig>): Promise<FolderReceipt> {
  const { config, reach, signal } = delivery;
  const interval = whereabouts(delivery);
  const { names } = interval;
  const partials = partialsOf(interval);
  await checkRoots(dirname(partials), reach);
  await makePartials(interval);
  const files: WaitingFile[] = [];
  let bytes = 0;
  const prepare = async (name: string, content: string | AsyncIterable<Buffer>, path?: string): Promise<number> => {
    const from = join(partials, randomUUID());
    const isThere = path !== undefined && (await tryRename(path, from));
    await using file = await open(from, isThere ? 'r+' : 'wx');
    if (!isThere) await file.writeFile(content, { signal });
    // A file system's own clock may stand still for milliseconds, in which others write files of the same size.
    const now = (performance.timeOrigin + performance.now()) / SECOND_MS;
    await file.utimes(now, now);
    await file.sync();
    const stats = await file.stat({ bigint: true });
    files.push({ from, name, mark: markIn(stats) });
    return Number(stats.size);
  };
  try {
    let isNumbered = false;
    for await (const { n, bytes: content, path } of intervalFiles(config, delivery)) {
      isNumbered = n !== null;
      const name = fileName(names, n);
      for (const place of n === 0 ? [name, manifestName(names)] : [name]) {
        await checkOurs(delivery, interval, placeOf(config.path, place));
      }
      bytes += await prepare(name, content, path);
    }
    if (isNumbered) await prepare(manifestName(names), manifestText(files.map(({ name }) => name)));
    return { ...interval, bytes, files };
  } catch (error) {
    await removePartials(interval);
    signal.throwIfAborted();
    throw error;
  }
}

/** Puts files into their places, in order. Returns false when one of them is neither there nor where it waited. */
async function putInPlace(delivery: Delivery<FolderConfig>, receipt: FolderReceipt): Promise<boolean> {
  const { path, names, files } = receipt;
  const folder = dirname(wholePlace(receipt));
  await using owner = await orAbsent(open(besideOf(receipt, 'owner'), 'a'));
  if (owner === undefined) return false;
  // Before the files, so that none of ours lies there as a stranger's. A line of a process that died may have no end.
  await owner.writeFile(`\n${files.map(({ mark }) => mark).join('\n')}\n`);
  for (const file of files) {
    // A manifest that survives a loss of power names files that do too.
    if (file.name === manifestName(names)) await syncPath(folder);
    if (!(await tryPut(delivery, receipt, file, placeOf(path, file.name)))) return false;
  }
  await Promise.all([owner.sync(), syncPath(folder)]);
  return true;
}

/** File systems that know no links. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** Puts a file into its place, where nothing lies or what is ours. Returns false when it is neither there nor waits. */
async function tryPut(
  delivery: Delivery<FolderConfig>,
  interval: FolderInterval,
  { from, mark }: WaitingFile,
  target: string,
): Promise<boolean> {
  try {
    await link(from, target);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'EEXIST' && code !== 'ENOENT' && !NO_LINKS.has(code)) throw error;
    if (code !== 'ENOENT') {
      await checkOurs(delivery, interval, target);
      if (await moved(from, target)) return true;
    }
    return (await markOf(target)) === mark;
  }
}

/** Throws `Permanent` when a file lies in this place that another export wrote, or somebody else. */
async function checkOurs(delivery: Delivery<FolderConfig>, interval: FolderInterval, target: string): Promise<void> {
  const mark = await markOf(target);
  if (mark === undefined || (await marksIn(besideOf(interval, 'owner'))).has(mark)) return;
  await refuseTaken(delivery, `File '${target}'`, await writerOf(interval, mark));
}

/** Returns the export that put a file with this mark among the interval's; undefined: none did. */
async function writerOf(interval: FolderInterval, mark: string): Promise<string | undefined> {
  const folder = dirname(wholePlace(interval));
  for (const name of await readdir(folder)) {
    const writer = name.startsWith(`.${basename(interval.names.stem)}`) && /\.(.{36})\.owner$/.exec(name)?.[1];
    if (writer && (await marksIn(join(folder, name))).has(mark)) return writer;
  }
  return undefined;
}

/** Returns the marks of the files that an export has put beside; none when there is no such file. */
async function marksIn(path: string): Promise<ReadonlySet<string>> {
  return new Set((await orAbsent(readFile(path, 'utf8')))?.split('\n'));
}

/** Removes files of the export's earlier deliveries of the interval that count no more. They are found without a listing. */
async function removeStrays(receipt: FolderReceipt): Promise<void> {
  const { path, names, files } = receipt;
  const isThere = async (name: string): Promise<boolean> => (await markOf(placeOf(path, name))) !== undefined;
  const counting = new Set(files.map(({ name }) => name));
  const found: string[] = [];
  for (const name of [fileName(names, null), manifestName(names)])
    if (!counting.has(name) && (await isThere(name))) found.push(name);
  // Those with the greatest numbers are removed first, so that the numbers of those that are left have no gap.
  for (let n = 0; await isThere(fileName(names, n)); n += 1) found.push(fileName(names, n));
  const strays = strayNames(names, found, counting);
  if (strays.length === 0) return;
  const ours = await marksIn(besideOf(receipt, 'owner'));
  for (const name of strays) {
    const place = placeOf(path, name);
    const mark = await markOf(place);
    if (mark !== undefined && ours.has(mark)) await rm(place, { force: true });
  }
}

/** Makes a folder and its parents, durably. One at a time: `recursive` tries for ever where nobody may make folders. */
async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  await makeFolder(dirname(path));
  try {
    await mkdir(path);
  } catch (error) {
    // Somebody else was first.
    if (!(await isFolder(path))) throw error;
  }
  await syncPath(dirname(path));
}

async function isFolder(path: string): Promise<boolean> {
  return (await orAbsent(stat(path)))?.isDirectory() === true;
}

/** Moves a file that was formed. Returns false when it has to be copied: it is on another file system, or gone. */
async function tryRename(from: string, to: string): Promise<boolean> {
  try {
    return await moved(from, to);
  } catch (error) {
    if (codeOf(error) !== 'EXDEV') throw error;
    return false;
  }
}

/** Moves a file. Returns false when there is nothing to move. */
const moved = async (from: string, to: string): Promise<boolean> =>
  (await orAbsent(rename(from, to).then(() => true))) ?? false;

/** Returns the mark of a file; undefined when there is none. */
async function markOf(path: string): Promise<string | undefined> {
  const stats = await orAbsent(lstat(path, { bigint: true }));
  return stats === undefined || stats.isDirectory() ? undefined : markIn(stats);
}

/** Not of the inode: a copy that keeps the times of its files keeps their owners. */
const markIn = ({ mtimeNs, size }: BigIntStats): string => `${mtimeNs}-${size}`;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code;

/** What a person can do about an error of the file system, by Node's code. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'The disk is full: free some space.'],
  ['EDQUOT', 'The disk quota is used up: free some space.'],
  ['EMFILE', 'Too many open files: raise the limit of the service.'],
  ['ENFILE', 'Too many open files: raise the limit of this machine.'],
  ['EACCES', 'Permission denied: let the service write to this folder, or choose another path.'],
  ['EPERM', 'Not permitted: let the service write to this folder, or choose another path.'],
  ['EROFS', 'The file system is read-only: make it writable, or choose another path.'],
  ['ENOTDIR', 'A part of the path is a file, not a folder: choose another path or prefix.'],
  ['EEXIST', 'A file is in the way of a folder: choose another path or prefix.'],
  ['EISDIR', 'A folder is in the place of the file: remove it, or choose another prefix.'],
  ['ENAMETOOLONG', 'The name is too long: choose a shorter path or prefix.'],
  ['ELOOP', 'Symbolic links go in a circle: choose another path.'],
  ['EXDEV', 'The folder is spread over two file systems: choose another path.'],
  ['EINVAL', 'The file system does not take this name: choose another path or prefix.'],
]);

/** What is missing in a delivery may have been removed meanwhile; what cannot be made now never can, as below `/proc`. */
const PROBE_ADVICE = new Map([...ADVICE, ['ENOENT', 'There can be no folder: choose another path.']]);

/** Errors that pass, though there is advice: full disks are emptied, and those that are read-only are mounted anew. */
const PASSING: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EROFS']);

/** Does the work. Throws errors of the file system as `Permanent` or `Transient`: what, where and what to do. */
async function explained<T>(path: string, work: () => Promise<T>, adviceOf = ADVICE): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined || !(error as NodeJS.ErrnoException).syscall) throw error;
    const advice = adviceOf.get(code);
    const failure = advice === undefined || PASSING.has(code) ? Transient : Permanent;
    throw new failure(`Could not write '${path}'. ${advice ?? messageOf(error)}`, { cause: error });
  }
}
