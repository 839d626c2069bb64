import { Busy, type Op, type Table } from '../../lib/ports/table/table.ts';

/** Returns the table, but for the verbs that are given instead of its own. */
export function tableWith(table: Table, instead: Partial<Table>): Table {
  return {
    get: (key) => table.get(key),
    many: (keys) => table.many(keys),
    list: (range, page) => table.list(range, page),
    write: (ops, options) => table.write(ops, options),
    ...instead,
  };
}

/** Returns a table that lets a test act, or fail, just before each of its writes. */
export const watchWrites = (table: Table, before: (ops: readonly Op[]) => Promise<void> | void): Table =>
  tableWith(table, {
    write: async (ops, options) => {
      await before(ops);
      return table.write(ops, options);
    },
  });

/** Lets a test act once, just before the first write of this table whose ops are such. */
export function actBefore(table: Table, isSuch: (ops: readonly Op[]) => boolean, act: () => Promise<unknown>): void {
  const write = table.write.bind(table);
  table.write = async (ops, options) => {
    if (isSuch(ops)) {
      table.write = write;
      await act();
    }
    return write(ops, options);
  };
}

/** A table whose user dies at its n-th write, or right after it; it tells whether that many came. */
export function tableThatDies(table: Table, n: number, after: boolean): { dying: Table; isDead: () => boolean } {
  let writes = 0;
  const dying = tableWith(table, {
    write: async (ops, options) => {
      writes += 1;
      if (writes === n && !after) throw new Busy('killed');
      const written = await table.write(ops, options);
      if (writes === n) throw new Busy('killed');
      return written;
    },
  });
  return { dying, isDead: () => writes >= n };
}
