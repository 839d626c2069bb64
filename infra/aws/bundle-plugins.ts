/** What esbuild cannot see by itself of the sources and the libraries, so that a bundle carries what its function reads. */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseSync } from '@swc/core';
import type { Loader, Plugin } from 'esbuild';

/** Bundles other text in the place of the files whose paths match. */
function replacement(
  name: string,
  filter: RegExp,
  textOf: (path: string) => string | Promise<string>,
  loader: Loader = 'js',
): Plugin {
  return {
    name,
    setup: (esbuild) => {
      esbuild.onLoad({ filter }, async ({ path }) => ({
        contents: await textOf(path),
        loader,
        resolveDir: dirname(path),
      }));
    },
  };
}

/**
 * Lambda hands a function its credentials in the environment. The SDK's other ways to come by some (profiles, single
 * sign-on, metadata services and the clients for them) are a fifth of a bundle and stay out.
 */
export const credentials = replacement(
  'credentials',
  /@aws-sdk\/credential-provider-node\/[^/]+\/index\.js$/,
  () => "export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';",
);

/**
 * Rows and models only declare. Each declaration becomes a call that may be left out where nobody reads its result, so
 * that a function carries and makes the shapes of its own row, not those of all rows of its resource.
 */
const declarations = replacement(
  'declarations',
  /\/lib\/[\w/-]+\/(model|routes)\.ts$/,
  (path) => withoutEffects(readFileSync(path, 'utf8'), ['CallExpression', 'ObjectExpression']),
  'ts',
);

/**
 * A client of the SDK describes the shapes of all its operations in lists. esbuild cannot know that making one does
 * nothing else, so a function would carry those of operations that it never calls.
 */
const shapes = replacement('shapes', /\/@aws-sdk\/client-[\w-]+\/dist-es\/schemas\/schemas_0\.js$/, (path) =>
  withoutEffects(readFileSync(path, 'utf8'), ['ArrayExpression']),
);

/** Bytes from where the parser began to count, which is not the file's first byte. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Lets the values of declarations be left out where nobody reads them, if they are expressions of these types. */
function withoutEffects(source: string, types: readonly string[]): string {
  // The first character is a statement, so that the program's span begins with the text.
  const text = `;${source}`;
  const { body, span } = parseSync(text, { syntax: 'typescript', target: 'es2024' });
  const made = body
    .map((item) => (item.type === 'ExportDeclaration' ? item.declaration : item))
    .flatMap((item) => (item.type === 'VariableDeclaration' ? item.declarations : []))
    .flatMap(({ init }): Span[] => (init != null && types.includes(init.type) && 'span' in init ? [init.span] : []));
  let bytes = Buffer.from(text);
  // From the last to the first: what stands before stays where it is.
  for (const { start, end } of made.toReversed()) {
    const [from, to] = [start - span.start, end - span.start];
    const call = [Buffer.from('/* @__PURE__ */ (() => ('), bytes.subarray(from, to), Buffer.from('))()')];
    bytes = Buffer.concat([bytes.subarray(0, from), ...call, bytes.subarray(to)]);
  }
  return bytes.toString();
}

/** What is known before the service runs is in a bundle as its value, without the rows that it was computed from. */
const computed = replacement('computed', /\/lib\/api\/computed\/[\w-]+\.ts$/, async (path) =>
  Object.entries<unknown>(await import(path))
    .map(([name, value]) => {
      if (typeof value === 'function') throw new Error(`${path} exports ${name}, which is no value of JSON`);
      return `export const ${name} = JSON.parse(${JSON.stringify(JSON.stringify(value))});`;
    })
    .join('\n'),
);

/**
 * No operation that is used here streams events. The SDK loads its code for them when one does, and esbuild would keep
 * everything that this code might need as it is, in wrappers: a tenth of a bundle. The client of Lambda has it at once.
 */
const eventStreams: Plugin = {
  name: 'event-streams',
  setup: (esbuild) => {
    esbuild.onResolve({ filter: /^@smithy\/core\/event-streams$/ }, ({ kind, importer }) =>
      kind === 'dynamic-import' || importer.includes('/client-lambda/')
        ? { path: 'event-streams', namespace: 'absent' }
        : undefined,
    );
    esbuild.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({
      contents: `export const EventStreamSerde = undefined;
        export const eventStreamSerdeProvider = undefined;
        export const resolveEventStreamSerdeConfig = (config) => config;`,
    }));
  },
};

/** Lambda has no home with profiles in it; the SDK would look for them before its first request. */
const profiles = replacement(
  'profiles',
  /\/shared-ini-file-loader\/readFile\.js$/,
  () => "export const [filePromises, fileIntercept] = [{}, {}]; export const readFile = async () => '';",
);

/** No endpoint of DynamoDB is looked for: each Region has one. The client makes the memory for found ones all the same. */
const endpoints = replacement(
  'endpoints',
  /\/@aws-sdk\/endpoint-cache\/dist-es\/index\.js$/,
  () => 'export class EndpointCache {}',
);

/** What zod describes its shapes with as JSON Schema: the reference was made from them when it was computed. */
const descriptions = replacement(
  'descriptions',
  /\/zod\/v4\/core\/(to-json-schema|json-schema-processors)\.js$/,
  (path) =>
    [...readFileSync(path, 'utf8').matchAll(/^export (?:const|function) (\w+)/gm)]
      .map(([, name]) => `export const ${name} = undefined;`)
      .join('\n'),
);

/** The console's files lie beside the code of the functions that serve them. */
const consoleFolder = replacement(
  'console-folder',
  /\/lib\/api\/console\/folder\.ts$/,
  () => "export const CONSOLE_FOLDER = new URL('console/', import.meta.url);",
);

/** All that change what a bundle holds, but for `credentials`, without which nothing is bundled. */
export const lean: readonly Plugin[] = [
  declarations,
  shapes,
  computed,
  eventStreams,
  profiles,
  endpoints,
  descriptions,
  consoleFolder,
];
