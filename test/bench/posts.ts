/** An interval of generated events posted to a receiver, beside the same batches posted by themselves. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../../lib/basics/units.ts';
import { atLeast, count, type Part, rate } from './bench.ts';
import { backfill, filesOfDay, makeExport } from './exports.ts';
import { run, startProgram } from './processes.ts';
import { startService } from './service.ts';

/** All events arrive on this day, which is the interval. */
const START = Date.UTC(2025, 5, 2);
/** The best of so many rounds counts, for both. */
const ROUNDS = 3;
const MB = 1_000_000;
/** Throughput by that of what reads the rows, makes them JSON, packs and posts them, in the fewest lines. */
const GOAL = 0.9;
/** And by that of bare posts of the same events, which are ready as JSON and have to be packed. */
const GOAL_OF_LINES = 0.7;
/** Resident memory, in MB. */
const GOAL_MB = 700;

export const posting: Part = async (bench) => {
  const events = bench.small ? 200_000 : 1_000_000;
  const service = await startService(bench, 'posts');
  bench.say(`generating ${count(events)} events`);
  const { dataDirectory, projectId } = service;
  await run('lake.ts', { dataDirectory, projectId, events, start: START, length: DAY_MS }, bench);
  const files = filesOfDay(service, START);
  const folder = join(bench.folder, 'kept');
  mkdirSync(folder);
  const receiver = startProgram('receiver.ts', { folder }, bench);
  const { address } = JSON.parse(await receiver.line('address')) as { address: string };
  const to = (path: string) =>
    makeExport(service, 'day', { type: 'HTTP', config: { url: `${address}${path}`, token: 't' } });

  bench.say(`posting ${count(events)} events once, to keep the bytes`);
  await backfill(service, await to('/keep/'), START, START + DAY_MS, bench);
  const path = await to('/batch/');
  const ours: number[] = [];
  const piped: Posted[] = [];
  const packing: Posted[] = [];
  const ready: Posted[] = [];
  const bare = async (from: object): Promise<Posted> =>
    (await run('bare-posts.ts', { url: `${address}/batch/`, from }, bench)).output as Posted;
  for (let round = 1; round <= ROUNDS; round += 1) {
    bench.say(`posting ${count(events)} events, round ${round} of ${ROUNDS}`);
    ours.push(await backfill(service, path, START, START + DAY_MS, bench));
    piped.push(await bare({ files }));
    packing.push(await bare({ lines: folder }));
    ready.push(await bare({ packed: folder }));
  }
  const seen = (await (await fetch(address, { signal: bench.signal })).json()) as { events: number };
  if (seen.events !== events * (1 + 4 * ROUNDS)) throw new Error(`the receiver has seen ${seen.events} events`);
  await receiver.stop();
  const peakMb = await service.stop();
  const seconds = Math.min(...ours);
  const row = (posts: readonly Posted[], what: string) => {
    const bareSeconds = Math.min(...posts.map((one) => one.seconds));
    return {
      what: `HTTP, ${count(events)} events`,
      measured: rate(events / seconds),
      peer: `${what} ${rate(events / bareSeconds)}`,
      ratio: bareSeconds / seconds,
      note: `${count((posts[0]?.bytes ?? 0) / MB)} MB in ${seconds.toFixed(1)} s, bare in ${bareSeconds.toFixed(1)} s`,
    };
  };
  const pipeline = row(piped, 'bare pipeline that posts');
  const lines = row(packing, 'bare gzip and posts');
  return [
    { ...pipeline, goal: atLeast(GOAL, pipeline.ratio) },
    { ...lines, goal: atLeast(GOAL_OF_LINES, lines.ratio) },
    row(ready, 'bare posts of packed bytes'),
    {
      what: 'peak memory, HTTP',
      measured: `${count(peakMb)} MB`,
      peer: `${GOAL_MB} MB`,
      ratio: peakMb / GOAL_MB,
      goal: { text: '< 1', met: peakMb < GOAL_MB },
    },
  ];
};

interface Posted {
  readonly seconds: number;
  readonly bytes: number;
}
