/** Builds the console: `node infra/build/console.ts`. `npm start` does it by itself when what it is made of has changed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONSOLE_FOLDER } from '../../lib/api/console/folder.ts';
import type { ConsoleBuild } from '../../lib/api/console/page.ts';
import { builtFolder } from './built-folder.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FOLDER = fileURLToPath(CONSOLE_FOLDER).replace(/\/$/, '');
const ENTRY = 'lib/console/main.tsx';

/** All that the console is made of: its sources with what they import, those of HogQL, and how it is built. */
export const MADE_OF = [
  'lib/basics',
  'lib/charts',
  'lib/console',
  'lib/hogql',
  'lib/http/markup.ts',
  'lib/lake/intervals.ts',
  'infra/build/console.ts',
];

/** Returns what `CONSOLE_FOLDER` holds, which is made anew when what it is made of has changed: a second. */
export const builtConsole = (): Promise<ConsoleBuild> => builtFolder(FOLDER, MADE_OF, build);

/** Returns the names of all functions that queries of insights may call, as HogQL itself has them. */
async function hogqlFunctions(): Promise<readonly string[]> {
  const { FUNCTION_NAMES } = await import('../../lib/hogql/functions.ts');
  const { AGGREGATE_NAMES } = await import('../../lib/hogql/aggregates.ts');
  const { WINDOW_NAMES } = await import('../../lib/hogql/windows.ts');
  return [...new Set([...FUNCTION_NAMES, ...AGGREGATE_NAMES, ...WINDOW_NAMES])].toSorted();
}

const name = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

async function build(fresh: string): Promise<ConsoleBuild> {
  const esbuild = await import('esbuild');
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: [ENTRY],
    outdir: fresh,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    alias: { 'csv-stringify/sync': 'csv-stringify/browser/esm/sync' },
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
  for (const { path, contents } of outputFiles) writeFileSync(join(fresh, name(path)), contents);
  return { script: name(script), style: name(main?.cssBundle ?? ''), first: [...first].map(name) };
}

if (process.argv[1] === import.meta.filename) await builtConsole();
