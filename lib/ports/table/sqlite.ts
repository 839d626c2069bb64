/**
 * The table in one SQLite file (or in memory): WAL, every commit on the disk before it is acknowledged, one writer at
 * a time, any number of processes.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
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
import {
  Busy,
  type Item,
  type Key,
  type Listed,
  type Op,
  type Page,
  type Range,
  Refused,
  type Table,
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

/** Another process's write is waited for this long before `Busy`, in milliseconds. */
const BUSY_TIMEOUT = 5_000;
/** So many items are kept at most, none longer than this (characters of JSON): 40 MB. */
const MOST_KEPT = 5_000;
const LONGEST_KEPT = 8_000;
/** Expired items removed beside one commit, so that they never pile up. */
const SWEEP = 20;

/** Opens or makes the file; `:memory:` is a table that lives as long as it is open. */
export function sqliteTable(
  path: string,
  { clock, timeout = BUSY_TIMEOUT }: { clock: () => number; timeout?: number },
): Table & { close(): void } {
  const database = new DatabaseSync(path, { timeout });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  database.exec(SCHEMA);

  const statements = new Map<string, StatementSync>();
  const statement = (sql: string): StatementSync => {
    let known = statements.get(sql);
    if (known === undefined) {
      known = database.prepare(sql);
      // Rows as arrays, not as objects: a third of the time of a list.
      known.setReturnArrays(true);
      statements.set(sql, known);
    }
    return known;
  };

  /** The first column of the first row. */
  const first = (sql: string, ...values: (string | number)[]): unknown =>
    (statement(sql).get(...values) as unknown as unknown[] | undefined)?.[0];

  const fetch = ({ pk, sk }: Key): string | undefined =>
    first('SELECT value FROM item WHERE pk = ? AND sk = ?', pk, sk) as string | undefined;

  /** Items as they were last read, by key: a page is put together in half the time. */
  const kept = new Map<string, Item>();
  let version: unknown;
  let isUpToDate = false;

  /** Lets go of what is kept when another process has written. Reads that are begun together look once. */
  const catchUp = (): void => {
    if (isUpToDate) return;
    isUpToDate = true;
    queueMicrotask(() => {
      isUpToDate = false;
    });
    const now = first('PRAGMA data_version');
    if (now !== version) kept.clear();
    version = now;
  };

  /** The item, expired or not, as it is kept, or else as it lies in the file. */
  const recall = (key: Key): Item | undefined => {
    const name = nameOf(key);
    const known = kept.get(name);
    if (known !== undefined) return known;
    const text = fetch(key);
    if (text === undefined) return undefined;
    const item = Object.freeze(JSON.parse(text) as Item);
    if (text.length > LONGEST_KEPT) return item;
    if (kept.size >= MOST_KEPT) kept.clear();
    kept.set(name, item);
    return item;
  };

  const store = (item: Item): void => {
    statement(
      `INSERT INTO item (${COLUMNS.join(', ')}, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (pk, sk) DO UPDATE SET first_pk = excluded.first_pk, first_sk = excluded.first_sk,
         second_pk = excluded.second_pk, second_sk = excluded.second_sk, ttl = excluded.ttl, value = excluded.value`,
    ).run(...COLUMNS.map((column) => item[column] ?? null), JSON.stringify(item));
  };

  const apply = (op: Op, index: number): Item | undefined => {
    const key = keyOf(op);
    const text = op.if === undefined && !('change' in op) ? undefined : fetch(key);
    const found = text === undefined ? undefined : live(JSON.parse(text) as Item, clock());
    if (!holds(op.if, found)) throw new Refused(index, found);
    if ('check' in op) return undefined;
    kept.delete(nameOf(key));
    if ('remove' in op) {
      statement('DELETE FROM item WHERE pk = ? AND sk = ?').run(key.pk, key.sk);
      return undefined;
    }
    const item = 'put' in op ? op.put : changed(found, op);
    if ('change' in op) refuseLargeItem(item);
    store(item);
    return item;
  };

  const inTransaction = (work: () => void): void => {
    try {
      statement('BEGIN IMMEDIATE').run();
      try {
        work();
        statement('COMMIT').run();
      } catch (error) {
        if (database.isTransaction) statement('ROLLBACK').run();
        throw error;
      }
    } catch (error) {
      throw isBusy(error) ? new Busy('another process is writing', { cause: error }) : error;
    }
  };

  /** Does one write inside the group's transaction: whole, or not at all. */
  const within = ({ ops, apart }: Write): Outcome => {
    statement('SAVEPOINT one').run();
    try {
      const items = ops.map(apply);
      const whole = apart || ops.length === 1;
      return { items: items.map((item, at) => (whole || 'put' in (ops[at] as Op) ? item : undefined)) };
    } catch (error) {
      // Some errors, such as a full disk, end the transaction: then nobody's write is done.
      if (!database.isTransaction) throw error;
      statement('ROLLBACK TO one').run();
      return { error };
    } finally {
      if (database.isTransaction) statement('RELEASE one').run();
    }
  };

  let waiting: Write[] = [];

  /** Commits, with one wait for the disk, all that was written in one turn of the event loop. */
  const commitWaiting = (): void => {
    const group = waiting;
    if (group.length === 0) return;
    waiting = [];
    let outcomes: Outcome[] = [];
    try {
      inTransaction(() => {
        outcomes = group.map(within);
        sweep();
      });
    } catch (error) {
      outcomes = group.map(() => ({ error }));
    }
    for (const [at, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[at] as Outcome;
      if ('items' in outcome) resolve(outcome.items);
      else reject(outcome.error);
    }
  };

  let sweptAt = Number.NEGATIVE_INFINITY;

  /** Removes what has expired; once that is all, not again in the same second, for nothing more expires in it. */
  const sweep = (): void => {
    const now = seconds(clock());
    if (now === sweptAt) return;
    const { changes } = statement(
      'DELETE FROM item WHERE rowid IN (SELECT rowid FROM item WHERE ttl IS NOT NULL AND ttl <= ? LIMIT ?)',
    ).run(now, SWEEP);
    if (Number(changes) < SWEEP) sweptAt = now;
  };

  const list = (range: Range, { limit, after, skip = 0, count = false }: Page): Listed => {
    const position = after === undefined ? undefined : fromCursor(range, after);
    const bounds = boundsOf(range);
    if (bounds === undefined) return { items: [], ...(count ? { count: 0 } : {}) };

    const { index, partition, newestFirst = false } = range;
    const [pk, sk] = index === undefined ? ['pk', 'sk'] : [`${index}_pk`, `${index}_sk`];
    const order = index === undefined ? ['sk'] : [sk, 'pk', 'sk'];
    const where = [`${pk} = ?`];
    const values: (string | number)[] = [partition];
    const narrow = (text: string, ...more: (string | number)[]): void => {
      where.push(text);
      values.push(...more);
    };
    if (index !== undefined) narrow(`${sk} IS NOT NULL`);
    if (index !== 'second') narrow('(ttl IS NULL OR ttl > ?)', seconds(clock()));
    if (bounds.low !== undefined) narrow(`${sk} >= ?`, bounds.low);
    if (bounds.high !== undefined) narrow(`${sk} <= ?`, bounds.high);

    const total = count
      ? Number(first(`SELECT count(*) FROM item WHERE ${where.join(' AND ')}`, ...values))
      : undefined;

    if (position !== undefined) {
      const at = index === undefined ? [position.sk] : [position.sort, position.pk, position.sk];
      narrow(`(${order.join(', ')}) ${newestFirst ? '<' : '>'} (${at.map(() => '?').join(', ')})`, ...at);
    }
    const direction = newestFirst ? 'DESC' : 'ASC';
    // A bare `LIMIT ?` makes SQLite plan the statement anew each time that it is bound: twice the time of a short list.
    // One row more at the end tells whether the range goes on; one before the page tells where skipping ended.
    const before = skip > 0 ? 1 : 0;
    const rows = statement(
      `SELECT pk, sk, ${sk} FROM item WHERE ${where.join(' AND ')}
       ORDER BY ${order.map((column) => `${column} ${direction}`).join(', ')} LIMIT (? + 0) OFFSET ?`,
    ).all(...values, before + limit + 1, skip - before) as unknown as [pk: string, sk: string, sort: string][];
    const positions = rows.map((row): Position => ({ pk: row[0], sk: row[1], sort: row[2] }));
    const found = positions.slice(before, before + limit);
    const last = positions.length > before + limit ? positions[before + limit - 1] : undefined;
    return {
      items:
        index === 'second'
          ? found.map(({ sort, ...key }): Item => ({ ...key, second_pk: partition, second_sk: sort }))
          : found.map(recall).filter((item) => item !== undefined),
      ...(last === undefined ? {} : { cursor: toCursor(range, last) }),
      ...(total === undefined ? {} : { count: total }),
    };
  };

  return {
    get: async (key) => {
      catchUp();
      return isPossibleKey(key) ? live(recall(key), clock()) : undefined;
    },
    many: async (keys) => {
      catchUp();
      return keys.map((key) => (isPossibleKey(key) ? live(recall(key), clock()) : undefined));
    },
    list: async (range, page) => {
      catchUp();
      return list(range, page);
    },
    write: async (ops, { apart = false } = {}) => {
      const clean = prepared(ops, apart);
      if (clean.length === 0) return [];
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(commitWaiting);
        waiting.push({ ops: clean, apart, resolve, reject });
      });
    },
    close: () => {
      commitWaiting();
      database.close();
    },
  };
}

/** Ops that are waiting to be written, and who waits for it. */
interface Write {
  readonly ops: readonly Op[];
  readonly apart: boolean;
  readonly resolve: (items: (Item | undefined)[]) => void;
  readonly reject: (reason: unknown) => void;
}

type Outcome = { readonly items: (Item | undefined)[] } | { readonly error: unknown };

/** A key as one text. */
const nameOf = ({ pk, sk }: Key): string => `${pk.length} ${pk}${sk}`;

/** SQLITE_BUSY is 5; its extended codes have it in the low byte. */
function isBusy(error: unknown): boolean {
  return (Number((error as { errcode?: unknown }).errcode) & 0xff) === 5;
}
