import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../../lib/duckdb/database.ts';
import { openStaging, stagedLine } from '../../../../lib/lake/import/staging.ts';
import { temporaryFolder } from '../../../support/context.ts';

test('hundreds of thousands of equal lines get uuids of their own in little memory', async () => {
  const lines = 600_000;
  const folder = temporaryFolder();
  const none = { created: null, personId: null, personProperties: null, elementsChain: null, personChange: null };
  const equal = {
    ...none,
    file: 0,
    uuid: '0189aaaa-0000-8000-a000-000000000001',
    own: false,
    event: 'ping',
    distinctId: 'ada',
  };
  const file = join(folder, 'staged');
  const line = (row: number) => stagedLine({ ...equal, row, properties: '{}', timestamp: 1000 });
  writeFileSync(file, Array.from({ length: lines }, (_, row) => `${line(row)}\n`).join(''));
  const limits = { memoryLimit: '120MB', threads: 2, tempDirectory: join(folder, 'spill') };
  const database = await openDatabase({ ...limits, places: [folder] });
  const connection = await database.connect();
  const staging = await openStaging({ database, connection, folder }, 1);
  const batch = await staging.load(
    file,
    async () => ({ paths: [], rows: 'SELECT 1' }),
    async () => [],
  );
  expect(batch).toMatchObject({ rows: lines, known: 0 });
  const answer = await connection.runAndReadAll('SELECT count(DISTINCT uuid) FROM staged');
  expect(answer.getRows()).toEqual([[BigInt(lines)]]);
  connection.closeSync();
  database.closeSync();
});
