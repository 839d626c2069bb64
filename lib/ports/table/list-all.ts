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

/** Returns every item of a range that is known to be small. */
export async function listAll<T extends Key = Item>(table: Table, range: Range<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const items of pagesOf(table, range)) found.push(...items);
  return found;
}
