/**
 * Events whose persons are resolved, kept by who is asked about them again. The tiles of a dashboard look at the same
 * files, and to read these and to find whose each event is takes most of what a tile costs.
 */
import { createHash } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';

/** What most kinds read of events, beside properties. */
export const RESOLVED_COLUMNS: ReadonlySet<string> = new Set(['event', 'timestamp_us', 'person_id']);

/** A row takes some 80 bytes, so that the memory of a database, 500 MB, has room for a query beside them. */
const MAX_ROWS = 2_000_000;

/** So many sets of files that were asked about are remembered. */
const REMEMBERED = 8;

/** What events a question looks at. */
interface LookedAt {
  /** The files of the events and of the persons. */
  readonly paths: readonly string[];
  /** SQL of the rows with `RESOLVED_COLUMNS`, to stand after FROM, and how many they are at most. */
  readonly rows: () => Promise<{ readonly sql: string; readonly count: string }>;
  /** Whether it asks whose events are. */
  readonly isTied: boolean;
}

interface ResolvedEvents {
  /**
   * Does work with the name of a table that has the resolved events; undefined: there is none. One is made when a
   * question asks whose events of the same files are for the second time.
   */
  during<T>(events: LookedAt, work: (table: string | undefined) => Promise<T>): Promise<T>;
}

interface Kept {
  readonly key: string;
  /** The name of the table; undefined: there are too many rows, or it could not be made. */
  readonly made: Promise<string | undefined>;
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
      await connection.run(`DROP TABLE IF EXISTS resolved_${tables}`);
      tables += 1;
      const { sql, count } = await rows();
      const [most] = (await connection.runAndReadAll(count)).getRows();
      if (Number(most?.[0]) > MAX_ROWS) return undefined;
      await connection.run(`CREATE TABLE resolved_${tables} AS SELECT * FROM ${sql}`);
      return `resolved_${tables}`;
    }).catch(() => undefined);

  const keptFor = (events: LookedAt): Kept | undefined => {
    const key = createHash('sha256').update(events.paths.join('\n')).digest('hex');
    if (kept?.key === key) {
      asked = [];
      return kept;
    }
    if (!events.isTied) return undefined;
    const isRepeated = asked.includes(key);
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
        return await work(await found.made);
      } finally {
        found.using -= 1;
      }
    },
  };
}
