import { join } from 'node:path';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { openDatabase, parquet } from '../../../lib/duckdb/database.ts';
import { writeDayFiles } from '../../../lib/lake/day-files.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { temporaryFolder } from '../../support/context.ts';

const DAY = Date.UTC(2025, 5, 2);
const LEARNED = ['status', ...Array.from({ length: 7 }, (_, n) => `property ${n}`)];

test('a day of many events, with columns of all properties that may have one, is written in little memory', async () => {
  const [folder, root] = [temporaryFolder(), temporaryFolder()];
  const limits = { memoryLimit: '150MB', threads: 2, tempDirectory: join(folder, 'spill') };
  const database = await openDatabase({ ...limits, places: [folder, root] });
  const connection = await database.connect();
  await connection.run(`CREATE TABLE staged AS SELECT md5(i::VARCHAR)::UUID::VARCHAR AS uuid, '$http_log' AS event,
    'visitor ' || (i % 20000) AS distinct_id, 1::BIGINT AS team_id, json_object(
      '$current_url', 'https://www.example.com/articles/' || (i % 5000) || '.html?from=' || (i % 97),
      '$pathname', '/articles/' || (i % 5000) || '.html', '$browser', 'Chrome', '$os', 'Windows',
      '$host', 'www.example.com', 'status', 200, 'bytes', i, '$raw_user_agent', repeat('Mozilla/5.0 ', 10)
    )::VARCHAR AS properties, ${DAY * 1000} + (i * 7919) % 70000 * 1200000 AS timestamp_us, timestamp_us AS inserted_us,
    0::BIGINT AS created_us, NULL::VARCHAR AS person_id, NULL::VARCHAR AS person_properties, '' AS elements_chain
    FROM range(140000) t(i)`);
  const target = { scratch: join(folder, 'parquet'), folder: 'day/', lake: folderFiles(root), learned: LEARNED };
  const files = await writeDayFiles(connection, 'events', 'staged', target);
  expect(files).toMatchObject([{ rows: 140_000, min_arrival: DAY }]);
  expect(files[0]?.max_arrival).toBeLessThan(DAY + DAY_MS);
  const answer = await connection.runAndReadAll(`SELECT count(*), sum(("properties.status" = '200')::INT),
    count("properties.property 6"), sum((key < before)::INT) FROM (
      SELECT *, (inserted_us, timestamp_us, uuid) AS key, lag(key) OVER () AS before
      FROM ${parquet([join(root, 'day', 'events-2025-06-02.parquet')])})`);
  expect(answer.getRows()[0]?.map(Number)).toEqual([140_000, 140_000, 0, 0]);
  connection.closeSync();
  database.closeSync();
});
