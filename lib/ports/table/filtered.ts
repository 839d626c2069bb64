import { setImmediate as turn } from 'node:timers/promises';
import { positionOf, toCursor } from './cursor.ts';
import type { Entry, Item, Key, Listed, Page, Range, Table } from './table.ts';

/** One list looks at this many items, by default: the smallest have 100 bytes, so these are a megabyte at least. */
const MAX_LOOKED_AT = 10_000;
/** A page after the first, which held too few of those that are asked for, has this many items. */
const PAGE_SIZE = 1_000;

/** Lists whole items, of the index of keys too. */
export interface WholeLists<T extends Item> {
  list(range: Range<T> | Range<Entry<T>>, page: Page): Promise<Listed<T>>;
}

/**
 * Returns lists of whole items, of the index of keys too, that hold only those for which `isAsked` is true. A list
 * reads on until it has enough of them, or has looked at `most`: then it is short, and its cursor goes on from there.
 * Between two pages others have their turn.
 */
export function filtered<T extends Item>(
  table: Table,
  isAsked: (item: T) => boolean,
  most: number = MAX_LOOKED_AT,
): WholeLists<T> {
  return {
    async list(range, { limit, ...page }) {
      const items: T[] = [];
      let { after } = page;
      let left = most;
      let size = limit;
      do {
        const listed: Listed<Key<T>> = await table.list<Key<T>>(range, { limit: Math.min(left, size), after });
        const whole = range.index === 'second' ? await table.many(listed.items) : (listed.items as T[]);
        items.push(...whole.filter((item) => item !== undefined).filter(isAsked));
        left -= listed.items.length;
        size = PAGE_SIZE;
        after = listed.cursor;
      } while (items.length < limit && after !== undefined && left > 0 && (await turn(true)));
      const last = items[limit - 1];
      const hasMore = last !== undefined && (items.length > limit || after !== undefined);
      const cursor = hasMore ? toCursor(range, positionOf(range, last)) : items.length < limit ? after : undefined;
      return { items: items.slice(0, limit), ...(cursor === undefined ? {} : { cursor }) };
    },
  };
}
