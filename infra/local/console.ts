/** Builds the console: `node infra/local/console.ts`. `npm start` does it by itself when what it is made of has changed. */
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
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONSOLE_FOLDER } from '../../lib/api/console/folder.ts';
import type { ConsoleBuild } from '../../lib/api/console/page.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FOLDER = fileURLToPath(CONSOLE_FOLDER);
const RECORD = 'build.json';
const ENTRY = 'lib/console/main.tsx';

/** Returns a hash of all that the console is made of: its sources, those of charts and HogQL, and the versions of packages. */
function sourcesHash(): string {
  const hash = createHash('sha256');
  const files = ['lib/console', 'lib/charts', 'lib/hogql'].flatMap((folder) =>
    existsSync(join(ROOT, folder))
      ? readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
      : [],
  );
  for (const path of [...files.toSorted(), join(ROOT, 'package.json'), import.meta.filename])
    hash.update(`${path.slice(ROOT.length)}\n`).update(readFileSync(path));
  return hash.digest('hex').slice(0, 32);
}

/** Returns what `CONSOLE_FOLDER` holds, which is made anew when what it is made of has changed: a second. */
export async function builtConsole(): Promise<ConsoleBuild> {
  const sources = sourcesHash();
  const record = join(FOLDER, RECORD);
  const known = existsSync(record) ? (JSON.parse(readFileSync(record, 'utf8')) as ConsoleBuild) : undefined;
  return known?.sources === sources ? known : build(sources);
}

/** Returns the names of all functions that queries of insights may call, as HogQL itself has them. */
async function hogqlFunctions(): Promise<readonly string[]> {
  const { FUNCTION_NAMES } = await import('../../lib/hogql/functions.ts');
  const { AGGREGATE_NAMES } = await import('../../lib/hogql/aggregates.ts');
  const { WINDOW_NAMES } = await import('../../lib/hogql/windows.ts');
  return [...new Set([...FUNCTION_NAMES, ...AGGREGATE_NAMES, ...WINDOW_NAMES])].toSorted();
}

const name = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

async function build(sources: string): Promise<ConsoleBuild> {
  const esbuild = await import('esbuild');
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: [ENTRY],
    outdir: FOLDER,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    define: {
      'process.env.NODE_ENV': '"production"',
      HOGQL_FUNCTIONS: JSON.stringify(await hogqlFunctions()),
    },
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  const outputs = Object.entries(metafile.outputs);
  const [script, main] = outputs.find(([, { entryPoint }]) => entryPoint === ENTRY) ?? ['', undefined];
  const first = new Set([script]);
  for (const path of first)
    for (const { path: next, kind } of metafile.outputs[path]?.imports ?? [])
      if (kind === 'import-statement') first.add(next);
  const record: ConsoleBuild = {
    sources,
    script: name(script),
    style: name(main?.cssBundle ?? ''),
    first: [...first].map(name),
  };
  mkdirSync(dirname(FOLDER), { recursive: true });
  const fresh = mkdtempSync(join(FOLDER, '..', 'console-'));
  for (const { path, contents } of outputFiles) writeFileSync(join(fresh, name(path)), contents);
  writeFileSync(join(fresh, RECORD), JSON.stringify(record));
  rmSync(FOLDER, { recursive: true, force: true });
  renameSync(fresh, FOLDER.replace(/\/$/, ''));
  return record;
}

if (process.argv[1] === import.meta.filename) await builtConsole();
