/**
 * A process of its own that writes to a SQLite table: `node sqlite-writer.ts <file> <name> <count>`. It adds 1 to a
 * sum that all writers share and puts an item of its own, in one transaction, and prints the number of each write
 * that was acknowledged.
 */
import { writeSync } from 'node:fs';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';

const [file = '', name = '', count = '0'] = process.argv.slice(2);

async function write(): Promise<void> {
  const table = sqliteTable(file, { clock: Date.now });
  for (let n = 0; n < Number(count); n += 1) {
    await table.write([{ change: { pk: 'sum', sk: 'sum' }, add: { n: 1 } }, { put: { pk: name, sk: `${n}` } }]);
    writeSync(1, `${n}\n`);
  }
  table.close();
}

void write();
