/** How long a delivery waits for its rows: for a worker that counts or selects them, and until that tells the first. */
import type { Warehouse } from '../../warehouse/warehouse.ts';

export interface RowWaits {
  /** The warehouse, for one delivery, whose waits are added up. */
  readonly warehouse: Warehouse;
  /** Returns for how long the delivery has waited until now, in milliseconds. */
  ms(): number;
}

/** Returns a warehouse that adds up the waits. `clock`: in milliseconds. */
export function rowWaits(source: Warehouse, clock: () => number): RowWaits {
  let sum = 0;
  const open = new Set<{ readonly since: number }>();
  const begin = (): (() => void) => {
    const wait = { since: clock() };
    open.add(wait);
    return () => {
      if (open.delete(wait)) sum += clock() - wait.since;
    };
  };
  async function* fromTheFirst<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    const end = begin();
    try {
      for await (const item of items) {
        end();
        yield item;
      }
    } finally {
      end();
    }
  }
  return {
    warehouse: {
      unload: (plan, intervals) => source.unload(plan, intervals),
      count: (plan, interval, signal) => {
        const end = begin();
        return source.count(plan, interval, signal).finally(end);
      },
      read: (plan, interval, form, signal) => fromTheFirst(source.read(plan, interval, form, signal)),
      files: (plan, interval, form, signal) => fromTheFirst(source.files(plan, interval, form, signal)),
    },
    ms: () => [...open].reduce((ms, { since }) => ms + clock() - since, sum),
  };
}
