/** Posts the batches that a folder holds, one after another over one connection: as they lie there, or packed anew. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';
import { input, tell } from '../program.ts';

const { folder, url, packs } = input as { folder: string; url: string; packs: boolean };
const packed = promisify<Buffer, { level: number }, Buffer>(gzip);
const agent = new Agent({ keepAlive: true });
const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
const kept = readdirSync(folder).toSorted();
const batches = kept
  .map((name) => readFileSync(join(folder, name)))
  .map((bytes) => (packs ? gunzipSync(bytes) : bytes));
const began = performance.now();
let bytes = 0;
for (const batch of batches) {
  const body = packs ? await packed(batch, { level: 1 }) : batch;
  bytes += body.length;
  const post = request(url, { method: 'POST', agent, headers }).end(body);
  const [answer] = (await once(post, 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
}
agent.destroy();
tell({ seconds: (performance.now() - began) / 1000, bytes });
