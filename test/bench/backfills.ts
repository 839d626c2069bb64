/** A backfill of hours that hold no events: what an interval costs by itself. */
import { join } from 'node:path';
import { atMost, type Bench, count, type Part, type Row } from './bench.ts';
import { backfill, folderOf, makeExport } from './exports.ts';
import { startService } from './service.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2024, 0, 1);
/** Goals: milliseconds an interval; ten times as many may cost so much more each. */
const GOAL = { each: 10, growth: 1.2 };

export const backfilling: Part = async (bench) => {
  const [few, many] = bench.small ? [200, 2_000] : [1_000, 10_000];
  const first = await measure(bench, few);
  const second = await measure(bench, many);
  return [
    row(few, first),
    row(many, second),
    {
      what: 'an interval of many by one of few',
      measured: `${second.toFixed(2)} ms`,
      peer: `${first.toFixed(2)} ms`,
      ratio: second / first,
      goal: atMost(GOAL.growth, second / first),
    },
  ];
};

const row = (intervals: number, each: number): Row => ({
  what: `backfill of ${count(intervals)} empty intervals`,
  measured: `${each.toFixed(2)} ms each`,
  peer: `${GOAL.each} ms`,
  ratio: each / GOAL.each,
  goal: { text: '< 1', met: each < GOAL.each },
});

/** Milliseconds an interval. */
async function measure(bench: Bench, intervals: number): Promise<number> {
  bench.say(`backfilling ${count(intervals)} intervals`);
  const service = await startService(bench, `backfill-${intervals}`);
  const path = await makeExport(service, 'hour', folderOf(join(bench.folder, 'none')));
  const seconds = await backfill(service, path, START, START + intervals * HOUR, bench);
  await service.stop();
  return (seconds * 1000) / intervals;
}
