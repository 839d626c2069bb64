/** Writes events of one day with long properties, no two alike, as gzipped lines of JSON. */
import { hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { input } from '../program.ts';

const { file, events, bytesEach, start } = input as { file: string; events: number; bytesEach: number; start: number };

function* lines(): Generator<string> {
  for (let n = 0; n < events; n += 1) {
    let more = '';
    for (let piece = 0; more.length < bytesEach; piece += 1)
      more += `${hash('sha512', `${n} ${piece}`)} and so on, and so on, and so on, and so on, `;
    const timestamp = new Date(start + Math.floor((n * DAY_MS) / events)).toISOString();
    yield `${JSON.stringify({ event: 'long', distinct_id: `user-${n % 1_000}`, timestamp, properties: { n, more } })}\n`;
  }
}

await pipeline(Readable.from(lines()), createGzip({ level: 1 }), createWriteStream(file));
