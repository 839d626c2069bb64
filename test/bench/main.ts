/** `npm run bench [-- <part>] [-- --small]`: prints one table; each row is a ratio to a limit or to a peer. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MINUTE_MS } from '../../lib/basics/units.ts';
import { backfilling } from './backfills.ts';
import { type Part, type Row, tableOf } from './bench.ts';
import { bundling } from './bundles.ts';
import { capturing } from './capture.ts';
import { drawing } from './charts.ts';
import { openingConsole } from './console.ts';
import { listingDashboards, showingShared } from './dashboards.ts';
import { exporting } from './export.ts';
import { importing } from './imports.ts';
import { exportingLargeRows } from './large-rows.ts';
import { copying } from './postgres.ts';
import { posting } from './posts.ts';
import { querying } from './queries.ts';
import { requesting } from './requests.ts';
import { staging } from './stage.ts';

const PARTS: ReadonlyMap<string, Part> = new Map([
  ['export', exporting],
  ['large-rows', exportingLargeRows],
  ['postgres', copying],
  ['posts', posting],
  ['backfill', backfilling],
  ['requests', requesting],
  ['dashboards', listingDashboards],
  ['shared', showingShared],
  ['import', importing],
  ['capture', capturing],
  ['charts', drawing],
  ['console', openingConsole],
  ['queries', querying],
  ['bundles', bundling],
  ['stage', staging],
]);
/** All parts together take some minutes; what takes longer hangs. */
const TIMEOUT_MS = 20 * MINUTE_MS;
const GIB = 1024 ** 3;

const { values, positionals } = parseArgs({ options: { small: { type: 'boolean' } }, allowPositionals: true });
const names = positionals.length > 0 ? positionals : [...PARTS.keys()];
const unknown = names.find((name) => !PARTS.has(name));
if (unknown !== undefined) {
  process.stderr.write(`There is no part ${unknown}; there are ${[...PARTS.keys()].join(', ')}.\n`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort(new Error(signal)));
const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ending.signal]);
process.on('exit', () => {
  // However it ends: no program goes on, and nothing is left behind.
  ending.abort();
  rmSync(folder, { recursive: true, force: true });
});

process.stdout.write(`${machine()}\n\n`);
const rows: Row[] = [];
for (const name of names) {
  const own = join(folder, name);
  mkdirSync(own);
  const say = (what: string): void => void process.stderr.write(`${name}: ${what}\n`);
  rows.push(...((await PARTS.get(name)?.({ small: values.small === true, folder: own, signal, say })) ?? []));
  rmSync(own, { recursive: true, force: true });
}
process.stdout.write(`${tableOf(rows)}\n`);

/** Returns the machine that it was measured on, in one line. */
function machine(): string {
  const cores = cpus();
  const versions = ['@duckdb/node-api', 'autocannon'].map((name) => `${name} ${versionOf(name)}`);
  return [
    `${cores.length} x ${cores[0]?.model.trim()}, ${Math.round(totalmem() / GIB)} GiB`,
    `${type()} ${release()}`,
    `Node ${process.versions.node}`,
    `SQLite ${process.versions['sqlite']}`,
    ...versions,
    new Date().toISOString().slice(0, 10),
  ].join('; ');
}

function versionOf(name: string): string {
  const file = join(import.meta.dirname, '../../node_modules', name, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
