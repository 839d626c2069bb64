/** The files of imports by request: the parts of what is uploaded, until it is imported, and copies of rejected lines. */
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { MIB } from '../basics/units.ts';
import { fail } from '../ports/errors.ts';
import type { FileStore } from '../ports/files/files.ts';

/** The folder of a data directory in which imports of the command line copy what they reject, by project (`importsOf`). */
export const REJECTED = 'rejected';

/** The folder of a project's imports. */
export const importsOf = (projectId: number): string => `team_id=${projectId}/`;

/** Which import: of a project, by its id. */
interface ImportRef {
  readonly project_id: number;
  readonly id: string;
}

const folderOf = ({ project_id, id }: ImportRef): string => `${importsOf(project_id)}${id}/`;
const partsOf = (of: ImportRef): string => `${folderOf(of)}parts/`;
export const rejectedOf = (of: ImportRef): string => `${folderOf(of)}rejected`;

const partAt = (of: ImportRef, offset: number): string => `${partsOf(of)}${String(offset).padStart(15, '0')}`;

interface Part {
  readonly path: string;
  readonly offset: number;
  readonly size: number;
}

/** Returns the parts of a file that follow one another from its beginning. */
export async function partsIn(files: FileStore, of: ImportRef): Promise<readonly Part[]> {
  const found: Part[] = [];
  let end = 0;
  for await (const { path, size } of files.list(partsOf(of))) {
    const offset = Number(path.slice(path.lastIndexOf('/') + 1));
    if (offset !== end) break;
    found.push({ path, offset, size });
    end += size;
  }
  return found;
}

/** Returns how many bytes parts have together. */
export const sizeOf = (parts: readonly Part[]): number => parts.reduce((sum, { size }) => sum + size, 0);

/** Keeps a part, durably. */
export const keepPart = (files: FileStore, of: ImportRef, offset: number, bytes: Uint8Array): Promise<void> =>
  files.write(partAt(of, offset), bytes);

/** Removes what was uploaded, and the import's folder if nothing was rejected of it. */
export async function removeParts(files: FileStore, of: ImportRef): Promise<void> {
  await files.remove(partsOf(of));
  if (await hasNone(files, folderOf(of))) await files.remove(folderOf(of));
}

/** Returns whether there is no file of this path, nor below it. */
const hasNone = async (files: FileStore, path: string): Promise<boolean> =>
  (await files.list(path)[Symbol.asyncIterator]().next()).done === true;

/** Removes all files of an import. */
export const removeImport = (files: FileStore, of: ImportRef): Promise<void> => files.remove(folderOf(of));

/** Yields each import that has files, once. */
export async function* importFolders(files: FileStore): AsyncGenerator<ImportRef> {
  let last = '';
  for await (const { path } of files.list('')) {
    const [, project, id] = /^team_id=(\d+)\/([^/]+)\//.exec(path) ?? [];
    if (project === undefined || id === undefined || id === last) continue;
    last = id;
    yield { project_id: Number(project), id };
  }
}

/** Writes parts into one local file. Throws a 409 when one is not there. */
export async function joinParts(files: FileStore, paths: readonly string[], target: string): Promise<void> {
  await using file = await open(target, 'w', 0o600);
  for (const path of paths) {
    const bytes = await files.read(path);
    if (bytes === undefined) uploadGone();
    await file.writeFile(bytes);
  }
}

/** The header that says where the rest of what was rejected begins. */
export const NEXT_OFFSET = 'X-Next-Offset';

/** A piece of a copy has at most so many bytes: an answer may have 6 MB. */
export const PIECE_BYTES = 4 * MIB;

/** Whole lines of a text, and where in bytes the rest begins; undefined: there is none. */
interface Piece {
  readonly text: string;
  readonly next: number | undefined;
}

/**
 * Returns a piece of what was rejected, from an offset in bytes. Bytes that are no UTF-8 become U+FFFD. Throws a 404 where nothing
 * was, and what keeps it from being read as it is.
 */
export async function readRejected(files: FileStore, of: ImportRef, offset: number): Promise<Piece> {
  const kept = rejectedOf(of);
  if (await hasNone(files, kept)) fail('not_found', 'There are no rejected lines of the import.');
  const [path = ''] = await files.local([kept], tmpdir());
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, offset);
  const isEnd = offset + bytesRead >= (await file.stat()).size;
  const lastLine = buffer.lastIndexOf(10, bytesRead - 1) + 1;
  const length = isEnd || lastLine === 0 ? bytesRead : lastLine;
  return { text: buffer.toString('utf8', 0, length), next: isEnd ? undefined : offset + length };
}

/** Throws the 409 of an import of which what was uploaded is not there any more. */
export function uploadGone(): never {
  fail('conflict', 'The uploaded file is gone. Import it anew.');
}
