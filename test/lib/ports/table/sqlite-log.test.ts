import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { array, assert, asyncProperty, boolean, constantFrom, double, nat, property, record } from 'fast-check';
import { sqliteTable } from '../../../../lib/ports/table/sqlite.ts';
import { logProblem } from '../../../../lib/ports/table/sqlite-log.ts';
import { refuseLostCommits } from '../../../../lib/ports/table/sqlite-mark.ts';
import { temporaryFolder } from '../../../support/context.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const clock = (): number => 0;
const HEAD_BYTES = 32;
const FRAME_BYTES = 24 + 4096;
const SECTOR_BYTES = 512;

/** What is beside a database at one moment; undefined: there is none. */
interface Beside {
  readonly log: Buffer;
  readonly index: Buffer | undefined;
}

/** What a power cut leaves of the writes that were not on the disk yet. */
interface Cut {
  /** How far the log had grown, as a share of what the last transaction has added to it. */
  readonly grown: number;
  /** Which sectors of it have come to the disk, over and over. */
  readonly sectors: readonly boolean[];
}

const cuts = record<Cut>({
  grown: double({ min: 0, max: 1, noNaN: true }),
  sectors: array(boolean(), { minLength: 1, maxLength: 11 }),
});

interface Step {
  readonly rows: number;
  readonly bytes: number;
  /** All that is in the log is moved into the database before, so that the log is begun again. */
  readonly isCheckpointed: boolean;
  /** A large transaction is given up before, of which the log keeps frames. */
  readonly isGivenUp: boolean;
  /** What a power cut leaves of it: the next one opens the database anew, and goes on behind the ruins. */
  readonly cut: Cut | null;
}

/** Transactions and what comes between them. */
const steps = array(
  record<Step>({
    rows: nat({ max: 5 }),
    bytes: constantFrom(10, 3000, 20_000),
    isCheckpointed: constantFrom(false, false, false, true),
    isGivenUp: constantFrom(false, false, true),
    cut: constantFrom(false, false, false, true).chain((isCut) => (isCut ? cuts : constantFrom(null))),
  }),
  { minLength: 3, maxLength: 12 },
);

interface History {
  readonly database: Buffer;
  /** Before and after the last transaction, and at some time before it. */
  readonly before: Beside;
  readonly after: Beside;
  readonly earlier: Beside;
  /** The ends of the transactions that the log has had since it was begun. */
  readonly ends: readonly number[];
  /** The transactions that were acknowledged, but for the last. */
  readonly acknowledged: readonly number[];
  readonly last: number;
}

const headOf = ({ log }: Beside): Buffer => log.subarray(0, HEAD_BYTES);

/** Where the last commit of a log ends that somebody has open. */
function endOf({ index }: Beside): number {
  const frames = endianness() === 'LE' ? index?.readUInt32LE(16) : index?.readUInt32BE(16);
  return HEAD_BYTES + (frames ?? 0) * FRAME_BYTES;
}

/** Returns the log as a kill leaves it after so many bytes of what a transaction writes, in its order. */
function killedAfter(before: Beside, after: Beside, share: number): Buffer {
  const from = headOf(before).equals(headOf(after)) ? endOf(before) : HEAD_BYTES;
  const written = from + Math.round(share * (endOf(after) - from));
  return Buffer.concat([after.log.subarray(0, written), before.log.subarray(written)]);
}

/** Returns the log as a power cut leaves it. The head of a log that is begun again is on the disk before the rest is written. */
function tornBy({ grown, sectors }: Cut, before: Beside, after: Beside): Buffer {
  const size = before.log.length + Math.round(grown * (after.log.length - before.log.length));
  const log = Buffer.alloc(size);
  before.log.copy(log);
  headOf(after).copy(log);
  for (let at = HEAD_BYTES, n = 0; at < size; at = (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES, n += 1) {
    if (sectors[n % sectors.length]) after.log.copy(log, at, at, Math.floor(at / SECTOR_BYTES + 1) * SECTOR_BYTES);
  }
  return log;
}

/** Lays the files down as they are when nobody is left who had them open; returns the path of the database. */
function laid(database: Buffer, { log, index }: Beside): string {
  const file = join(temporaryFolder(), 'table.db');
  writeFileSync(file, database);
  writeFileSync(`${file}-wal`, log);
  if (index !== undefined) writeFileSync(`${file}-shm`, index);
  writeFileSync(`${file}-open`, 'needed');
  return file;
}

/** A database that somebody has open, with a cache so small that a transaction is written before it is committed. */
class Written {
  readonly #file: string;
  readonly #database: DatabaseSync;

  constructor(file: string) {
    this.#file = file;
    this.#database = new DatabaseSync(file);
    this.#database.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 5; PRAGMA cache_spill = 1');
  }

  checkpoint(): void {
    this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  }

  transaction(pk: string, rows: number, bytes: number, end: 'COMMIT' | 'ROLLBACK' = 'COMMIT'): void {
    const insert = this.#database.prepare('INSERT INTO item (pk, sk, value) VALUES (?, ?, ?)');
    this.#database.exec('BEGIN');
    for (let row = 0; row < rows; row += 1) insert.run(pk, `${row}`, JSON.stringify({ pk, text: 'x'.repeat(bytes) }));
    this.#database.exec(end);
  }

  beside(): Beside {
    return { log: readFileSync(`${this.#file}-wal`), index: readFileSync(`${this.#file}-shm`) };
  }

  /** Closes it, and returns its file as it was before. */
  close(): Buffer {
    const database = readFileSync(this.#file);
    this.#database.close();
    return database;
  }
}

function historyOf(all: readonly Step[]): History {
  const file = join(temporaryFolder(), 'table.db');
  sqliteTable(file, { clock }).close();
  let written = new Written(file);
  written.transaction('first', 1, 10);
  const earlier = written.beside();
  let [before, after, ends] = [earlier, earlier, [endOf(earlier)]];
  const acknowledged: number[] = [];
  for (const [n, { rows, bytes, isCheckpointed, isGivenUp, cut }] of all.entries()) {
    if (isCheckpointed) written.checkpoint();
    if (isGivenUp) written.transaction('given up', 40, 3000, 'ROLLBACK');
    before = written.beside();
    written.transaction(`${n}`, rows + 1, bytes);
    const head = headOf(after);
    after = written.beside();
    if (!headOf(after).equals(head)) ends = [];
    if (n === all.length - 1) break;
    if (cut === null) {
      ends.push(endOf(after));
      acknowledged.push(n);
      continue;
    }
    const log = tornBy(cut, before, after);
    written = new Written(laid(written.close(), { log, index: undefined }));
    written.transaction(`after ${n}`, 1, 10);
    ends.push(endOf(written.beside()));
  }
  ends.push(endOf(after));
  return { database: written.close(), before, after, earlier, ends, acknowledged, last: all.length - 1 };
}

/** Opens what is left and expects all that was acknowledged. */
async function expectKept(history: History, beside: Beside, isLastKept = false): Promise<void> {
  const table = sqliteTable(laid(history.database, beside), { clock });
  const { acknowledged, last } = history;
  const wanted = isLastKept ? [...acknowledged, last] : acknowledged;
  const found = await table.many(wanted.map((n) => ({ pk: `${n}`, sk: '0' })));
  expect(found.filter((item) => item === undefined)).toEqual([]);
  table.close();
}

function problemOf({ database }: History, beside: Beside): string | undefined {
  const file = laid(database, beside);
  return logProblem(`${file}-wal`, `${file}-shm`);
}

const within = (from: number, to: number, share: number): number => from + Math.floor(share * (to - from));

function flipped(log: Buffer, at: number): Buffer {
  const copy = Buffer.from(log);
  copy[at] = (copy[at] ?? 0) ^ 0x41;
  return copy;
}

const share = double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('a log of SQLite', () => {
  test('is taken as it is after a kill at any byte of the last transaction, and all before that is there', async () => {
    await assert(
      asyncProperty(steps, array(share, { minLength: 3, maxLength: 3 }), async (all, shares) => {
        const history = historyOf(all);
        const { before, after } = history;
        await expectKept(history, after, true);
        for (const one of shares) {
          const log = killedAfter(before, after, one);
          await expectKept(history, { log, index: before.index });
          // Its file system has taken no more.
          await expectKept(history, { log: log.subarray(0, Math.max(endOf(before), log.length)), index: undefined });
        }
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  test('is taken as it is after a power cut, whatever of the last transaction is on the disk', async () => {
    await assert(
      asyncProperty(steps, array(cuts, { minLength: 3, maxLength: 3 }), async (all, three) => {
        const history = historyOf(all);
        const { before, after, earlier } = history;
        for (const cut of three) {
          const log = tornBy(cut, before, after);
          for (const { index } of [before, earlier, { index: undefined }, { index: before.index?.subarray(0, 100) }]) {
            await expectKept(history, { log, index });
          }
        }
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  test('that is damaged or cut anywhere before its last commit is noticed after a kill', () => {
    assert(
      property(steps, array(share, { minLength: 5, maxLength: 5 }), (all, shares) => {
        const history = historyOf(all);
        const { log, index } = history.after;
        const end = endOf(history.after);
        for (const one of shares) {
          const at = within(0, end, one);
          expect(problemOf(history, { log: flipped(log, at), index })).toMatch(/^is damaged from byte \d+ on$/);
          expect(problemOf(history, { log: log.subarray(0, at), index })).toMatch(/^is damaged from byte \d+ on$/);
          // What is behind it was never committed.
          const longer = Buffer.concat([log, Buffer.alloc(1)]);
          const behind = flipped(longer, within(end, longer.length, one));
          expect(problemOf(history, { log: behind, index })).toBe(undefined);
        }
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  test('that is damaged before its last two transactions is noticed without its index, as after a power cut', () => {
    assert(
      property(steps, array(share, { minLength: 5, maxLength: 5 }), (all, shares) => {
        const history = historyOf(all);
        const end = history.ends.at(-3) ?? HEAD_BYTES;
        for (const one of shares) {
          const log = flipped(history.after.log, within(0, end, one));
          expect(problemOf(history, { log, index: undefined })).toMatch(/^is damaged from byte \d+ on$/);
          expect(problemOf(history, { log, index: history.earlier.index })).toMatch(/^is damaged from byte \d+ on$/);
        }
      }),
      { numRuns: propertyRuns(60) },
    );
  });
});

describe('a database whose log is damaged', () => {
  const step: Step = { rows: 1, bytes: 3000, isCheckpointed: false, isGivenUp: false, cut: null };
  const history = (): History => historyOf([step, step, step]);

  test.each<[string, (log: Buffer) => Buffer]>([
    ['damaged', (log) => flipped(log, 5000)],
    ['damaged at its head', (log) => flipped(log, 9)],
    ['emptied', () => Buffer.alloc(0)],
    ['cut to its half', (log) => log.subarray(0, log.length / 2)],
  ])('is not opened when it is %s, and nothing of it is changed', (_how, damage) => {
    const { database, after } = history();
    const file = laid(database, { ...after, log: damage(after.log) });
    const contents = (): unknown =>
      readdirSync(dirname(file)).map((name) => [name, readFileSync(join(dirname(file), name))]);
    const whole = contents();
    expect(() => sqliteTable(file, { clock })).toThrow(
      /^The last commits of .*table\.db are lost: .*table\.db-wal, which holds them, is damaged from byte \d+ on\. Put it back/,
    );
    expect(contents()).toEqual(whole);
  });

  test('is not looked at while this process has it open, for that would let go of its locks', async () => {
    const file = join(temporaryFolder(), 'table.db');
    const tables = [sqliteTable(file, { clock }), sqliteTable(file, { clock })];
    await tables[0]?.write([{ put: { pk: '1', sk: '0' } }]);
    const whole = readFileSync(`${file}-wal`);
    writeFileSync(`${file}-wal`, Buffer.alloc(whole.length));
    for (const table of tables) {
      expect(() => refuseLostCommits(file)).not.toThrow();
      if (table === tables[1]) writeFileSync(`${file}-wal`, whole);
      table.close();
    }
    expect(readdirSync(dirname(file))).toEqual(['table.db']);
  });

  test('is opened with what is left when somebody has removed the mark', async () => {
    const { database, after } = history();
    const file = laid(database, { ...after, log: flipped(after.log, endOf(after) - 5) });
    rmSync(`${file}-open`);
    const table = sqliteTable(file, { clock });
    expect(await table.get({ pk: '1', sk: '0' })).toBeDefined();
    expect(await table.get({ pk: '2', sk: '0' })).toBeUndefined();
    table.close();
  });
});
