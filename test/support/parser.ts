/**
 * The parser of tests. To read a text takes a tenth of a second, so each is read once, and what it is read as is kept for
 * the other worker and later runs, until a file of `lib/hogql` or a package changes. What is refused is read each time.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash } from '../../infra/build/content-hash.ts';
import { hogqlParser, type Parser } from '../../lib/hogql/parse.ts';

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/parsed');

const grammar = hogqlParser();
let folder: string | undefined;

export const parser: Parser = {
  query: kept('query', (text) => grammar.query(text)),
  expressions: kept('expressions', (texts) => grammar.expressions(texts)),
};

/** Puts each text to the grammar once. */
function kept<Text, Read>(kind: string, read: (text: Text) => Promise<Read>): (text: Text) => Promise<Read> {
  const known = new Map<string, Promise<Read>>();
  return (text) => {
    const key = JSON.stringify(text);
    const given = known.get(key) ?? ofRuns(`${kind} ${key}`, () => read(text));
    known.set(key, given);
    return given;
  };
}

/** Returns what an earlier run has kept under the key, or makes it and keeps it. */
async function ofRuns<Read>(key: string, make: () => Promise<Read>): Promise<Read> {
  folder ??= cacheFolder();
  const path = join(folder, `${createHash('sha256').update(key).digest('hex')}.json`);
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Read;
  } catch {
    const made = await make();
    const unfinished = `${path}.${process.pid}`;
    // A run of other sources, which was begun meanwhile, has removed it.
    mkdirSync(folder, { recursive: true });
    writeFileSync(unfinished, JSON.stringify(made));
    renameSync(unfinished, path);
    return made;
  }
}

/** Returns the folder of today's sources, and removes those of others. */
function cacheFolder(): string {
  const name = contentHash(['lib/hogql']);
  const own = join(CACHE, name);
  mkdirSync(CACHE, { recursive: true });
  for (const other of readdirSync(CACHE))
    if (other !== name) rmSync(join(CACHE, other), { recursive: true, force: true });
  return own;
}
