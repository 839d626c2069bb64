/** Reads each request and answers the same bytes: the most that node:http can do. Prints its address. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { input, tell } from '../program.ts';

const { status, text } = input as { status: number; text: string };
const body = Buffer.from(text);
const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
const server = createServer((request, response) => {
  request.resume().once('end', () => response.writeHead(status, headers).end(body));
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  tell({ address: `http://127.0.0.1:${port}` });
});
process.once('SIGTERM', () => process.exit(0));
