/**
 * Posts batches one after another over one connection: as a folder holds them packed, packed anew, or made of the rows of
 * Parquet files in the few lines that anybody would write, where one is made while another is on its way.
 */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { input, tell } from '../program.ts';

interface Input {
  readonly url: string;
  readonly from: { readonly packed: string } | { readonly lines: string } | { readonly files: readonly string[] };
}

const { url, from } = input as Input;
const BATCH = 5_000;
const pack = promisify<Buffer, { level: number }, Buffer>(gzip);
const packed = (batch: Buffer): Promise<Buffer> => pack(batch, { level: 1 });
let began = performance.now();
const agent = new Agent({ keepAlive: true });
const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };

const filesOf = (folder: string): Buffer[] =>
  readdirSync(folder)
    .toSorted()
    .map((name) => readFileSync(join(folder, name)));

async function* packedRows(files: readonly string[]): AsyncGenerator<Buffer> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const result = await connection.stream(`
    SELECT to_json({uuid: uuid, distinct_id: distinct_id, event: event, properties: properties::JSON,
      timestamp: strftime(make_timestamp(timestamp_us), '%Y-%m-%dT%H:%M:%S.%fZ')})::VARCHAR
    FROM read_parquet([${files.map((file) => `'${file}'`).join(', ')}])`);
  const body = (rows: readonly unknown[]): Promise<Buffer> =>
    packed(Buffer.from(`{"api_key":"t","historical_migration":true,"batch":[${rows.join(',')}]}`));
  let rows: unknown[] = [];
  for await (const chunk of result) {
    rows.push(...chunk.getColumnValues(0));
    while (rows.length >= BATCH) yield body(rows.splice(0, BATCH));
  }
  if (rows.length > 0) yield body(rows);
}

async function* packedFiles(folder: string): AsyncGenerator<Buffer> {
  const batches = filesOf(folder).map((bytes) => gunzipSync(bytes));
  began = performance.now();
  for (const batch of batches) yield packed(batch);
}

let bytes = 0;
async function posted(body: Buffer): Promise<void> {
  bytes += body.length;
  const post = request(url, { method: 'POST', agent, headers }).end(body);
  const [answer] = (await once(post, 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
}

if ('files' in from) {
  // The next batch is made while one is on its way.
  let last = Promise.resolve();
  for await (const body of packedRows(from.files)) {
    await last;
    last = posted(body);
  }
  await last;
} else {
  const batches = 'lines' in from ? packedFiles(from.lines) : filesOf(from.packed);
  began = performance.now();
  for await (const body of batches) await posted(body);
}
agent.destroy();
tell({ seconds: (performance.now() - began) / 1000, bytes });
