import type { Table } from '../../lib/ports/table/table.ts';

/** A table that counts. */
export interface CountingTable extends Table {
  /** Returns the round trips since the last call of `counted`; requests sent at the same time count as one. */
  counted(): number;
}

/**
 * Counts a table's round trips: calls wait until the code that runs has nothing more to ask, and then go out together.
 * So a call that needs the answer of another is a round trip of its own, and one that does not is none.
 */
export function countRoundTrips(table: Table): CountingTable {
  let trips = 0;
  let departure: Promise<void> | undefined;
  const together = async <T>(call: () => Promise<T>): Promise<T> => {
    departure ??= new Promise((resolve) => {
      setImmediate(() => {
        trips += 1;
        departure = undefined;
        resolve();
      });
    });
    await departure;
    return call();
  };
  return {
    get: (key) => together(() => table.get(key)),
    many: (keys) => together(() => table.many(keys)),
    list: (range, page) => together(() => table.list(range, page)),
    write: (ops, options) => together(() => table.write(ops, options)),
    counted: () => {
      const found = trips;
      trips = 0;
      return found;
    },
  };
}
