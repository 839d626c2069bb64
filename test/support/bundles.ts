import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bundles, bundle } from '../../infra/aws/bundle.ts';
import { flat } from '../../infra/aws/functions.ts';
import { contentHash } from './content-hash.ts';
import { ROOT } from './source.ts';

const CACHE = join(ROOT, 'node_modules/.cache/bundles');

/** Returns the functions' bundles, which are made once for the same sources and packages: 60 of them take 15 s. */
export async function cachedBundles(): Promise<Bundles> {
  const folder = join(CACHE, contentHash(['functions', 'infra/aws', 'lib']));
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
