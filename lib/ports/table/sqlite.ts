/** The table in one SQLite file or in memory: WAL, commits are on the disk first, one writer, any number of processes. */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { getOrMake } from '../../basics/maps.ts';
import { messageOf } from '../../basics/text.ts';
import { fromCursor, type Position, toCursor } from './cursor.ts';
import {
  boundsOf,
  changed,
  holds,
  isPossibleKey,
  keyOf,
  live,
  prepared,
  refuseLargeItem,
  seconds,
} from './semantics.ts';
import { closeMarked, markLog, markOpened, refuseLostCommits } from './sqlite-mark.ts';
import {
  Busy,
  type Item,
  type ItemsAt,
  type Key,
  type Listed,
  type Op,
  type Ops,
  type Page,
  type Range,
  Refused,
  type Table,
  type Written,
} from './table.ts';

/** `value` is the whole item as JSON; the columns before it are what items are found by. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS item (
    pk TEXT NOT NULL, sk TEXT NOT NULL,
    first_pk TEXT, first_sk TEXT, second_pk TEXT, second_sk TEXT,
    ttl INTEGER, value TEXT NOT NULL,
    UNIQUE (pk, sk)
  );
  CREATE INDEX IF NOT EXISTS item_first ON item (first_pk, first_sk, pk, sk, ttl)
    WHERE first_pk IS NOT NULL AND first_sk IS NOT NULL;
  CREATE INDEX IF NOT EXISTS item_second ON item (second_pk, second_sk, pk, sk)
    WHERE second_pk IS NOT NULL AND second_sk IS NOT NULL;
  CREATE INDEX IF NOT EXISTS item_ttl ON item (ttl) WHERE ttl IS NOT NULL;
`;

const COLUMNS = ['pk', 'sk', 'first_pk', 'first_sk', 'second_pk', 'second_sk', 'ttl'] as const;

/** Another process's write is waited for this long before `Busy` ... */
const BUSY_TIMEOUT_MS = 5_000;
/** ... and it is looked this often whether it has ended: SQLite itself would hold up the whole process. */
const BUSY_LOOK_MS = 10;
/** At most this many items are kept, none longer than this (characters of JSON): 40 MB. */
const MAX_KEPT = 5_000;
const MAX_KEPT_LENGTH = 8_000;
/** This many expired items are removed beside one commit, so that they never pile up. */
const MAX_SWEPT = 20;

const STORE = `
  INSERT INTO item (${COLUMNS.join(', ')}, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (pk, sk) DO UPDATE SET first_pk = excluded.first_pk, first_sk = excluded.first_sk,
    second_pk = excluded.second_pk, second_sk = excluded.second_sk, ttl = excluded.ttl, value = excluded.value`;

interface SqliteOptions {
  /** Now, in milliseconds; decides what has expired. */
  readonly clock: () => number;
  /** How long another process's write is waited for, in milliseconds. */
  readonly timeout?: number;
  readonly sleep?: (milliseconds: number) => Promise<void>;
  /** What tells how long something waits, in milliseconds. */
  readonly now?: () => number;
}

/**
 * Opens or makes the file; `:memory:` lives as long as it is open. Throws `CommitsLost`, before anything is changed, when
 * commits that are not in the file itself are not whole beside it either.
 */
export function sqliteTable(
  path: string,
  { clock, timeout = BUSY_TIMEOUT_MS, sleep = setTimeout, now = () => performance.now() }: SqliteOptions,
): SqliteFile {
  const isFile = path !== ':memory:';
  if (isFile) refuseLostCommits(path);
  const database = new DatabaseSync(path, { timeout });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  database.exec(SCHEMA);
  const whole = { clock, timeout, sleep, now };
  if (!isFile) return new SqliteTable(database, whole, { committed: () => {}, during: (close) => close() });
  markOpened(path);
  const table = new SqliteTable(database, whole, {
    committed: () => markLog(path),
    during: (close) => {
      closed(table);
      closeMarked(path, close);
    },
  });
  closeAtExit(table);
  return table;
}

/** Tables in files that are open. */
const openTables = new Set<{ close(): void }>();

/** What is left open when a process ends in order is closed by Node, which knows nothing of the mark. */
function closeAtExit(table: { close(): void }): void {
  if (openTables.size === 0) process.once('exit', closeAll);
  openTables.add(table);
}

function closed(table: { close(): void }): void {
  if (openTables.delete(table) && openTables.size === 0) process.off('exit', closeAll);
}

function closeAll(): void {
  for (const table of openTables) table.close();
}

/** Keeps the mark beside the file right. */
interface Marking {
  /** Called after each commit. */
  readonly committed: () => void;
  /** Closes the database by `close`. */
  readonly during: (close: () => void) => void;
}

interface SqliteFile extends Table, Disposable {
  /** Reads the whole file. Returns what is wrong with it, in SQLite's words. */
  problems(): string[];
  close(): void;
}

class SqliteTable implements SqliteFile {
  readonly #database: DatabaseSync;
  readonly #clock: () => number;
  readonly #timeout: number;
  readonly #sleep: (milliseconds: number) => Promise<void>;
  readonly #now: () => number;
  readonly #marking: Marking;
  readonly #statements = new Map<string, StatementSync>();
  /** Items as they were last read, by key: a page is put together in half the time. */
  readonly #kept = new Map<string, Item>();
  /** The database's version when it was last looked at: another one when another process has written. */
  #version: unknown;
  #isUpToDate = false;
  /** Writes of this turn of the event loop, and of those in which another process writes, which are not committed yet. */
  #waiting: Write[] = [];
  /** The second in which nothing that has expired was left. */
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(database: DatabaseSync, { clock, timeout, sleep, now }: Required<SqliteOptions>, marking: Marking) {
    this.#database = database;
    this.#clock = clock;
    this.#timeout = timeout;
    this.#sleep = sleep;
    this.#now = now;
    this.#marking = marking;
  }

  async get<T extends Item>(key: Key<T>): Promise<T | undefined> {
    this.#catchUp();
    return this.#read(key) as T | undefined;
  }

  async many<const K extends readonly Key[]>(keys: K): Promise<ItemsAt<K>> {
    this.#catchUp();
    return keys.map((key) => this.#read(key)) as ItemsAt<K>;
  }

  async list<T extends Key>(range: Range<T>, page: Page): Promise<Listed<T>> {
    this.#catchUp();
    return this.#list(range, page) as Listed<T> & Listed;
  }

  async write<T extends Item>(ops: Ops<T>, { apart = false } = {}): Promise<Written<T>> {
    const clean = prepared(ops, apart);
    if (clean.length === 0) return [];
    const items = await new Promise<(Item | undefined)[]>((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#commitWaiting());
      this.#waiting.push({ ops: clean, apart, until: this.#now() + this.#timeout, resolve, reject });
    });
    return items as Written<T>;
  }

  problems(): string[] {
    try {
      const found = this.#statement('PRAGMA integrity_check').all() as unknown as [string][];
      return found.map(([words]) => words).filter((words) => words !== 'ok');
    } catch (error) {
      return [messageOf(error)];
    }
  }

  close(): void {
    this.#commitWaiting(true);
    this.#marking.during(() => this.#database.close());
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #statement(sql: string): StatementSync {
    return getOrMake(this.#statements, sql, () => {
      const made = this.#database.prepare(sql);
      // Rows as arrays, not as objects: a third of the time of a list.
      made.setReturnArrays(true);
      return made;
    });
  }

  /** Returns the first column of the first row. */
  #first(sql: string, ...values: (string | number)[]): unknown {
    return (this.#statement(sql).get(...values) as unknown as unknown[] | undefined)?.[0];
  }

  /** Returns the JSON of an item, expired or not. */
  #fetch({ pk, sk }: Key): string | undefined {
    return this.#first('SELECT value FROM item WHERE pk = ? AND sk = ?', pk, sk) as string | undefined;
  }

  /** Lets go of what is kept when another process has written. Reads that are begun together look once. */
  #catchUp(): void {
    if (this.#isUpToDate) return;
    this.#isUpToDate = true;
    queueMicrotask(() => {
      this.#isUpToDate = false;
    });
    const now = this.#first('PRAGMA data_version');
    if (now !== this.#version) this.#kept.clear();
    this.#version = now;
  }

  #read(key: Key): Item | undefined {
    return isPossibleKey(key) ? live(this.#recall(key), this.#clock()) : undefined;
  }

  /** Returns the item, expired or not, as it is kept, or else as it lies in the file. */
  #recall(key: Key): Item | undefined {
    const name = nameOf(key);
    const known = this.#kept.get(name);
    if (known !== undefined) return known;
    const text = this.#fetch(key);
    if (text === undefined) return undefined;
    const item = Object.freeze(JSON.parse(text) as Item);
    if (text.length > MAX_KEPT_LENGTH) return item;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(name, item);
    return item;
  }

  #apply(op: Op, index: number): Item | undefined {
    const key = keyOf(op);
    const text = op.if === undefined && !('change' in op) ? undefined : this.#fetch(key);
    const found = text === undefined ? undefined : live(JSON.parse(text) as Item, this.#clock());
    if (!holds(op.if, found)) throw new Refused(index, found, op.else);
    if ('check' in op) return undefined;
    this.#kept.delete(nameOf(key));
    if ('remove' in op) {
      this.#statement('DELETE FROM item WHERE pk = ? AND sk = ?').run(key.pk, key.sk);
      return undefined;
    }
    const item = 'put' in op ? op.put : changed(found, op);
    if ('change' in op) refuseLargeItem(item);
    this.#statement(STORE).run(...COLUMNS.map((column) => item[column] ?? null), JSON.stringify(item));
    return item;
  }

  /** Takes the lock of writers; who `mayWait` holds up the process until it is free. */
  #lock(mayWait: boolean): void {
    if (mayWait) return void this.#statement('BEGIN IMMEDIATE').run();
    this.#database.exec('PRAGMA busy_timeout = 0');
    try {
      this.#statement('BEGIN IMMEDIATE').run();
    } finally {
      // Of all else, such as a log that is mended after a death, others have the file for moments.
      this.#database.exec(`PRAGMA busy_timeout = ${this.#timeout}`);
    }
  }

  #inTransaction(work: () => void, mayWait: boolean): void {
    this.#lock(mayWait);
    try {
      work();
      this.#statement('COMMIT').run();
      this.#marking.committed();
    } catch (error) {
      if (this.#database.isTransaction) this.#statement('ROLLBACK').run();
      throw error;
    }
  }

  /** Does one write inside the group's transaction: whole, or not at all. */
  #within({ ops, apart }: Write): Outcome {
    this.#statement('SAVEPOINT one').run();
    try {
      const items = ops.map((op, at) => this.#apply(op, at));
      const whole = apart || ops.length === 1;
      return { items: items.map((item, at) => (whole || 'put' in (ops[at] as Op) ? item : undefined)) };
    } catch (error) {
      // Some errors, such as a full disk, end the transaction: then nobody's write is done.
      if (!this.#database.isTransaction) throw error;
      this.#statement('ROLLBACK TO one').run();
      return { error };
    } finally {
      if (this.#database.isTransaction) this.#statement('RELEASE one').run();
    }
  }

  /**
   * Commits, with one wait for the disk, all that was written in one turn of the event loop. While another process writes
   * it is put off, with what is written meanwhile, but for what comes `last`.
   */
  #commitWaiting(isLast = false): void {
    const group = this.#waiting;
    if (group.length === 0) return;
    this.#waiting = [];
    let outcomes: Outcome[] = [];
    try {
      this.#inTransaction(() => {
        outcomes = group.map((write) => this.#within(write));
        this.#sweep();
      }, isLast);
    } catch (error) {
      if (isBusy(error)) return this.#putOff(group, isLast ? Number.POSITIVE_INFINITY : this.#now(), error);
      outcomes = group.map(() => ({ error }));
    }
    for (const [at, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[at] as Outcome;
      if ('items' in outcome) resolve(outcome.items);
      else reject(outcome.error);
    }
  }

  /** Has writes tried again that may still wait at such a time; the others are refused. */
  #putOff(group: readonly Write[], now: number, cause: unknown): void {
    for (const write of group) {
      if (write.until <= now) write.reject(new Busy('another process is writing', { cause }));
      else this.#waiting.push(write);
    }
    if (this.#waiting.length > 0) void this.#sleep(BUSY_LOOK_MS).then(() => this.#commitWaiting());
  }

  /** Removes expired items. Once none is left it looks no more in the same second, for nothing else expires in it. */
  #sweep(): void {
    const now = seconds(this.#clock());
    if (now === this.#sweptAt) return;
    const { changes } = this.#statement(
      'DELETE FROM item WHERE rowid IN (SELECT rowid FROM item WHERE ttl IS NOT NULL AND ttl <= ? LIMIT ?)',
    ).run(now, MAX_SWEPT);
    if (Number(changes) < MAX_SWEPT) this.#sweptAt = now;
  }

  #list(range: Range<Key>, { limit, after, skip = 0, count = false }: Page): Listed {
    const position = after === undefined ? undefined : fromCursor(range, after);
    const wanted = wantedOf(range, seconds(this.#clock()));
    if (wanted === undefined) return { items: [], ...(count ? { count: 0 } : {}) };

    const { sort, where, values } = wanted;
    const total = count
      ? Number(this.#first(`SELECT count(*) FROM item WHERE ${where.join(' AND ')}`, ...values))
      : undefined;

    const { index, partition, newestFirst = false } = range;
    const order = index === undefined ? ['sk'] : [sort, 'pk', 'sk'];
    if (position !== undefined) {
      const at = index === undefined ? [position.sk] : [position.sort, position.pk, position.sk];
      where.push(`(${order.join(', ')}) ${newestFirst ? '<' : '>'} (${at.map(() => '?').join(', ')})`);
      values.push(...at);
    }
    const direction = newestFirst ? 'DESC' : 'ASC';
    // A bare `LIMIT ?` makes SQLite plan the statement anew each time that it is bound: twice the time of a short list.
    // One row more at the end tells whether the range goes on; one before the page tells where skipping ended.
    const before = skip > 0 ? 1 : 0;
    const rows = this.#statement(
      `SELECT pk, sk, ${sort} FROM item WHERE ${where.join(' AND ')}
       ORDER BY ${order.map((column) => `${column} ${direction}`).join(', ')} LIMIT (? + 0) OFFSET ?`,
    ).all(...values, before + limit + 1, skip - before) as unknown as [pk: string, sk: string, sort: string][];
    const positions = rows.map((row): Position => ({ pk: row[0], sk: row[1], sort: row[2] }));
    const found = positions.slice(before, before + limit);
    const last = positions.length > before + limit ? positions[before + limit - 1] : undefined;
    return {
      items:
        index === 'second'
          ? found.map(({ pk, sk, sort }): Item => ({ pk, sk, second_pk: partition, second_sk: sort }))
          : found.map((key) => this.#recall(key)).filter((item) => item !== undefined),
      ...(last === undefined ? {} : { cursor: toCursor(range, last) }),
      ...(total === undefined ? {} : { count: total }),
    };
  }
}

/** The parts of a query that finds the rows of a range. */
interface Wanted {
  /** The column of the sort part. */
  readonly sort: string;
  /** Conditions that all must hold, and the values that they ask for. */
  readonly where: string[];
  readonly values: (string | number)[];
}

/** Returns undefined when the range holds nothing. `now`, in seconds, decides what has expired. */
function wantedOf(range: Range<Key>, now: number): Wanted | undefined {
  const bounds = boundsOf(range);
  if (bounds === undefined) return undefined;
  const { index, partition } = range;
  const [pk, sort] = index === undefined ? ['pk', 'sk'] : [`${index}_pk`, `${index}_sk`];
  const where = [`${pk} = ?`];
  const values: (string | number)[] = [partition];
  const narrow = (condition: string, ...asked: (string | number)[]): void => {
    where.push(condition);
    values.push(...asked);
  };
  if (index !== undefined) narrow(`${sort} IS NOT NULL`);
  // The second index holds no `ttl`.
  if (index !== 'second') narrow('(ttl IS NULL OR ttl > ?)', now);
  if (bounds.low !== undefined) narrow(`${sort} >= ?`, bounds.low);
  if (bounds.high !== undefined) narrow(`${sort} <= ?`, bounds.high);
  return { sort, where, values };
}

/** Ops that wait for their commit, and the promise of their caller. */
interface Write {
  readonly ops: readonly Op[];
  readonly apart: boolean;
  /** By when it is refused, as `now` of the options tells it. */
  readonly until: number;
  readonly resolve: (items: (Item | undefined)[]) => void;
  readonly reject: (reason: unknown) => void;
}

type Outcome = { readonly items: (Item | undefined)[] } | { readonly error: unknown };

/** Returns a key as one text. */
const nameOf = ({ pk, sk }: Key): string => `${pk.length} ${pk}${sk}`;

/** Returns SQLite's result code; its extended codes have it in the low byte. */
const codeOf = (error: unknown): number => Number((error as { errcode?: unknown }).errcode) & 0xff;

/** Returns whether this is SQLITE_BUSY. */
export const isBusy = (error: unknown): boolean => codeOf(error) === 5;

/** Returns whether this is SQLITE_CORRUPT or SQLITE_NOTADB. */
export const isDamage = (error: unknown): boolean => [11, 26].includes(codeOf(error));
