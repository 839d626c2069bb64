/**
 * A whole context for tests: a table in memory, folders that are removed after the file's tests, a clock that stands
 * still until it is moved, ids and random bytes that are the same in every run.
 */
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabasePool } from '../../lib/duckdb/pool.ts';
import { type Compiler, directCompiler } from '../../lib/exports/query/compiler.ts';
import { previewOf } from '../../lib/imports/preview.ts';
import { computed } from '../../lib/insights/answering/answerer.ts';
import { answersOf } from '../../lib/insights/answering/answers.ts';
import { worldDatabase } from '../../lib/insights/answering/world.ts';
import { compact } from '../../lib/lake/compact.ts';
import { lakeDatabases } from '../../lib/lake/databases.ts';
import { deleteNow } from '../../lib/lake/import/delete-person.ts';
import type { Context } from '../../lib/ports/context.ts';
import { folderFiles } from '../../lib/ports/files/folder.ts';
import { type LogSink, logTo } from '../../lib/ports/log.ts';
import { loggedMetrics } from '../../lib/ports/metrics/logged.ts';
import { openOutbound } from '../../lib/ports/outbound/outbound.ts';
import { LOCAL_SETTINGS } from '../../lib/ports/settings.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { keyfileVault } from '../../lib/ports/vault/keyfile.ts';
import { duckdbReader } from '../../lib/warehouse/duckdb-reader.ts';
import type { Warehouse } from '../../lib/warehouse/warehouse.ts';
import { Turns } from '../../lib/workers/turns.ts';
import { onEnd, onePerFile } from './on-end.ts';
import { parser } from './parser.ts';
import { type RecordingWorkflow, recordingWorkflow } from './workflow.ts';

/** Where every settable clock starts: 2026-01-01T00:00:00Z. */
export const START = Date.UTC(2026, 0, 1);

/** A clock in milliseconds that a test moves. */
export interface SettableClock {
  (): number;
  set(instant: number): void;
  advance(milliseconds: number): void;
}

export type LogLine = Parameters<LogSink>[0];

/** `folder` is the test's own temporary folder, made when it is first asked for; `lines` are what the log was told, all levels. */
export type TestContext<Overrides> = Omit<Context, 'clock' | 'workflow'> & {
  readonly clock: SettableClock;
  readonly workflow: RecordingWorkflow;
  readonly lines: LogLine[];
  readonly folder: string;
  readonly databases: DatabasePool;
} & Overrides;

/** Folders in memory, where the system has some: otherwise tests wait for disks more than for anything else. */
const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 4 * 1024 ** 3;

function fastestFolder(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize < ENOUGH_BYTES ? tmpdir() : MEMORY;
  } catch {
    return tmpdir();
  }
}

/** Returns the folder of a test file, which has all its temporary ones; it is removed after the tests of the file. */
export const folderOfFile = onePerFile(
  () => mkdtempSync(join(fastestFolder(), 'test-')),
  (made) => rmSync(made, { recursive: true, force: true }),
);

let folders = 0;

function temporaryPath(): string {
  folders += 1;
  return join(folderOfFile(), String(folders));
}

/** A folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = temporaryPath();
  mkdirSync(folder);
  return folder;
}

/** One pool for all lakes of a test file, as a process has one: they lie in the file's folder. */
const databasesOfFile = onePerFile(
  () => lakeDatabases(folderFiles(folderOfFile()), { folder: folderOfFile() }),
  (databases) => databases.close(),
);

export function settableClock(now = START): SettableClock {
  return Object.assign(() => now, {
    set: (instant: number) => {
      now = instant;
    },
    advance: (milliseconds: number) => {
      now += milliseconds;
    },
  });
}

/** Uuids of version 7: the clock's instant, then a count. */
function countedIds(clock: () => number): () => string {
  let count = 0;
  return () => {
    const time = clock().toString(16).padStart(12, '0');
    count += 1;
    return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${count.toString(16).padStart(12, '0')}`;
  };
}

/** Bytes that look random and are the same in every run. */
function countedBytes(): (bytes: number) => Buffer {
  let count = 0;
  return (bytes) => {
    count += 1;
    return createHash('shake256', { outputLength: bytes }).update(`bytes ${count}`).digest();
  };
}

const noWarehouse: Warehouse = {
  unload: () => Promise.reject(new Error('this test has no warehouse')),
  count: () => Promise.reject(new Error('this test has no warehouse')),
  read: () => {
    throw new Error('this test has no warehouse');
  },
  files: () => {
    throw new Error('this test has no warehouse');
  },
};

const compiler: Compiler = directCompiler(parser);

/** A fresh context; every member may be replaced. */
export function testContext<Overrides extends Partial<Context & { clock: SettableClock }>>(
  overrides: Overrides = {} as Overrides,
): TestContext<Overrides> {
  const clock = overrides.clock ?? settableClock();
  const path = temporaryPath();
  const lines: LogLine[] = [];
  let table = overrides.table;
  if (table === undefined) {
    const own = sqliteTable(':memory:', { clock });
    onEnd(() => own.close());
    table = own;
  }
  const lake = overrides.lake ?? folderFiles(join(path, 'lake'));
  const importFiles = folderFiles(join(path, 'imports'));
  const reader = duckdbReader({ lake });
  onEnd(() => reader.close());
  const worlds = worldDatabase({ lake, parser });
  onEnd(() => worlds.close());
  const log = logTo((line) => lines.push(line), clock, 'DEBUG');
  const newId = countedIds(clock);
  const made: TestContext<Overrides> = {
    workflow: recordingWorkflow(),
    warehouse: noWarehouse,
    runFiles: folderFiles(join(path, 'runs')),
    lake,
    reader,
    imports: {
      files: importFiles,
      rejected: folderFiles(join(path, 'rejected')),
      freeBytes: () => Promise.resolve(Number.MAX_SAFE_INTEGER),
      preview: async (asked) => previewOf(importFiles, asked, made.folder),
    },
    inbox: null,
    landing: null,
    lakeWorker: null,
    queryRunner: null,
    compactor: { compact: (project) => compact(made, project) },
    personRemoval: { remove: (deletion) => deleteNow(made, deletion).then(() => 'deleted') },
    personDeletions: null,
    answers: answersOf({ table, clock, newId, log }, { answer: (asked) => computed(worlds, asked) }),
    pictures: null,
    vault: keyfileVault(join(path, 'vault-key')),
    events: null,
    outbound: openOutbound(LOCAL_SETTINGS),
    mail: null,
    testTurns: new Turns({ atOnce: 80, each: 4, waiting: { each: 0, all: 0 } }),
    compiler,
    newId,
    random: countedBytes(),
    log,
    metrics: loggedMetrics(log),
    settings: { ...LOCAL_SETTINGS, strictAnswers: true },
    lines,
    databases: databasesOfFile(),
    get folder() {
      mkdirSync(path, { recursive: true });
      return path;
    },
    ...overrides,
    table,
    clock,
  };
  return made;
}
