import { keyOf } from '../../lib/ports/table/semantics.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { Busy, type Item, type Key, type Table } from '../../lib/ports/table/table.ts';

export interface Unreliability {
  readonly random: () => number;
  readonly clock: () => number;
  /** The chance that a write is not done and answers `Busy`. */
  readonly busy?: number;
  /** The chance that a write is done and answers `Busy` all the same. */
  readonly lost?: number;
  /** The chance, at each look at an index, that a change of an item has not arrived there yet. */
  readonly lag?: number;
}

interface UnreliableTable extends Table {
  /** Lets the indexes catch up with everything. */
  settle(): Promise<void>;
  /** From now on nothing fails and no index lags. */
  heal(): Promise<void>;
}

/**
 * Returns a table with DynamoDB's vices over any adapter, for tests of stores: indexes that lag behind, item by item and
 * in no common order, writes that are refused, and writes whose answer is lost. Indexes show what was written through
 * this wrapper.
 */
export function unreliable(
  table: Table,
  { random, clock, busy = 0, lost = 0, lag = 0 }: Unreliability,
): UnreliableTable {
  /** The content of the indexes: a table of their own, to which changed items come late. */
  const indexes = sqliteTable(':memory:', { clock });
  const late = new Map<string, { key: Key; item: Item | undefined }[]>();
  let healed = false;
  const strikes = (chance: number): boolean => !healed && random() < chance;

  const arrive = async (chance: number): Promise<void> => {
    for (const [name, versions] of late) {
      while (versions.length > 0 && !strikes(chance)) {
        const { key, item } = versions.shift() as { key: Key; item: Item | undefined };
        await indexes.write([item === undefined ? { remove: key } : { put: item }]);
      }
      if (versions.length === 0) late.delete(name);
    }
  };

  return {
    get: (key) => table.get(key),
    many: (keys) => table.many(keys),
    list: async (range, page) => {
      if (range.index === undefined) return table.list(range, page);
      await arrive(lag);
      return indexes.list(range, page);
    },
    write: async (ops, options) => {
      if (strikes(busy)) throw new Busy('a test made the table busy');
      const items = await table.write(ops, options);
      for (const { pk, sk } of ops.filter((op) => !('check' in op)).map(keyOf)) {
        const name = JSON.stringify([pk, sk]);
        const version = { key: { pk, sk }, item: await table.get({ pk, sk }) };
        late.set(name, [...(late.get(name) ?? []), version]);
      }
      if (strikes(lost)) throw new Busy('a test lost the answer');
      return items;
    },
    settle: () => arrive(0),
    heal: async () => {
      healed = true;
      await arrive(0);
    },
  };
}
