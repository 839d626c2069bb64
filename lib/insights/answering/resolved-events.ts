/**
 * Events whose persons are resolved, kept by who is asked about them again. The tiles of a dashboard look at the same
 * files, and to read these and to find whose each event is takes most of what a tile costs.
 */
import { createHash } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';

/** What most kinds read of events, beside properties. */
export const RESOLVED_COLUMNS: ReadonlySet<string> = new Set(['event', 'timestamp_us', 'person_id']);

/**
 * A row takes some 22 bytes: names and persons are numbers of a type that lists them. So ten million have 220 MB of a
 * database's 500, which it may spill.
 */
const MAX_ROWS = 12_000_000;
/** A listed name takes some 150 bytes, of which DuckDB does not count all. */
const MAX_NAMES = 500_000;

/** So many sets of files that were asked about are remembered. */
const REMEMBERED = 8;

/** What events a question looks at. */
interface LookedAt {
  /** The files of the events and of the persons. */
  readonly paths: readonly string[];
  /**
   * SQL, to stand after FROM, of the events with `event`, `timestamp_us`, `distinct_id` and their own `person_id`, and of a
   * row for each distinct_id that somebody has (`distinct_id`, `person_id`); and how many events there are at most.
   */
  readonly rows: () => Promise<{ readonly events: string; readonly ties: string; readonly count: string }>;
  /** Whether it asks whose events are. */
  readonly isTied: boolean;
  /** Whether it is known that others ask about the same events. */
  readonly isRepeated?: boolean;
}

interface ResolvedEvents {
  /**
   * Does work with the name of a table that has the resolved events; undefined: there is none. One is made when a
   * question asks whose events of the same files are for the second time, or it is known that others follow. Its texts are
   * those of the files, of a type that lists them in their order. Work that fails with the table is done without one, which
   * then is there no longer.
   */
  during<T>(events: LookedAt, work: (table: string | undefined) => Promise<T>): Promise<T>;
}

interface Kept {
  readonly key: string;
  /** The name of the table; undefined: there are too many rows, or it could not be made. */
  made: Promise<string | undefined>;
  using: number;
}

/** Returns what keeps one table of a database. */
export function resolvedEvents(
  connected: <T>(work: (connection: DuckDBConnection) => Promise<T>) => Promise<T>,
): ResolvedEvents {
  let kept: Kept | undefined;
  let tables = 0;
  let asked: readonly string[] = [];

  const make = ({ rows }: LookedAt): Promise<string | undefined> =>
    connected(async (connection) => {
      await drop(connection, tables);
      tables += 1;
      const { events, ties, count } = await rows();
      const [most] = (await connection.runAndReadAll(count)).getRows();
      if (Number(most?.[0]) > MAX_ROWS) return undefined;
      const [event, person, owners] = [`event_${tables}`, `person_${tables}`, `owners_${tables}`];
      const own = 'coalesce(person_id, distinct_id)';
      const isListed =
        (await listed(connection, event, `SELECT event FROM ${events}`)) &&
        (await listed(
          connection,
          person,
          `SELECT person_id FROM ${ties} UNION ALL
            SELECT ${own} FROM ${events} AS lake WHERE NOT EXISTS (FROM ${ties} AS ties WHERE ties.distinct_id = lake.distinct_id)`,
        ));
      if (!isListed) return undefined;
      // As `tables.ts` says whose an event is.
      await connection.run(`
        CREATE TABLE ${owners} AS SELECT distinct_id, person_id::${person} AS person FROM ${ties};
        CREATE TABLE resolved_${tables} AS SELECT event::${event} AS event, timestamp_us,
          coalesce(owners.person, ${own}::${person}) AS person_id
        FROM ${events} AS lake LEFT JOIN ${owners} AS owners USING (distinct_id);
        DROP TABLE ${owners}`);
      return `resolved_${tables}`;
    }).catch(() => undefined);

  const keptFor = (events: LookedAt): Kept | undefined => {
    const key = createHash('sha256').update(events.paths.join('\n')).digest('hex');
    if (kept?.key === key) {
      asked = [];
      return kept;
    }
    if (!events.isTied) return undefined;
    const isRepeated = events.isRepeated === true || asked.includes(key);
    asked = [key, ...asked.filter((one) => one !== key)].slice(0, REMEMBERED);
    if (!isRepeated || (kept !== undefined && kept.using > 0)) return undefined;
    kept = { key, made: make(events), using: 0 };
    return kept;
  };

  return {
    during: async (events, work) => {
      const found = keptFor(events);
      if (found === undefined) return work(undefined);
      found.using += 1;
      try {
        const table = await found.made;
        if (table !== undefined) return await work(table);
      } catch {
        // The table's memory may be what is missing. Whatever else it is, the files tell it too.
        found.made = Promise.resolve(undefined);
        if (found.using === 1) await connected((connection) => drop(connection, tables)).catch(() => {});
      } finally {
        found.using -= 1;
      }
      return work(undefined);
    },
  };
}

/** Removes what was made for the n-th time. */
const drop = (connection: DuckDBConnection, n: number): Promise<unknown> =>
  connection.run(`DROP TABLE IF EXISTS resolved_${n}; DROP TABLE IF EXISTS owners_${n};
    DROP TYPE IF EXISTS event_${n}; DROP TYPE IF EXISTS person_${n}`);

/** Makes a type that lists texts in their order. Returns whether there are not too many. */
const listed = async (connection: DuckDBConnection, type: string, texts: string): Promise<boolean> => {
  await connection.run(`CREATE OR REPLACE TABLE listed AS SELECT DISTINCT * FROM (${texts}) AS texts (name)`);
  const [count] = (await connection.runAndReadAll('SELECT count(*) FROM listed')).getRows();
  const isShort = Number(count?.[0]) <= MAX_NAMES;
  if (isShort)
    await connection.run(`CREATE TYPE ${type} AS ENUM (SELECT name FROM listed WHERE name IS NOT NULL ORDER BY name)`);
  await connection.run('DROP TABLE listed');
  return isShort;
};
