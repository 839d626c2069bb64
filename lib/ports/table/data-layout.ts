/**
 * The layout of the data: which items the table has and what is in them, and the files beside it. On one machine it is noted in
 * `version.json`, and older ones are brought up to date at the start (infra/local/data/data-version.ts); on AWS it is an item
 * of the table, which goes back with the table when that is restored.
 */
import { keys } from './keys.ts';
import type { Item, Table } from './table.ts';
import { tryWrite } from './until-written.ts';

declare module './keys.ts' {
  interface Items {
    dataLayout: DataLayoutItem;
  }
}

interface DataLayoutItem extends Item {
  readonly layout: number;
}

/** The one that this version reads and writes. It counts up with what an earlier version would read wrongly, or not at all. */
export const DATA_LAYOUT = 3;

/** Returns the highest layout in which a table was written; undefined: by versions alone that did not note it, or by none. */
export async function dataLayoutOf(table: Pick<Table, 'get'>): Promise<number | undefined> {
  return (await table.get(keys.dataLayout()))?.layout;
}

/** Notes that a table is written in this layout, unless it was in a later one. */
export async function noteDataLayout(table: Table, layout = DATA_LAYOUT): Promise<void> {
  const known = await dataLayoutOf(table);
  if (known !== undefined && known >= layout) return;
  const put = { ...keys.dataLayout(), layout };
  // Whoever was first runs the same version, or is noted again by the next who looks.
  await tryWrite(table, [{ put, if: known === undefined ? 'absent' : { is: { layout: known } } }]);
}
