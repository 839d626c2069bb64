/** Writes a web server's log in the combined format, gzipped: a week of requests, some 230 bytes each. */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { input } from '../program.ts';

const { file, lines } = input as { file: string; lines: number };

const START = Date.UTC(2025, 5, 2);
const WEEK_MS = 7 * DAY_MS;
const AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:139.0) Gecko/20100101 Firefox/139.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
];

/** `02/Jun/2025:10:05:03 +0000` */
function logTime(instant: number): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) (\S+)/.exec(new Date(instant).toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}

/** Returns a number below `most` that looks random and is the same in every run. */
const below = (most: number, n: number): number => (Math.imul(n ^ 0x9e3779b9, 0x85ebca6b) >>> 0) % most;

function line(n: number): string {
  const visitor = below(20_000, n >> 3);
  const page = below(5_000, n);
  const status = [200, 200, 200, 304, 404][n % 5];
  return (
    `10.${visitor % 200}.${(visitor >> 4) % 250}.${visitor % 250} - - [${logTime(START + (n * WEEK_MS) / lines)}] ` +
    `"GET /articles/${page}.html?from=${n % 97} HTTP/1.1" ${status} ${500 + (page % 90_000)} ` +
    `"https://www.example.com/articles/${below(5_000, n + 1)}.html" "${AGENTS[visitor % AGENTS.length]}"\n`
  );
}

function* pieces(): Generator<string> {
  for (let from = 0; from < lines; from += 1_000) {
    let piece = '';
    for (let n = from; n < Math.min(lines, from + 1_000); n += 1) piece += line(n);
    yield piece;
  }
}

await pipeline(pieces(), createGzip({ level: 1 }), createWriteStream(file));
