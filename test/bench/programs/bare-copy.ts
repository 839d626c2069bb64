/** The least that any export to PostgreSQL must do: COPY of text that is ready in a file. */
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Client, type ClientConfig } from 'pg';
import { from } from 'pg-copy-streams';
import { input, tell } from '../program.ts';

const { config, table, file } = input as { config: ClientConfig; table: string; file: string };
const client = new Client(config);
await client.connect();
const began = performance.now();
await pipeline(createReadStream(file, { highWaterMark: 256 * 1024 }), client.query(from(`COPY ${table} FROM STDIN`)));
tell({ seconds: (performance.now() - began) / 1000 });
await client.end();
