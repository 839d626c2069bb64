import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { CONSOLE_FOLDER } from '../../lib/api/console/folder.ts';
import { REFERENCE_FILES } from '../../lib/api/reference/page.ts';
import { builtFolder } from '../build/built-folder.ts';
import { builtConsole } from '../build/console.ts';
import { credentials, lean } from './bundle-plugins.ts';
import { FUNCTIONS, flat, type LambdaSpec } from './functions.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** What lies beside a function's code as its package has it. */
type Package = readonly [name: string, files?: readonly string[]];

/** DuckDB is native code, of the function's own processor and system: 64-bit x86 and glibc. */
const DUCKDB: readonly Package[] = [
  ['@duckdb/node-api'],
  ['@duckdb/node-bindings'],
  ['@duckdb/node-bindings-linux-x64'],
];
const PARSER: readonly Package[] = [
  ['@posthog/hogql-parser', ['package.json', 'dist/index.cjs', 'dist/hogql_parser_wasm.cjs']],
];
const REFERENCE: readonly Package[] = [['swagger-ui-dist', ['package.json', ...Object.keys(REFERENCE_FILES)]]];

export interface Bundles {
  /** The folder that a function is deployed from, by the function's name. */
  readonly folder: (name: string) => string;
  /** What went into each, as esbuild tells it. */
  readonly metafile: Metafile;
}

/** Ports that bring native code with them. */
const NATIVE_PORTS = ['converter', 'compactor', 'personDeletions', 'landing', 'lakeWorker'] as const;

/** Does the function run only on the processor that its native code is made for? */
export const isNative = ({ needs }: LambdaSpec): boolean => NATIVE_PORTS.some((port) => needs.includes(port));

interface Beside {
  readonly port: LambdaSpec['needs'][number];
  /** Programs of the worker processes that the port starts. */
  readonly programs: readonly string[];
  readonly packages?: readonly Package[];
}

/** What lies beside the file of a function that needs a port. */
const BESIDE: readonly Beside[] = [
  { port: 'converter', programs: ['lib/warehouse/convert-worker.ts'] },
  {
    port: 'lakeWorker',
    programs: ['lib/insights/answering/answer-worker.ts', 'lib/warehouse/row-worker.ts'],
    packages: PARSER,
  },
  { port: 'queryRunner', programs: ['lib/insights/answering/athena-worker.ts'], packages: PARSER },
  { port: 'compiler', programs: ['lib/exports/query/query-worker.ts'], packages: PARSER },
];

/** What is loaded when it is first needed. */
interface ApartFile {
  /** As an import names it. */
  readonly filter: RegExp;
  readonly file: string;
  readonly contents: string;
}

/**
 * Files beside the function's own: a file is parsed whole before it runs, and inside of it esbuild would keep all that both
 * need as it is, in wrappers. The client for customers' buckets waits for a bucket, that of other functions for something
 * to be computed, what makes markup of Markdown for a text, what writes CSV for who asks for it.
 */
const APART: readonly ApartFile[] = [
  {
    filter: /^@aws-sdk\/client-s3$/,
    file: './client-s3.js',
    contents: "export { S3 } from '@aws-sdk/client-s3';",
  },
  {
    filter: /^@aws-sdk\/client-lambda$/,
    file: './client-lambda.js',
    contents: "export { InvokeCommand, LambdaClient, TooManyRequestsException } from '@aws-sdk/client-lambda';",
  },
  {
    filter: /^\.\/markdown\.ts$/,
    file: './markdown.js',
    contents: "export * from './lib/dashboards/public-page/markdown.ts';",
  },
  {
    filter: /\/charts\/csv\.ts$/,
    file: './csv.js',
    contents: "export * from './lib/charts/csv.ts';",
  },
];

const apart: Plugin = {
  name: 'apart',
  setup: (esbuild) => {
    for (const { filter, file } of APART)
      esbuild.onResolve({ filter }, ({ kind }) =>
        kind === 'dynamic-import' ? { path: file, external: true } : undefined,
      );
  },
};

/** How a function's file is made of its sources. */
export const OPTIONS = {
  absWorkingDir: ROOT,
  plugins: [credentials],
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  mainFields: ['module', 'main'],
  minify: true,
  logLevel: 'error',
  external: [...DUCKDB, ...PARSER, ...REFERENCE].map(([name]) => name),
  // A CommonJS file has no import.meta; its own address is what the sources ask it for.
  define: { 'import.meta.url': 'fileAddress' },
  banner: { js: 'const fileAddress=require("node:url").pathToFileURL(__filename).href;' },
} satisfies BuildOptions;

const FOLDER = join(ROOT, 'build', 'functions');
/** All that the bundles are made of. */
const MADE_OF = ['functions', 'infra/aws', 'infra/build', 'lib'];

/** Returns what `build/functions` holds, which is made anew when what it is made of has changed: half a minute. */
export async function builtBundles(): Promise<Bundles> {
  const { metafile } = await builtFolder(FOLDER, MADE_OF, bundle);
  return { folder: (name) => folderIn(FOLDER, name), metafile };
}

/** Returns the folder of a function's bundle below the one of all. */
export const folderIn = (outdir: string, name: string): string => join(outdir, flat(name));

/**
 * Bundles every function in one pass, each into a folder of its own below `outdir`, which is empty: CommonJS with the
 * AWS SDK in it starts in the least time. The same sources give the same bytes.
 */
export async function bundle(outdir: string): Promise<Pick<Bundles, 'metafile'>> {
  const plugins = [entries, ...lean, ...OPTIONS.plugins];
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: FUNCTIONS.map(({ name }) => ({ in: `entry:${name}`, out: join(flat(name), 'index') })),
    outdir,
    plugins: [apart, ...plugins],
    metafile: true,
  });
  const apartFiles = await Promise.all(
    APART.map(async ({ file, contents }) => {
      const built = await build({ ...OPTIONS, stdin: { contents, resolveDir: ROOT }, plugins, write: false });
      return { file, bytes: built.outputFiles[0]?.contents ?? '' };
    }),
  );
  await builtConsole();
  const programs = new Map(
    await Promise.all(
      BESIDE.flatMap((one) => one.programs).map(async (path) => [path, await programOf(path)] as const),
    ),
  );
  for (const spec of FUNCTIONS) {
    const folder = folderIn(outdir, spec.name);
    // Wherever the folder lies, below a package of ES modules too.
    writeFileSync(join(folder, 'package.json'), '{"type":"commonjs"}\n');
    const output = metafile.outputs[relative(ROOT, join(folder, 'index.js'))];
    for (const { file, bytes } of apartFiles)
      if (output?.imports.some(({ path }) => path === file) === true) writeFileSync(join(folder, file), bytes);
    if (isNative(spec)) carry(DUCKDB, folder);
    for (const one of BESIDE.filter(({ port }) => spec.needs.includes(port))) {
      for (const path of one.programs)
        writeFileSync(join(folder, `${basename(path, '.ts')}.js`), programs.get(path) ?? '');
      carry(one.packages ?? [], folder);
    }
    if (spec.name.startsWith('reference/')) carry(REFERENCE, folder);
    if (spec.name.startsWith('console/')) carryConsole(folder);
  }
  return { metafile };
}

/** Returns the program of a worker process, which lies beside the functions that start it. */
async function programOf(path: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    ...OPTIONS,
    plugins: [...lean, ...OPTIONS.plugins],
    entryPoints: [path],
    write: false,
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

/**
 * An entry makes the function's handler with the context of just what it needs, each port from its own file below
 * `runtime/ports/`, and hands it the event alone. The authorizer gets the scopes of all rows beside it, and the tick, which
 * every stage has from its first minute on, notes the layout of the data.
 */
function entryOf(spec: LambdaSpec): string {
  const { name, needs } = spec;
  const given = needs.map((need) => (need === 'converter' ? 'warehouse' : need)).join(', ');
  const event = name === 'steps/execution-ended' ? 'endedInput(event)' : 'event';
  const isTick = name === 'tick';
  return [
    ...(isNative(spec) ? [`import './infra/aws/runtime/own-disk.ts';`] : []),
    `import { handler as made } from './functions/${name}.ts';`,
    `import { contextOf } from './infra/aws/runtime/context.ts';`,
    `import { endedInput } from './infra/aws/runtime/ended-input.ts';`,
    ...needs.map((port) => `import { ${imported(port)} } from './infra/aws/runtime/ports/${fileOf(port)}.ts';`),
    ...(name === 'authorizer' ? [`import { scopeFor } from './lib/api/methods.ts';`] : []),
    ...(isTick ? [`import { layoutNote } from './infra/aws/runtime/layout-note.ts';`] : []),
    `const context = contextOf({ ${given} });`,
    `const run = made(context${name === 'authorizer' ? ', scopeFor' : ''});`,
    ...(isTick ? ['const note = layoutNote(context);'] : []),
    `export const handler = async (event) => ${isTick ? 'note().then(run)' : `run(${event})`};`,
  ].join('\n');
}

const imported = (port: string): string => (port === 'converter' ? 'converter as warehouse' : port);

const fileOf = (port: string): string => port.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const entries: Plugin = {
  name: 'entries',
  setup: (esbuild) => {
    esbuild.onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice('entry:'.length), namespace: 'entry' }));
    esbuild.onLoad({ filter: /.*/, namespace: 'entry' }, ({ path }) => {
      const spec = FUNCTIONS.find(({ name }) => name === path);
      return spec && { contents: entryOf(spec), loader: 'ts', resolveDir: ROOT };
    });
  },
};

const carryConsole = (folder: string): void =>
  cpSync(fileURLToPath(CONSOLE_FOLDER), join(folder, 'console'), { recursive: true });

function carry(packages: readonly Package[], folder: string): void {
  for (const [name, files = ['.']] of packages) {
    const from = join(ROOT, 'node_modules', name);
    const to = join(folder, 'node_modules', name);
    mkdirSync(to, { recursive: true });
    for (const file of files) cpSync(join(from, file), join(to, file), { recursive: true });
  }
}
