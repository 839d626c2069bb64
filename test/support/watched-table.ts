import type { Op, Table } from '../../lib/ports/table/table.ts';

/** A table that lets a test act, or fail, just before each of its writes. */
export function watchWrites(table: Table, before: (ops: readonly Op[]) => Promise<void> | void): Table {
  return {
    get: (key) => table.get(key),
    many: (all) => table.many(all),
    list: (range, page) => table.list(range, page),
    async write(ops, options) {
      await before(ops);
      return table.write(ops, options);
    },
  };
}
