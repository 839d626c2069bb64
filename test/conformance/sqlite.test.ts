import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { Busy, Refused, type Table } from '../../lib/ports/table/table.ts';
import { settableClock, temporaryFolder } from '../support/context.ts';

const clock = settableClock();
const opened: (() => void)[] = [];
afterEach(() => opened.splice(0).forEach((close) => close()));

function openTable(file: string, options: Partial<Parameters<typeof sqliteTable>[1]> = {}): Table {
  const table = sqliteTable(file, { clock, ...options });
  opened.push(() => table.close());
  return table;
}

function startWriter(file: string, name: string, count: number): ChildProcess & { lines: AsyncIterable<string> } {
  const program = join(import.meta.dirname, '../support/sqlite-writer.ts');
  const child = spawn(process.execPath, [program, file, name, String(count)], { stdio: ['ignore', 'pipe', 'inherit'] });
  opened.push(() => child.kill('SIGKILL'));
  return Object.assign(child, { lines: createInterface(child.stdout) });
}

const sum = async (table: Table) => (await table.get({ pk: 'sum', sk: 'sum' }))?.['n'] ?? 0;
const written = async (table: Table, name: string) =>
  (await table.list({ partition: name }, { limit: 0, count: true })).count;

describe('a SQLite table in a file', () => {
  test('keeps every acknowledged write, whole, when the writing process is killed', async () => {
    const file = join(temporaryFolder(), 'table.db');
    for (const [round, patience] of [20, 150, 400].entries()) {
      const child = startWriter(file, `writer ${round}`, 1_000_000);
      const acknowledged: string[] = [];
      for await (const line of child.lines) {
        acknowledged.push(line);
        if (acknowledged.length === patience) child.kill('SIGKILL');
      }
      const table = openTable(file);
      const there = await table.many(acknowledged.map((n) => ({ pk: `writer ${round}`, sk: n })));
      expect(there.filter((item) => item === undefined)).toEqual([]);
      const all = await Promise.all([0, 1, 2].map((at) => written(table, `writer ${at}`)));
      expect(await sum(table)).toBe(all.reduce<number>((total, n) => total + (n ?? 0), 0));
    }
  });

  test.each([
    ['ends by itself', ''],
    ['exits', 'process.exit(1);'],
    ['breaks', "throw new Error('broken');"],
  ])('is whole, and opens again, after a process that %s without closing it', async (_how, end) => {
    const file = join(temporaryFolder(), 'table.db');
    const module = join(import.meta.dirname, '../../lib/ports/table/sqlite.ts');
    const program = `import { sqliteTable } from ${JSON.stringify(module)};
      await sqliteTable(${JSON.stringify(file)}, { clock: Date.now }).write([{ put: { pk: 'a', sk: 'a' } }]);${end}`;
    spawnSync(process.execPath, ['--input-type=module', '--eval', program]);
    expect(await openTable(file).get({ pk: 'a', sk: 'a' })).toBeDefined();
  });

  test('takes writes of one moment in their order, each whole or not at all', async () => {
    const table = openTable(join(temporaryFolder(), 'table.db'));
    const at = (sk: string) => ({ pk: 'a', sk });
    const taken = { put: { ...at('taken'), by: 'nobody' }, if: 'absent' } as const;
    const outcomes = await Promise.allSettled([
      table.write([{ put: { ...at('taken'), by: 'first' }, if: 'absent' }]),
      table.write([{ put: at('beside') }, taken]),
      table.write([{ change: at('n'), add: { n: 1 } }]),
      table.write([{ change: at('n'), add: { n: 1 } }]),
      table.write([taken]),
    ]);
    expect(outcomes).toEqual([
      { status: 'fulfilled', value: [{ ...at('taken'), by: 'first' }] },
      { status: 'rejected', reason: new Refused(1, { ...at('taken'), by: 'first' }) },
      { status: 'fulfilled', value: [{ ...at('n'), n: 1 }] },
      { status: 'fulfilled', value: [{ ...at('n'), n: 2 }] },
      { status: 'rejected', reason: new Refused(0, { ...at('taken'), by: 'first' }) },
    ]);
    const { items } = await table.list({ partition: 'a' }, { limit: 9 });
    expect(items.map(({ sk }) => sk)).toEqual(['n', 'taken']);
  });

  test('keeps what was being written when it is closed', async () => {
    const file = join(temporaryFolder(), 'table.db');
    const table = sqliteTable(file, { clock });
    const writing = table.write([{ put: { pk: 'a', sk: 'b' } }]);
    table.close();
    expect(await writing).toEqual([{ pk: 'a', sk: 'b' }]);
    expect(await openTable(file).get({ pk: 'a', sk: 'b' })).toEqual({ pk: 'a', sk: 'b' });
  });

  test('is written by several processes at once, and nothing is lost', async () => {
    const file = join(temporaryFolder(), 'table.db');
    const table = openTable(file);
    const children = ['one', 'two'].map((name) => startWriter(file, name, 300));
    const ends = children.map((child) => once(child, 'exit'));
    children.forEach((child) => child.stdout?.resume());
    for (let n = 0; n < 100; n += 1) {
      await table.write([{ change: { pk: 'sum', sk: 'sum' }, add: { n: 1 } }]);
      await new Promise(setImmediate);
    }
    expect(await Promise.all(ends)).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(await sum(table)).toBe(700);
    expect([await written(table, 'one'), await written(table, 'two')]).toEqual([300, 300]);
  });

  test('shows at once what another process has committed', async () => {
    const file = join(temporaryFolder(), 'table.db');
    const table = openTable(file);
    expect(await sum(table)).toBe(0);
    const child = startWriter(file, 'other', 3);
    for await (const line of child.lines) {
      expect(await table.get({ pk: 'other', sk: line })).toEqual({ pk: 'other', sk: line });
      expect(await sum(table)).toBeGreaterThan(Number(line));
    }
  });

  test('is busy for a writer that waited too long for another one; readers do not wait', async () => {
    const file = join(temporaryFolder(), 'table.db');
    const table = openTable(file, { timeout: 50 });
    const other = new DatabaseSync(file);
    opened.push(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    await expect(table.write([{ put: { pk: 'a', sk: 'b' } }])).rejects.toThrow(Busy);
    expect(await table.get({ pk: 'a', sk: 'b' })).toBeUndefined();
    other.exec('COMMIT');
    await table.write([{ put: { pk: 'a', sk: 'b' } }]);
    expect(await table.get({ pk: 'a', sk: 'b' })).toEqual({ pk: 'a', sk: 'b' });
  });

  test('lets all but its writes go on while another process writes, and does them in their order then', async () => {
    const file = join(temporaryFolder(), 'table.db');
    const turns: (() => Promise<void> | void)[] = [];
    const sleep = async () => turns.shift()?.();
    const table = openTable(file, { sleep });
    const other = new DatabaseSync(file);
    opened.push(() => other.close());
    const put = (sk: string) => table.write([{ put: { pk: 'a', sk }, if: 'absent' }]);
    const writes: Promise<unknown>[] = [];
    turns.push(
      async () => expect(await table.get({ pk: 'a', sk: 'first' })).toBeUndefined(),
      () => void writes.push(put('second'), put('first')),
      () => other.exec('COMMIT'),
    );
    other.exec('BEGIN IMMEDIATE');
    writes.push(put('first'));
    await writes[0];
    expect(turns).toEqual([]);
    expect(await Promise.allSettled(writes)).toMatchObject([
      { status: 'fulfilled', value: [{ sk: 'first' }] },
      { status: 'fulfilled', value: [{ sk: 'second' }] },
      { status: 'rejected', reason: new Refused(0, { pk: 'a', sk: 'first' }) },
    ]);
  });

  test('lets each write wait for as long as it may, and does the last ones when it is closed', async () => {
    const file = join(temporaryFolder(), 'table.db');
    const turns = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
    let slept = 0;
    const sleep = () => turns[slept++]?.promise ?? Promise.reject(new Error('it waits too long'));
    // A loop that is busy sleeps for longer than it means to.
    const table = sqliteTable(file, { clock, timeout: 200, sleep, now: () => slept * 100 });
    const other = new DatabaseSync(file);
    opened.push(() => other.close());
    const next = async () => {
      turns[slept - 1]?.resolve();
      await new Promise(setImmediate);
    };
    other.exec('BEGIN IMMEDIATE');
    const first = table.write([{ put: { pk: 'a', sk: 'first' } }]).catch((error: unknown) => error);
    await new Promise(setImmediate);
    await next();
    const second = table.write([{ put: { pk: 'a', sk: 'second' } }]);
    await next();
    expect(await first).toEqual(new Busy('another process is writing'));
    other.exec('COMMIT');
    table.close();
    await second;
    expect(await openTable(file).get({ pk: 'a', sk: 'second' })).toBeDefined();
    await next();
  });

  test('is brought to the disk with every commit, and keeps its rows in the order of their bytes', () => {
    const file = join(temporaryFolder(), 'table.db');
    const asked = jest.spyOn(DatabaseSync.prototype, 'exec');
    openTable(file);
    // Each connection has its own.
    const [connection] = asked.mock.contexts as [DatabaseSync];
    expect(connection.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
    const database = new DatabaseSync(file);
    opened.push(() => database.close());
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    expect(database.prepare('PRAGMA encoding').get()).toEqual({ encoding: 'UTF-8' });
  });

  test('finds what is wrong with its file', async () => {
    const file = join(temporaryFolder(), 'table.db');
    const table = sqliteTable(file, { clock });
    await table.write(
      Array.from({ length: 300 }, (_, n) => ({ put: { pk: 'a', sk: `${n}`, text: 'x'.repeat(500) } })),
      { apart: true },
    );
    expect(table.problems()).toEqual([]);
    table.close();
    const content = readFileSync(file);
    content.fill(0, 4096 * 8, 4096 * 9);
    writeFileSync(file, content);
    const again = sqliteTable(file, { clock });
    opened.push(() => again.close());
    expect(again.problems()).not.toEqual([]);
  });

  test('removes what has expired beside later writes', async () => {
    const file = join(temporaryFolder(), 'table.db');
    const table = openTable(file);
    const ttl = clock() / 1000 + 10;
    await table.write(
      Array.from({ length: 50 }, (_, at) => ({ put: { pk: 'a', sk: `${at}`, ttl } })),
      { apart: true },
    );
    clock.advance(10_000);
    for (let at = 0; at < 3; at += 1) await table.write([{ put: { pk: 'b', sk: 'b' } }]);
    const database = new DatabaseSync(file);
    opened.push(() => database.close());
    expect(database.prepare('SELECT count(*) AS n FROM item').get()).toEqual({ n: 1 });
  });
});
