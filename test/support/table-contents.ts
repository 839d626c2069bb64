/** A table in a file, and everything that is in it. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import type { Item, Table } from '../../lib/ports/table/table.ts';
import { type SettableClock, settableClock, temporaryFolder } from './context.ts';
import { onEnd } from './on-end.ts';

interface TableWithContents {
  readonly table: Table;
  readonly clock: SettableClock;
  /** Returns every item, in the order of keys; those whose time is over too. */
  readonly everything: () => Item[];
}

/** Returns a new table, which is closed after the tests of the file. */
export function tableWithContents(clock = settableClock()): TableWithContents {
  const path = join(temporaryFolder(), 'table.sqlite');
  const table = sqliteTable(path, { clock });
  const reader = new DatabaseSync(path, { readOnly: true });
  onEnd(() => {
    reader.close();
    table.close();
  });
  const select = reader.prepare('SELECT value FROM item ORDER BY pk, sk');
  return { table, clock, everything: () => select.all().map((row) => JSON.parse(String(row['value'])) as Item) };
}
