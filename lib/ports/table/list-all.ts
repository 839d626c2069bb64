import { setImmediate as turn } from 'node:timers/promises';
import type { Item, Key, Range, Table } from './table.ts';

/**
 * Yields the items of a range, at most so many at once. Between two pages others have their turn, for a table of one
 * machine answers within one.
 */
export async function* pagesOf<T extends Key = Item>(
  table: Table,
  range: Range<T>,
  limit = 1000,
): AsyncGenerator<T[], void> {
  let after: string | undefined;
  do {
    const page = await table.list(range, { limit, after });
    yield page.items;
    after = page.cursor;
    if (after !== undefined) await turn();
  } while (after !== undefined);
}

/** Items that callers may make large are held so many at a time. */
const LARGE_AT_ONCE = 50;

/** Returns what is picked of each item of a range, in its order: of the items themselves few are held at a time. */
export async function picked<T extends Key, Picked>(
  table: Table,
  range: Range<T>,
  pick: (item: T) => Picked | undefined,
): Promise<Picked[]> {
  const found: Picked[] = [];
  for await (const items of pagesOf(table, range, LARGE_AT_ONCE))
    found.push(...items.flatMap((item) => pick(item) ?? []));
  return found;
}

/** Returns every item of a range that is known to be small. */
export async function listAll<T extends Key = Item>(table: Table, range: Range<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const items of pagesOf(table, range)) found.push(...items);
  return found;
}
