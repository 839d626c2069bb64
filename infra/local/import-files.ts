import { createWriteStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FetchedFile, ImportFile } from '../../lib/lake/import/import.ts';
import { clientOf, objectsIn } from '../../lib/ports/files/objects.ts';
import { orNoFile } from '../../lib/ports/files/or-absent.ts';

interface Places {
  /** Makes a path that the caller typed absolute. */
  readonly resolve: (path: string) => string;
  /** Standard input. */
  readonly input: Readable;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Returns the files that words name: a file, a folder with all below it but what is hidden, `-` for standard input, or
 * `s3://bucket/prefix`. Throws when a folder or a prefix has none.
 */
export async function importFiles(words: readonly string[], places: Places): Promise<ImportFile[]> {
  const found: ImportFile[][] = [];
  for (const word of words) {
    const files = await filesOf(word, places);
    if (files.length === 0) throw new Error(`There is no file in ${word}.`);
    found.push(files);
  }
  return found.flat();
}

async function filesOf(word: string, { resolve, input, environment }: Places): Promise<ImportFile[]> {
  if (word === '-') return [standardInput(input)];
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/s.exec(word) ?? [];
  if (bucket !== undefined) return objectsOf(bucket, prefix, environment);
  const path = resolve(word);
  const about = await orNoFile(stat(path));
  return about?.isDirectory() === true ? filesBelow(path) : [path];
}

const standardInput = (input: Readable): FetchedFile => ({
  name: 'standard input',
  size: 0,
  save: (localFile, signal) => pipeline(input, createWriteStream(localFile), { signal }),
});

async function objectsOf(bucket: string, prefix: string, environment: NodeJS.ProcessEnv): Promise<FetchedFile[]> {
  const objects = objectsIn(clientOf(environment), bucket);
  const found: FetchedFile[] = [];
  for await (const { key, size } of objects.list(prefix))
    found.push({
      name: `s3://${bucket}/${key}`,
      size,
      save: (localFile, signal) => objects.save(key, localFile, signal),
    });
  return found;
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !/(^|\/)\./.test(path.slice(folder.length)))
    .toSorted();
}
