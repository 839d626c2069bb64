import type { Item, Key, Range, Table } from './table.ts';

/** Returns every item of a range that is known to be small. */
export async function listAll<T extends Key = Item>(table: Table, range: Range<T>): Promise<T[]> {
  const found: T[] = [];
  let after: string | undefined;
  do {
    const page = await table.list(range, { limit: 1000, ...(after === undefined ? {} : { after }) });
    found.push(...page.items);
    after = page.cursor;
  } while (after !== undefined);
  return found;
}
