/**
 * The pipeline that anybody would write in ten lines: DuckDB prints each row as JSON, zlib's level 1 compresses, a file
 * takes it. Or DuckDB writes a Parquet file.
 */
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { input, tell } from '../program.ts';

const { files, target, format } = input as { files: string[]; target: string; format: 'lines' | 'parquet' };
const began = performance.now();
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const source = `read_parquet([${files.map((file) => `'${file}'`).join(', ')}])`;

async function writeLines(): Promise<void> {
  const time = (column: string): string => `strftime(make_timestamp(${column}), '%Y-%m-%dT%H:%M:%S.%fZ')`;
  const result = await connection.stream(`
    SELECT to_json({uuid: uuid, event: event, properties: properties::JSON, distinct_id: distinct_id,
      timestamp: ${time('timestamp_us')}, created_at: ${time('created_us')}, _inserted_at: ${time('inserted_us')},
      elements_chain: elements_chain, person_id: person_id, person_properties: person_properties::JSON})::VARCHAR
    FROM ${source}`);
  async function* lines(): AsyncGenerator<string> {
    for await (const chunk of result) yield `${chunk.getColumnValues(0).join('\n')}\n`;
  }
  await pipeline(lines(), createGzip({ level: 1 }), createWriteStream(target));
}

async function writeParquet(): Promise<void> {
  await connection.run(`
    COPY (SELECT uuid, event, properties, distinct_id, make_timestamptz(timestamp_us) AS timestamp,
      make_timestamptz(created_us) AS created_at, make_timestamptz(inserted_us) AS _inserted_at, elements_chain,
      person_id, person_properties FROM ${source}) TO '${target}' (FORMAT parquet, COMPRESSION zstd)`);
}

await (format === 'lines' ? writeLines() : writeParquet());
const { size } = await stat(target);
tell({ seconds: (performance.now() - began) / 1000, bytes: size });
