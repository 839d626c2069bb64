/** A day of generated events into a table of PostgreSQL, beside a bare COPY of the same rows as prepared text. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Client, type ClientConfig } from 'pg';
import { to } from 'pg-copy-streams';
import { DAY_MS } from '../../lib/basics/units.ts';
import { openPostgres, type PostgresDatabase, startPostgres } from '../support/postgres.ts';
import { atLeast, type Bench, count, type Part, rate } from './bench.ts';
import { backfill, makeExport } from './exports.ts';
import { run } from './processes.ts';
import { startService } from './service.ts';

const START = Date.UTC(2025, 5, 2);
/** The best of so many rounds counts, for both. */
const ROUNDS = 3;
const GOAL = { ratio: 0.7, peakMb: 700 };

export const copying: Part = async (bench) => {
  const server = await startPostgres(['max_wal_size=4GB']);
  const database = await openPostgres(server.config);
  try {
    return await measure(bench, database, bench.small ? 200_000 : 1_000_000, bench.small ? 1 : ROUNDS);
  } finally {
    await database.close();
    await server.stop();
  }
};

async function measure(bench: Bench, database: PostgresDatabase, events: number, rounds: number): ReturnType<Part> {
  const service = await startService(bench, 'postgres');
  bench.say(`generating ${count(events)} events`);
  const { dataDirectory, projectId } = service;
  await run('lake.ts', { dataDirectory, projectId, events, start: START, length: DAY_MS }, bench);
  const file = join(bench.folder, 'prepared');
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    bench.say(`exporting ${count(events)} events, round ${round} of ${rounds}`);
    const table = `events_${round}`;
    const config = { ...database.config, table_name: table };
    const path = await makeExport(service, 'day', { type: 'Postgres', config });
    ours.push(await backfill(service, path, START, START + DAY_MS, bench));
    const [delivered] = await database.sql(`SELECT count(*) FROM ${table}`);
    if (Number(delivered?.['count']) !== events) throw new Error(`${delivered?.['count']} rows were delivered`);
    if (round === 1) await prepare(database.config, table, file);
    await database.sql(`CREATE TABLE bare (LIKE ${table})`);
    const { output } = await run('bare-copy.ts', { config: database.config, table: 'bare', file }, bench);
    theirs.push((output as { seconds: number }).seconds);
    await database.sql(`DROP TABLE bare, ${table}`);
  }
  const [mine, bare] = [Math.min(...ours), Math.min(...theirs)];
  const peakMb = await service.stop();
  return [
    {
      what: `Postgres, ${count(events)} events`,
      measured: rate(events / mine),
      peer: `bare COPY ${rate(events / bare)}`,
      ratio: bare / mine,
      goal: atLeast(GOAL.ratio, bare / mine),
      note: `${mine.toFixed(1)} s, bare ${bare.toFixed(1)} s; the server does not wait for its disk`,
    },
    {
      what: `peak memory, Postgres, ${count(events)} events`,
      measured: `${count(peakMb)} MB`,
      peer: `${GOAL.peakMb} MB`,
      ratio: peakMb / GOAL.peakMb,
      goal: { text: '< 1', met: peakMb < GOAL.peakMb },
    },
  ];
}

/** Writes a table as the text that COPY reads. */
async function prepare(config: ClientConfig, table: string, file: string): Promise<void> {
  const client = new Client(config);
  await client.connect();
  await pipeline(client.query(to(`COPY ${table} TO STDOUT`)), createWriteStream(file));
  await client.end();
}
