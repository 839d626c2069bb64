/**
 * Text to syntax, by PostHog's own parser: a grammar in WebAssembly. It is synchronous, takes exponential time
 * when an instance is used again, and crashes on deep nesting; so each parse has an instance of its own, in a thread
 * of its own, which is ended when its time is up.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { Semaphore } from '../ports/semaphore.ts';
import { SECOND_MS } from '../ports/units.ts';
import { refuse } from './refusal.ts';
import type { Syntax } from './syntax.ts';
import { checkTokens } from './tokens.ts';

const MAX_QUERY_BYTES = 20_000;

/** A query of a thousand columns takes 1.3 s, on a sixth of a core under 10 s. */
const TIMEOUT_MS = 10 * SECOND_MS;

const FAILED = 'Failed to parse query';

/** So many texts are parsed at once; each thread takes some 80 MB. */
const AT_ONCE = 2;

/** What the thread runs. It is given as text because a file of it would have another name in each home. */
const THREAD = `
  const { parentPort, workerData: { parser, rule, texts } } = require('node:worker_threads');
  (async () => {
    const parsed = [];
    for (const text of texts) parsed.push((await require(parser)())[rule](text, true));
    parentPort.postMessage(parsed);
  })();
`;

const packages = createRequire(import.meta.url);

/** Reads HogQL. A `Refusal` for what is too long, nested too deeply, no HogQL, or not understood in time. */
export interface Parser {
  query(text: string): Promise<Syntax>;
  /** In their order; the limits are those of all together. */
  expressions(texts: readonly string[]): Promise<readonly Syntax[]>;
}

/** A parser that gives each call a thread, and so much time, in milliseconds. */
export function threadParser(timeoutMs = TIMEOUT_MS): Parser {
  const threads = new Semaphore(AT_ONCE);
  const parse = async (rule: 'parseSelect' | 'parseExpr', texts: readonly string[]): Promise<Syntax[]> => {
    if (Buffer.byteLength(texts.join('')) > MAX_QUERY_BYTES)
      refuse(`The query is longer than ${MAX_QUERY_BYTES / 1000} kB`);
    checkTokens(texts);
    const data = { parser: packages.resolve('@posthog/hogql-parser'), rule, texts };
    return (await threads.run(() => inThread(data, timeoutMs))).map(syntaxOf);
  };
  return {
    query: async (text) => (await parse('parseSelect', [text]))[0] ?? refuse(FAILED),
    expressions: (texts) => parse('parseExpr', texts),
  };
}

function syntaxOf(answer: string): Syntax {
  const syntax = JSON.parse(answer, withNumbers) as Syntax & { readonly error?: true };
  return syntax.error === true ? refuse(FAILED) : syntax;
}

/** Numbers of a query as they are written: JavaScript's have 53 bits. */
const withNumbers = (key: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  key === 'value' && typeof value === 'number' ? { number: source } : value;

/** Refuses when the parser crashed, or its time was up. */
async function inThread(workerData: object, timeoutMs: number): Promise<readonly string[]> {
  const { promise, resolve } = Promise.withResolvers<readonly string[] | undefined>();
  const worker = new Worker(THREAD, { eval: true, workerData, stdout: true, stderr: true, env: {}, execArgv: [] });
  const timer = setTimeout(() => resolve(undefined), timeoutMs);
  worker
    .once('message', resolve)
    .once('error', () => resolve(undefined))
    .once('exit', () => resolve(undefined));
  try {
    return (await promise) ?? refuse(FAILED);
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}
