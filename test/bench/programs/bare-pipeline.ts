/** What anybody would write in ten lines: DuckDB prints each row as JSON, zlib's level 1 compresses, a file takes it. */
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { input, tell } from '../program.ts';

const { files, target } = input as { files: string[]; target: string };
const began = performance.now();
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const time = (column: string): string => `strftime(make_timestamp(${column}), '%Y-%m-%dT%H:%M:%S.%fZ')`;
const result = await connection.stream(`
  SELECT to_json({uuid: uuid, event: event, properties: properties::JSON, distinct_id: distinct_id,
    timestamp: ${time('timestamp_us')}, created_at: ${time('created_us')}, _inserted_at: ${time('inserted_us')},
    elements_chain: elements_chain, person_id: person_id, person_properties: person_properties::JSON})::VARCHAR
  FROM read_parquet([${files.map((file) => `'${file}'`).join(', ')}])`);

async function* lines(): AsyncGenerator<string> {
  for await (const chunk of result) yield `${chunk.getColumnValues(0).join('\n')}\n`;
}

await pipeline(lines(), createGzip({ level: 1 }), createWriteStream(target));
const { size } = await stat(target);
tell({ seconds: (performance.now() - began) / 1000, bytes: size });
