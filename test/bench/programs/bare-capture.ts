/**
 * Takes batches of events as anybody must who keeps them: unpacks and parses each request, and answers it when it is on
 * the disk; all that wait at a moment are brought there together. Prints its address.
 */
import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { input, tell } from '../program.ts';

const { file } = input as { file: string };
const kept = await open(file, 'a');
let waiting: { readonly bytes: Buffer; readonly done: () => void }[] = [];
let turn = Promise.resolve();

async function write(): Promise<void> {
  const group = waiting;
  waiting = [];
  await kept.appendFile(Buffer.concat(group.map(({ bytes }) => bytes)));
  await kept.datasync();
  for (const { done } of group) done();
}

function keep(bytes: Buffer): Promise<void> {
  return new Promise((done) => {
    if (waiting.push({ bytes, done }) === 1) turn = turn.then(write);
  });
}

const server = createServer((request, response) => {
  void buffer(request).then(async (bytes) => {
    JSON.parse(String(gunzipSync(bytes)));
    await keep(bytes);
    response.end('{"status":1}');
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  tell({ address: `http://127.0.0.1:${port}` });
});
process.once('SIGTERM', () => process.exit(0));
