/**
 * Takes batches of events as anybody must who wants to use them: unpacks, parses and counts them. Those that are posted
 * to `/keep/` it also writes into the folder, as they came. Prints its address, and answers how many events it has seen.
 */
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { input, tell } from '../program.ts';

const { folder } = input as { folder: string };
const unpacked = promisify(gunzip);
let batches = 0;
let events = 0;

async function receive(request: IncomingMessage): Promise<void> {
  const bytes = await buffer(request);
  if (request.method !== 'POST') return;
  const { batch } = JSON.parse(String(await unpacked(bytes))) as { batch: unknown[] };
  events += batch.length;
  if (request.url === '/keep/') writeFileSync(join(folder, `${String(batches).padStart(6, '0')}.gz`), bytes);
  batches += 1;
}

const server = createServer((request, response) => {
  void receive(request).then(() => response.end(JSON.stringify({ events })));
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  tell({ address: `http://127.0.0.1:${port}` });
});
process.once('SIGTERM', () => process.exit(0));
