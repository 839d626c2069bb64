import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseSync } from '@swc/core';
import standalone from 'ajv/dist/standalone/index.js';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import * as templates from '../../lib/dashboards/templates/check.ts';
import { REFERENCE_FILES } from '../../lib/http/reference.ts';
import { FUNCTIONS, type FunctionSpec, flat } from './functions.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** What lies beside a function's code as its package has it. */
type Package = readonly [name: string, files?: readonly string[]];

/** DuckDB is native code, of the function's own processor and system: 64-bit x86 and glibc. */
const CONVERTER: readonly Package[] = [
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

/** Does the function run only on the processor that its native code is made for? */
export const isNative = ({ needs }: FunctionSpec): boolean => needs.includes('converter');

/**
 * Lambda hands a function its credentials in the environment. The SDK's other ways to come by some (profiles, single
 * sign-on, metadata services and the clients for them) are a fifth of a bundle and stay out.
 */
const credentials: Plugin = {
  name: 'credentials',
  setup: (esbuild) => {
    esbuild.onLoad({ filter: /@aws-sdk\/credential-provider-node\/[^/]+\/index\.js$/ }, ({ path }) => ({
      contents: "export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';",
      resolveDir: dirname(path),
    }));
  },
};

/**
 * Rows and models only declare. Each declaration becomes a call that may be left out where nobody reads its result, so
 * that a function carries and makes the shapes of its own row, not those of all rows of its resource.
 */
const declarations: Plugin = {
  name: 'declarations',
  setup: (esbuild) => {
    esbuild.onLoad({ filter: /\/lib\/[\w-]+\/(model|routes)\.ts$/ }, ({ path }) => ({
      contents: withoutEffects(readFileSync(path, 'utf8')),
      loader: 'ts',
    }));
  },
};

/** Bytes from where the parser began to count, which is not the file's first byte. */
interface Span {
  readonly start: number;
  readonly end: number;
}

function withoutEffects(source: string): string {
  // The first character is a statement, so that the program's span begins with the text.
  const text = `;${source}`;
  const { body, span } = parseSync(text, { syntax: 'typescript', target: 'es2024' });
  const made = body
    .map((item) => (item.type === 'ExportDeclaration' ? item.declaration : item))
    .flatMap((item) => (item.type === 'VariableDeclaration' ? item.declarations : []))
    .flatMap(({ init }): Span[] => (init?.type === 'CallExpression' ? [init.span] : []));
  let bytes = Buffer.from(text);
  // From the last to the first: what stands before stays where it is.
  for (const { start, end } of made.toReversed()) {
    const [from, to] = [start - span.start, end - span.start];
    const call = [Buffer.from('/* @__PURE__ */ (() => '), bytes.subarray(from, to), Buffer.from(')()')];
    bytes = Buffer.concat([bytes.subarray(0, from), ...call, bytes.subarray(to)]);
  }
  return bytes.toString();
}

/** What is known before the service runs is in a bundle as its value, without the rows that it was computed from. */
const computed: Plugin = {
  name: 'computed',
  setup: (esbuild) => {
    esbuild.onLoad({ filter: /\/lib\/computed\/[\w-]+\.ts$/ }, async ({ path }) => ({
      contents: Object.entries<unknown>(await import(path))
        .map(([name, value]) => `export const ${name} = JSON.parse(${JSON.stringify(JSON.stringify(value))});`)
        .join('\n'),
    }));
  },
};

/** What checks a dashboard's template is in a bundle as the code that Ajv writes for its schema, which takes 80 ms. */
const compiled: Plugin = {
  name: 'compiled',
  setup: (esbuild) => {
    esbuild.onLoad({ filter: /\/lib\/dashboards\/templates\/check\.ts$/ }, ({ path }) => ({
      contents: `${standalone.default(templates.ajv, templates.isTemplate)}\nexport { validate as isTemplate };`,
      resolveDir: dirname(path),
    }));
  },
};

/**
 * No operation that is used here streams events. The SDK loads its code for them when one does, and esbuild would keep
 * everything that this code might need as it is, in wrappers: a tenth of a bundle.
 */
const eventStreams: Plugin = {
  name: 'event-streams',
  setup: (esbuild) => {
    esbuild.onResolve({ filter: /^@smithy\/core\/event-streams$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: 'event-streams', namespace: 'absent' } : undefined,
    );
    esbuild.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({
      contents: 'export const EventStreamSerde = undefined;',
    }));
  },
};

/** Lambda has no home with profiles in it; the SDK would look for them before its first request. */
const profiles: Plugin = {
  name: 'profiles',
  setup: (esbuild) => {
    esbuild.onLoad({ filter: /\/shared-ini-file-loader\/readFile\.js$/ }, () => ({
      contents: "export const [filePromises, fileIntercept] = [{}, {}]; export const readFile = async () => '';",
    }));
  },
};

/** What zod describes its shapes with as JSON Schema: the reference was made from them when it was computed. */
const descriptions: Plugin = {
  name: 'descriptions',
  setup: (esbuild) => {
    esbuild.onLoad({ filter: /\/zod\/v4\/core\/(to-json-schema|json-schema-processors)\.js$/ }, ({ path }) => ({
      contents: [...readFileSync(path, 'utf8').matchAll(/^export (?:const|function) (\w+)/gm)]
        .map(([, name]) => `export const ${name} = undefined;`)
        .join('\n'),
    }));
  },
};

const S3_FILE = './client-s3.js';

/**
 * The client for customers' buckets is loaded when one is reached, so it is a file beside the function's own: inside of
 * it, esbuild would keep all that both need as it is, in wrappers, also where nobody reaches a bucket.
 */
const bucketClient: Plugin = {
  name: 'bucket-client',
  setup: (esbuild) => {
    esbuild.onResolve({ filter: /^@aws-sdk\/client-s3$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: S3_FILE, external: true } : undefined,
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
  external: [...CONVERTER, ...PARSER, ...REFERENCE].map(([name]) => name),
  // A CommonJS file has no import.meta; its own address is what the sources ask it for.
  define: { 'import.meta.url': 'fileAddress' },
  banner: { js: 'const fileAddress=require("node:url").pathToFileURL(__filename).href;' },
} satisfies BuildOptions;

/**
 * Bundles every function in one pass, each into a folder of its own below `outdir`: CommonJS with the AWS SDK in it
 * starts in the least time. The same sources give the same bytes.
 */
export async function bundle(outdir: string): Promise<Bundles> {
  rmSync(outdir, { recursive: true, force: true });
  const plugins = [entries, declarations, computed, compiled, eventStreams, profiles, descriptions, ...OPTIONS.plugins];
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: FUNCTIONS.map(({ name }) => ({ in: `entry:${name}`, out: join(flat(name), 'index') })),
    outdir,
    plugins: [bucketClient, ...plugins],
    metafile: true,
  });
  const client = await build({
    ...OPTIONS,
    stdin: { contents: "export { S3 } from '@aws-sdk/client-s3';", resolveDir: ROOT },
    plugins,
    write: false,
  });
  const folder = (name: string): string => join(outdir, flat(name));
  for (const spec of FUNCTIONS) {
    // Wherever the folder lies, below a package of ES modules too.
    writeFileSync(join(folder(spec.name), 'package.json'), '{"type":"commonjs"}\n');
    const output = metafile.outputs[relative(ROOT, join(folder(spec.name), 'index.js'))];
    if (output?.imports.some(({ path }) => path === S3_FILE) === true)
      writeFileSync(join(folder(spec.name), S3_FILE), client.outputFiles[0]?.contents ?? '');
    if (isNative(spec)) carry(CONVERTER, folder(spec.name));
    if (spec.needs.includes('parser')) carry(PARSER, folder(spec.name));
    if (spec.name.startsWith('reference/')) carry(REFERENCE, folder(spec.name));
  }
  return { folder, metafile };
}

/** An entry makes the function's handler with the context of just what it needs, and hands it the event alone. */
function entryOf({ name, needs }: FunctionSpec): string {
  const ports = needs.map((need) => (need === 'converter' ? 'converter as warehouse' : need));
  const given = needs.map((need) => (need === 'converter' ? 'warehouse' : need)).join(', ');
  const event = name === 'steps/execution-ended' ? 'endedInput(event)' : 'event';
  const home = ports.filter((port) => !port.startsWith('converter'));
  return [
    `import { handler as made } from './functions/${name}.ts';`,
    `import { ${['contextOf', 'endedInput', ...home].join(', ')} } from './infra/aws/home.ts';`,
    ...(home.length === ports.length ? [] : [`import { converter as warehouse } from './infra/aws/converter.ts';`]),
    `const run = made(contextOf({ ${given} }));`,
    `export const handler = async (event) => run(${event});`,
  ].join('\n');
}

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

function carry(packages: readonly Package[], folder: string): void {
  for (const [name, files = ['.']] of packages) {
    const from = join(ROOT, 'node_modules', name);
    const to = join(folder, 'node_modules', name);
    mkdirSync(to, { recursive: true });
    for (const file of files) cpSync(join(from, file), join(to, file), { recursive: true });
  }
}
