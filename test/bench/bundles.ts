/** The code that Lambda loads for a function: size and time of each bundle, beside one of the libraries alone. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { bundle, folderIn, OPTIONS } from '../../infra/aws/bundle.ts';
import { ENVIRONMENT, FUNCTIONS } from '../../infra/aws/functions.ts';
import { type Bench, count, median, type Part, type Row } from './bench.ts';

/** The libraries of which every function is made, doing the least that needs all of them. */
const REFERENCE = `
  import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
  import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
  import middy from '@middy/core';
  import * as z from 'zod';
  const client = DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 1 }));
  const Asked = z.object({ id: z.string() });
  export const handler = middy(async (event) => {
    const { Item } = await client.send(new GetCommand({ TableName: process.env.TABLE_NAME, Key: Asked.parse(event) }));
    return Item;
  });`;

/** Starts of each bundle; the middle one counts. */
const STARTS = { small: 3, whole: 9 };

/** KB are 1,024 bytes. */
const KB = 1024;
const MOST_KB = 450;
const MOST_RATIO = 1.15;
/** Of those that draw charts for anybody who opens a shared page. */
const DRAWING = /^shared\//;
const MOST_DRAWING_RATIO = 1.5;

/**
 * Bundles without a goal: they parse a language, speak a customer's protocol, form bytes, move files or hold the
 * reference.
 */
const APART = /"openapi":"3|DeleteObjects|hogql_parser|hogql-parser|SCRAM-SHA-256|@duckdb/;

export const bundling: Part = async (bench) => {
  bench.say('bundling');
  const bundles = join(bench.folder, 'functions');
  await bundle(bundles);
  const folder = (name: string): string => folderIn(bundles, name);
  const reference = await referenceIn(bench.folder);
  const rounds = bench.small ? STARTS.small : STARTS.whole;
  const starts = new Map<string, Start[]>();
  for (let round = 1; round <= rounds; round += 1) {
    bench.say(`starting each function, round ${round} of ${rounds}`);
    for (const { name } of FUNCTIONS) {
      // One right after the other, so that both meet the machine in the same state.
      const start = { beside: await startOf(reference, bench), own: await startOf(folder(name), bench) };
      starts.set(name, [...(starts.get(name) ?? []), start]);
    }
  }
  const referenceSize = sizeOf(reference);
  return FUNCTIONS.map(({ name }): Row => {
    const place = folder(name);
    const size = sizeOf(place);
    const times = starts.get(name) ?? [];
    const ratio = median(times.map(({ own, beside }) => own / beside));
    const isApart = APART.test(readFileSync(join(place, 'index.js'), 'utf8'));
    const goal = DRAWING.test(name)
      ? { text: `<= ${MOST_DRAWING_RATIO}`, met: ratio <= MOST_DRAWING_RATIO }
      : { text: `<= ${MOST_RATIO}, ${MOST_KB} KB`, met: ratio <= MOST_RATIO && size <= MOST_KB };
    return {
      what: `start of ${name}`,
      measured: `${median(times.map(({ own }) => own)).toFixed(0)} ms, ${count(size)} KB`,
      peer: `libraries alone ${median(times.map(({ beside }) => beside)).toFixed(0)} ms, ${count(referenceSize)} KB`,
      ratio,
      ...(isApart ? {} : { goal }),
      note: `size x ${(size / referenceSize).toFixed(2)}`,
    };
  });
};

/** Milliseconds. */
interface Start {
  readonly own: number;
  readonly beside: number;
}

const sizeOf = (place: string): number => statSync(join(place, 'index.js')).size / KB;

async function referenceIn(folder: string): Promise<string> {
  const place = join(folder, 'reference');
  mkdirSync(place);
  const stdin = { contents: REFERENCE, resolveDir: import.meta.dirname };
  await build({ ...OPTIONS, stdin, outfile: join(place, 'index.js') });
  writeFileSync(join(place, 'package.json'), '{"type":"commonjs"}\n');
  return place;
}

const LOAD = `
  const began = process.threadCpuUsage();
  require(process.argv[1]);
  const { user, system } = process.threadCpuUsage(began);
  process.stdout.write(String((user + system) / 1000));`;

/**
 * Milliseconds in which a new process loads the function, as Lambda's runtime does before the first invocation: those
 * of the one thread that loads, so that whatever else the machine does is not counted.
 */
async function startOf(place: string, { signal }: Bench): Promise<number> {
  const names = [...new Set(Object.values(ENVIRONMENT).flat())];
  const variables = Object.fromEntries(names.map((name) => [name, 'x']));
  const env = { ...variables, MACHINES: '{}', SETTINGS: '{}', AWS_REGION: 'eu-central-1' };
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', LOAD, place], { env, signal });
  return Number(stdout);
}
