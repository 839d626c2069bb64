/**
 * A program that runs a PostgreSQL for as long as its own input is open: so no server outlives the tests, however they
 * end. Its argument is JSON of a `PostgresSetup`; it tells the port in one line when the server takes connections.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, lchownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresSetup } from './postgres.ts';

/** What the server says when it takes connections. */
const READY = 'ready to accept connections';

/** Whoever started this is gone, or all processes of its group are told to end. */
const over = Promise.race([once(process.stdin.resume(), 'end'), once(process, 'SIGINT'), once(process, 'SIGTERM')]);

// Whoever is gone is told nothing.
process.stdout.on('error', () => {});

const { files, user, password, settings } = JSON.parse(process.argv[2] ?? '') as PostgresSetup;
const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
const data = join(folder, 'data');
const said: string[] = [];
try {
  writeFileSync(join(folder, 'password'), password);
  const { account, programs } = process.getuid?.() === 0 ? forNobody(folder, files) : { programs: files };
  const run = (name: string, words: readonly string[]): ChildProcess => {
    const child = spawn(join(programs, 'bin', name), words, {
      ...account,
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => said.push(String(text)));
    return child;
  };
  const login = [`--username=${user}`, '--pwfile=password', '--auth=scram-sha-256'];
  const initdb = run('initdb', [`--pgdata=${data}`, ...login, '--no-sync', '--encoding=UTF8', '--no-locale']);
  const [status] = await once(initdb, 'close');
  if (status !== 0) throw new Error(`initdb ended with ${status}`);

  const port = await freePort();
  const all = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings];
  const server = run('postgres', ['-D', data, ...all.flatMap((one) => ['-c', one])]);
  const ended = once(server, 'close');
  const ready = new Promise<void>((done) => {
    server.stderr?.on('data', () => {
      if (said.join('').includes(READY)) done();
    });
  });
  await Promise.race([ready, ended.then(() => Promise.reject(new Error('it ended')))]);
  process.stdout.write(`${port}\n`);
  await Promise.race([over, ended]);
  // At once: nothing of the data is kept.
  server.kill('SIGQUIT');
  await ended;
} catch (error) {
  process.stderr.write(`PostgreSQL did not start: ${String(error)}\n${said.join('')}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
  process.stdin.destroy();
}

/**
 * PostgreSQL does not run as root, and nobody else may be able to read the server's files where they are (as below
 * /root): they are copied into the folder, of which the account that runs them owns all.
 */
function forNobody(top: string, files: string) {
  const programs = join(top, 'server');
  cpSync(files, programs, { recursive: true, verbatimSymlinks: true });
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody']));
  const account = { uid: id('-u'), gid: id('-g') };
  const names = readdirSync(top, { recursive: true, encoding: 'utf8' });
  for (const path of ['', ...names]) lchownSync(join(top, path), account.uid, account.gid);
  return { account, programs };
}

async function freePort(): Promise<number> {
  const door = createServer();
  await new Promise<void>((done) => door.listen(0, '127.0.0.1', done));
  const { port: free } = door.address() as AddressInfo;
  await new Promise((done) => door.close(done));
  return free;
}
