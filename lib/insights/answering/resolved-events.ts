/**
 * Events whose persons are resolved, kept by who is asked about them again. The tiles of a dashboard look at the same
 * files, and to read these and to find whose each event is takes most of what a tile costs.
 */
import { hash } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';
import { Failure } from '../../ports/errors.ts';
import { TOO_MUCH_MEMORY } from './query-failures.ts';
import { ownPerson } from './tables.ts';

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

const OWN = ownPerson((column) => `lake.${column}`);

/** What a question fails with that takes more memory than it may have. */
export class OutOfMemory extends Failure {
  constructor() {
    super('validation', { attr: 'query', detail: TOO_MUCH_MEMORY });
  }
}

/** What events a question looks at. */
interface LookedAt {
  /** The files of the events and of the persons. */
  readonly paths: readonly string[];
  /**
   * SQL, to stand after FROM, of the events with `event`, `timestamp_us`, `distinct_id` and their own `person_id`, and of a
   * row for each distinct_id that somebody has (`distinct_id`, `person_id`); and how many events there are at most.
   */
  readonly rows: () => Promise<{ readonly events: string; readonly ties: string; readonly count: string }>;
  /** Is told what failed with what is kept, where that is a defect of it: the question is answered without. */
  readonly warn?: ((error: unknown) => void) | undefined;
}

/** What a question asks of them. */
interface Asks {
  /** Whether it asks whose events are. */
  readonly isTied: boolean;
  /** Whether it reads no other columns than the resolved ones, and takes what is of a type that lists texts for a text. */
  readonly isResolved: boolean;
  /** Whether it asks whose events are only to tell persons apart, so that numbers do for them. */
  readonly isNumbered: boolean;
  /** Whether it puts events in order person by person. */
  readonly isSorted: boolean;
  /** Whether it is known that others ask about the same events. */
  readonly isRepeated: boolean;
}

/** Whose events are, with a number for each person. */
export interface NumberedPersons {
  /** The name of a table with a row for each distinct_id that somebody has: `distinct_id`, `person_id`. */
  readonly ties: string;
  /** SQL of the number of the person that a tie tells (null: there is none), else of the one whose id is the text. */
  readonly personOf: (tied: string, own: string) => string;
}

/** What there is for a question: the resolved events, as SQL that may stand after FROM, or only the persons' numbers. */
type Found = { readonly events: string } | { readonly persons: NumberedPersons };

interface ResolvedEvents {
  /**
   * Does work with what there is for a question; undefined: there is nothing. A table of the resolved events is made when a
   * question asks whose events of the same files are for the second time, or it is known that others follow. Its texts are
   * those of the files, of a type that lists them in their order, but where numbers do for persons it has these. Who is the
   * first to ask and sorts events by persons has their numbers, for to sort by texts takes three times as long. Work that
   * fails with what there is, is done without; where it was out of memory, what there was is given back before, unless others
   * use it, and not made again for these files.
   */
  during<T>(events: LookedAt, asks: Asks, work: (found: Found | undefined) => Promise<T>): Promise<T>;
}

/** A type that lists persons, and a table of whose each distinct_id is; their names. */
interface Owners {
  readonly type: string;
  readonly ties: string;
}

interface Kept {
  readonly key: string;
  /** Whether it is known that there are not too many rows for a table. What was kept before is gone by then. */
  readonly isSmall: Promise<boolean | undefined>;
  /** Undefined: there are too many persons, or it could not be made. Absent: nobody needs it yet. */
  owners?: Promise<Owners | undefined>;
  /** The name of the table; undefined: there are too many rows, or it could not be made. Absent: nobody needs it yet. */
  table?: Promise<string | undefined>;
  using: number;
  /** There was no memory left beside it: it goes when nobody uses it any more. */
  isGivenUp: boolean;
}

/** SQL of a person as a value of the type that lists them: of whom a tie tells, else of the one whose id is the text. */
const listedPerson = (type: string, tied: string, own: string): string => `coalesce(${tied}, (${own})::${type})`;

/** No value of a caller takes part in what is kept: whatever failed of it but for memory is a defect. */
function warnOf(error: unknown, { warn }: LookedAt): void {
  if (!(error instanceof OutOfMemory)) warn?.(error);
}

const wantsNumbers = ({ isNumbered, isSorted }: Asks): boolean => isNumbered && isSorted;

/** Returns what keeps one table of a database. */
export function resolvedEvents(
  connected: <T>(work: (connection: DuckDBConnection) => Promise<T>) => Promise<T>,
): ResolvedEvents {
  let kept: Kept | undefined;
  let times = 0;
  let asked: readonly string[] = [];

  /** Returns what work gives; undefined: it failed, and is done without. */
  const tried = <T>(events: LookedAt, work: (connection: DuckDBConnection) => Promise<T>): Promise<T | undefined> =>
    connected(work).catch((error: unknown) => {
      warnOf(error, events);
      return undefined;
    });

  const begun = (events: LookedAt): Promise<boolean | undefined> =>
    tried(events, async (connection) => {
      await drop(connection, times);
      times += 1;
      const { count } = await events.rows();
      const [most] = (await connection.runAndReadAll(count)).getRows();
      return Number(most?.[0]) <= MAX_ROWS;
    });

  const madeOwners = (looked: LookedAt): Promise<Owners | undefined> =>
    tried(looked, async (connection) => {
      const owners: Owners = { type: `person_${times}`, ties: `owners_${times}` };
      const { events, ties } = await looked.rows();
      const isListed = await listed(
        connection,
        owners.type,
        `SELECT person_id FROM ${ties} UNION ALL
          SELECT ${OWN} FROM ${events} AS lake WHERE NOT EXISTS (FROM ${ties} AS ties WHERE ties.distinct_id = lake.distinct_id)`,
      );
      if (!isListed) return undefined;
      await connection.run(
        `CREATE TABLE ${owners.ties} AS SELECT distinct_id, person_id::${owners.type} AS person_id FROM ${ties}`,
      );
      return owners;
    });

  const madeTable = (looked: LookedAt, { type, ties }: Owners): Promise<string | undefined> =>
    tried(looked, async (connection) => {
      const { events } = await looked.rows();
      const [table, event] = [`resolved_${times}`, `event_${times}`];
      if (!(await listed(connection, event, `SELECT event FROM ${events}`))) return undefined;
      await connection.run(`CREATE TABLE ${table} AS SELECT event::${event} AS event, timestamp_us,
          ${listedPerson(type, 'ties.person_id', OWN)} AS person_id
        FROM ${events} AS lake LEFT JOIN ${ties} AS ties ON lake.distinct_id = ties.distinct_id`);
      return table;
    });

  const ownersOf = (looked: Kept, events: LookedAt): Promise<Owners | undefined> =>
    (looked.owners ??= looked.isSmall.then(() => madeOwners(events)));

  /** Persons are listed only where there is a table to be made: of too many rows that would be read for nothing. */
  const tableOf = async (looked: Kept, events: LookedAt): Promise<string | undefined> => {
    if (!(await looked.isSmall)) return undefined;
    const owners = await ownersOf(looked, events);
    return owners && madeTable(events, owners);
  };

  const keptFor = (events: LookedAt, asks: Asks): Kept | undefined => {
    const key = hash('sha256', events.paths.join('\n'));
    let found = kept?.key === key ? kept : undefined;
    if (found !== undefined) asked = [];
    else if (!asks.isTied) return undefined;
    const isRepeated = found !== undefined || asks.isRepeated || asked.includes(key);
    const wantsTable = asks.isTied && asks.isResolved && isRepeated;
    if (found === undefined) {
      asked = [key, ...asked.filter((one) => one !== key)].slice(0, REMEMBERED);
      if (!(wantsTable || wantsNumbers(asks)) || (kept !== undefined && kept.using > 0)) return undefined;
      found = { key, isSmall: begun(events), using: 0, isGivenUp: false };
      kept = found;
    }
    if (wantsTable) found.table ??= tableOf(found, events);
    return found;
  };

  const foundIn = async (looked: Kept, events: LookedAt, asks: Asks): Promise<Found | undefined> => {
    const table = asks.isResolved ? await looked.table : undefined;
    if (table !== undefined)
      return {
        events: asks.isNumbered ? `(SELECT * REPLACE (enum_code(person_id) AS person_id) FROM ${table})` : table,
      };
    const owners = wantsNumbers(asks) ? await ownersOf(looked, events) : undefined;
    if (owners === undefined) return undefined;
    const { type, ties } = owners;
    return { persons: { ties, personOf: (tied, own) => `enum_code(${listedPerson(type, tied, own)})` } };
  };

  return {
    during: async (events, asks, work) => {
      const looked = keptFor(events, asks);
      if (looked === undefined) return work(undefined);
      looked.using += 1;
      try {
        const found = await foundIn(looked, events, asks);
        if (found !== undefined) return await work(found);
      } catch (error) {
        // What a question is refused for is told where it fails of the files, too.
        if (!(error instanceof Failure)) warnOf(error, events);
        // The memory of what is kept may be what is missing. Whatever else it is, the files tell it too.
        if (error instanceof OutOfMemory && kept === looked) {
          // The tiles of a dashboard that follow would each make it anew, and run out of memory as this one.
          looked.owners = Promise.resolve(undefined);
          looked.table = Promise.resolve(undefined);
          looked.isGivenUp = true;
        }
      } finally {
        looked.using -= 1;
        if (looked.isGivenUp && looked.using === 0 && kept === looked) {
          looked.isGivenUp = false;
          await tried(events, (connection) => drop(connection, times));
        }
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
