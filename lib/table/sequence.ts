import { keys } from './keys.ts';
import type { Table } from './table.ts';

/** The next whole number of a kind, from 1; numbers may be skipped, never given twice. */
export async function nextNumber(table: Table, kind: 'user' | 'project'): Promise<number> {
  const [item] = await table.write([{ change: keys.sequence(kind), add: { last: 1 } }]);
  return item?.['last'] as number;
}
