import { keys } from './keys.ts';
import type { Item, Table } from './table.ts';

declare module './keys.ts' {
  interface Items {
    sequence: SequenceItem;
  }
}

/** The last number of a kind that was given. */
interface SequenceItem extends Item {
  readonly last: number;
}

/** Returns the next number of a kind, from 1; the first of `count` in a row. Some may be skipped, none comes twice. */
export async function nextNumber(
  table: Table,
  kind: 'user' | 'project' | 'dashboard' | 'tile' | 'insight' | 'subscription',
  count = 1,
): Promise<number> {
  const [item] = await table.write([{ change: keys.sequence(kind), add: { last: count } }]);
  return (item?.last ?? count) - count + 1;
}
