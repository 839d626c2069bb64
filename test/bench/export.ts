/** A lake of generated events, one big slot of it delivered as gzipped JSON lines into a folder. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { atLeast, type Bench, count, type Part, type Row, rate } from './bench.ts';
import { backfill, folderOf, makeExport } from './exports.ts';
import { run } from './processes.ts';
import { startService } from './service.ts';

const DAY = 86_400_000;
/** All events arrive on this day, which is the slot. */
const START = Date.UTC(2025, 5, 2);
/** The best of so many rounds counts, for both. */
const ROUNDS = 3;
const MB = 1_000_000;
/** Goals: throughput by the bare pipeline's; resident memory in MB. */
const GOAL = { ratio: 0.8, peakMb: 700 };

export const exporting: Part = async (bench) => {
  const [few, many] = bench.small ? [200_000, 600_000] : [2_000_000, 6_000_000];
  const first = await measure(bench, few, bench.small ? 1 : ROUNDS);
  const second = await measure(bench, many, 1);
  return [
    throughput(few, first),
    {
      what: `peak memory, ${count(few)} events`,
      measured: `${count(first.peakMb)} MB`,
      peer: `${GOAL.peakMb} MB`,
      ratio: first.peakMb / GOAL.peakMb,
      goal: { text: '< 1', met: first.peakMb < GOAL.peakMb },
      note: `the bare pipeline has ${count(first.bare.peakMb)} MB`,
    },
    throughput(many, second),
    {
      what: `peak memory, ${count(many)} events`,
      measured: `${count(second.peakMb)} MB`,
      peer: `${GOAL.peakMb} MB`,
      ratio: second.peakMb / GOAL.peakMb,
      goal: { text: '< 1', met: second.peakMb < GOAL.peakMb },
      note: `the bare pipeline has ${count(second.bare.peakMb)} MB`,
    },
    {
      what: `growth from ${count(few)} to ${count(many)}`,
      measured: `${count(second.peakMb)} MB`,
      peer: `${count(first.peakMb)} MB`,
      ratio: second.peakMb / first.peakMb,
      goal: { text: 'about 1', met: second.peakMb / first.peakMb < 1.15 },
    },
  ];
};

interface Measured {
  readonly seconds: number;
  readonly bytes: number;
  readonly peakMb: number;
  readonly bare: { readonly seconds: number; readonly bytes: number; readonly peakMb: number };
}

const throughput = (events: number, { seconds, bytes, bare }: Measured): Row => ({
  what: `export, ${count(events)} events`,
  measured: rate(events / seconds),
  peer: `bare pipeline ${rate(events / bare.seconds)}`,
  ratio: bare.seconds / seconds,
  goal: atLeast(GOAL.ratio, bare.seconds / seconds),
  note: `${count(bytes / MB)} MB in ${seconds.toFixed(1)} s, bare ${count(bare.bytes / MB)} MB in ${bare.seconds.toFixed(1)} s`,
});

/** Exports the lake over HTTP, and beside it runs the bare pipeline over the same files, in turns. */
async function measure(bench: Bench, events: number, rounds: number): Promise<Measured> {
  const service = await startService(bench, `export-${events}`);
  bench.say(`generating ${count(events)} events`);
  const { home, projectId } = service;
  await run('lake.ts', { home, projectId, events, start: START, length: DAY }, bench);
  const day = join(home, 'lake/events', `team_id=${projectId}`, 'day=2025-06-02', 'gen=0');
  const files = readdirSync(day).map((name) => join(day, name));
  const delivered = join(bench.folder, `delivered-${events}`);
  const path = await makeExport(service, 'day', folderOf(delivered));
  const ours: number[] = [];
  const theirs: { seconds: number; bytes: number; peakMb: number }[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    bench.say(`exporting ${count(events)} events, round ${round} of ${rounds}`);
    ours.push(await backfill(service, path, START, START + DAY, bench));
    const target = join(bench.folder, 'bare.jsonl.gz');
    const { output, peakMb } = await run('bare-pipeline.ts', { files, target }, bench);
    theirs.push({ ...(output as { seconds: number; bytes: number }), peakMb });
  }
  const { body } = await service.call('GET', path);
  const [latest] = body['latest_runs'] as { records_completed: number }[];
  if (latest?.records_completed !== events) throw new Error(`the run exported ${latest?.records_completed} events`);
  const [file = ''] = readdirSync(delivered);
  const [bare] = theirs.toSorted((a, b) => a.seconds - b.seconds);
  if (bare === undefined) throw new Error('nothing was measured');
  const { size } = statSync(join(delivered, file));
  return { seconds: Math.min(...ours), bytes: size, peakMb: await service.stop(), bare };
}
