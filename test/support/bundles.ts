import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Bundles, bundle } from '../../infra/aws/bundle.ts';
import { flat } from '../../infra/aws/functions.ts';
import { ROOT } from './source.ts';

const CACHE = join(ROOT, 'node_modules/.cache/bundles');

/** Returns the functions' bundles, which are made once for the same sources and packages: 60 of them take 15 s. */
export async function cachedBundles(): Promise<Bundles> {
  const folder = join(CACHE, contentHash());
  if (!existsSync(folder)) {
    rmSync(CACHE, { recursive: true, force: true });
    mkdirSync(CACHE, { recursive: true });
    const fresh = mkdtempSync(join(CACHE, 'unfinished-'));
    // As below this repository, whose own files are ES modules.
    writeFileSync(join(fresh, 'package.json'), '{"type":"module"}');
    const { metafile } = await bundle(join(fresh, 'functions'));
    writeFileSync(join(fresh, 'metafile.json'), JSON.stringify(metafile));
    renameSync(fresh, folder);
  }
  return {
    folder: (name) => join(folder, 'functions', flat(name)),
    metafile: JSON.parse(readFileSync(join(folder, 'metafile.json'), 'utf8')) as Bundles['metafile'],
  };
}

/** Returns a hash of all that bundles are made of. */
function contentHash(): string {
  const hash = createHash('sha256').update(process.version);
  const sources = ['functions', 'infra/aws', 'lib'].flatMap((folder) =>
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
