#!/usr/bin/env node
/**
 * The program: `workspace start` runs the service, `workspace <command>` the command line. It is JavaScript that Node.js
 * 20 can run; the rest needs 24, which the package `node` brings where the caller's own is older.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Runs TypeScript and has `node:sqlite`, both without a warning. */
const NEEDED = 24;

const local = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(dirname(local));
const [command, ...rest] = process.argv.slice(2);
// The start takes no words: the command line tells what it is, or that it does not know them.
const isStart = command === 'start' && rest.length === 0;
const program = join(local, isStart ? 'main.ts' : 'admin.ts');
const words = isStart ? [] : process.argv.slice(2);

/** Node.js runs no TypeScript below `node_modules` by itself; there, types are stripped by a hook. */
const isInstalled = root.includes(`${sep}node_modules${sep}`);
const options = isInstalled
  ? ['--disable-warning=ExperimentalWarning', '--import', pathToFileURL(join(local, 'bin', 'strip-types.js')).href]
  : [];

const isNewEnough = Number(process.versions.node.split('.', 1)[0]) >= NEEDED;
const node = isNewEnough ? process.execPath : packagedNode();

if (process.platform === 'win32') {
  // Folders cannot be synced there, nor workers be limited.
  process.stderr.write('The service runs on Linux and macOS. On Windows use WSL 2, or Docker.\n');
  process.exitCode = 1;
} else if (node === undefined) {
  process.stderr.write(
    `Node.js ${NEEDED} is needed, and this is ${process.versions.node}. The package "node" brings it, but its install ` +
      `script has not run: allow install scripts and install again, or start with Node.js ${NEEDED}.\n`,
  );
  process.exitCode = 1;
} else if (isNewEnough && !isInstalled) {
  process.argv.splice(1, process.argv.length, program, ...words);
  await import(pathToFileURL(program).href);
} else {
  // The service stops when this process is gone, also by a kill, of which nothing else could tell it.
  const channel = isStart ? ['ipc'] : [];
  const child = spawn(node, [...options, program, ...words], { stdio: ['inherit', 'inherit', 'inherit', ...channel] });
  // A terminal sends Ctrl-C to both, and the second would end the other at once; what comes from elsewhere is passed on.
  const { stdin, stdout, stderr } = process;
  const hasTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;
  process.on('SIGINT', () => hasTerminal || child.kill('SIGINT'));
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function packagedNode() {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('node/package.json'));
    return [join(folder, 'bin', 'node'), join(folder, 'bin', 'node.exe')].find((file) => existsSync(file));
  } catch {
    return undefined;
  }
}
