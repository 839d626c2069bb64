import type { Table } from '../../lib/ports/table/table.ts';

/** The table, but for the verbs that are given instead of its own. */
export function tableWith(table: Table, instead: Partial<Table>): Table {
  return {
    get: (key) => table.get(key),
    many: (keys) => table.many(keys),
    list: (range, page) => table.list(range, page),
    write: (ops, options) => table.write(ops, options),
    ...instead,
  };
}
