import { positionOf, toCursor } from './cursor.ts';
import type { Entry, Item, Key, Listed, Page, Range, Table } from './table.ts';

/** Items that one list looks at, by default: the smallest are 100 bytes, so these are a megabyte at least. */
const MOST = 10_000;
/** Items of a page after the first, which turned out to hold too few. */
const PAGE = 1_000;

/** Lists whole items, of the index of keys too. */
export interface WholeLists<T extends Item> {
  list(range: Range<T> | Range<Entry<T>>, page: Page): Promise<Listed<T>>;
}

/**
 * Lists whole items, of the index that holds keys too, and only those that are asked for: it reads on until it has
 * them, or has looked at `most`. Then the list is short, and its cursor goes on from there.
 */
export function filtered<T extends Item>(
  table: Table,
  isAsked: (item: T) => boolean,
  most: number = MOST,
): WholeLists<T> {
  return {
    async list(range, { limit, ...page }) {
      const items: T[] = [];
      let { after } = page;
      let left = most;
      let size = limit;
      do {
        const listed: Listed<Key<T>> = await table.list<Key<T>>(range, {
          limit: Math.min(left, size),
          ...(after === undefined ? {} : { after }),
        });
        const whole = range.index === 'second' ? await table.many(listed.items) : (listed.items as T[]);
        items.push(...whole.filter((item) => item !== undefined).filter(isAsked));
        left -= listed.items.length;
        size = PAGE;
        after = listed.cursor;
      } while (items.length < limit && after !== undefined && left > 0);
      const last = items[limit - 1];
      const hasMore = last !== undefined && (items.length > limit || after !== undefined);
      const cursor = hasMore ? toCursor(range, positionOf(range, last)) : items.length < limit ? after : undefined;
      return { items: items.slice(0, limit), ...(cursor === undefined ? {} : { cursor }) };
    },
  };
}
