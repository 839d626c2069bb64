/** Backfills of many intervals: the cost of an interval by itself, and beside one export of the same events. */
import { join } from 'node:path';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/basics/units.ts';
import { atLeast, atMost, type Bench, count, type Part, type Row, rate } from './bench.ts';
import { backfill, folderOf, makeExport } from './exports.ts';
import { run } from './processes.ts';
import { startService } from './service.ts';

const WEEK_MS = 7 * DAY_MS;
const START = Date.UTC(2024, 0, 1);
/** A Sunday, on which intervals of a week begin: one holds as much as a thousand of five minutes. */
const SUNDAY = Date.UTC(2024, 0, 7);
/** Goals: milliseconds an empty interval; ten times as many may cost so much more each; throughput by one export's. */
const GOAL = { each: 10, growth: 1.2, few: 0.7, many: 0.3 };

export const backfilling: Part = async (bench) => {
  const [few, many] = bench.small ? [200, 2_000] : [1_000, 10_000];
  const first = await empty(bench, few);
  const second = await empty(bench, many);
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
    ...(await filled(bench)),
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
async function empty(bench: Bench, intervals: number): Promise<number> {
  bench.say(`backfilling ${count(intervals)} empty intervals`);
  const service = await startService(bench, `backfill-${intervals}`);
  const path = await makeExport(service, 'hour', folderOf(join(bench.folder, 'none')));
  const seconds = await backfill(service, path, START, START + intervals * HOUR_MS, bench);
  await service.stop();
  return (seconds * 1000) / intervals;
}

/** Intervals of five minutes, beside an interval of a week (or a few) with the same events. */
async function filled(bench: Bench): Promise<Row[]> {
  const [events, few, many] = bench.small ? [500_000, 100, 1_000] : [5_000_000, 1_000, 10_000];
  return [await beside(bench, events, few, GOAL.few), await beside(bench, events, many, GOAL.many)];
}

async function beside(bench: Bench, events: number, intervals: number, goal: number): Promise<Row> {
  const end = SUNDAY + intervals * 5 * MINUTE_MS;
  const service = await startService(bench, `backfill-${intervals}-of-${events}`);
  bench.say(`generating ${count(events)} events in ${count(intervals)} intervals`);
  for (let start = SUNDAY; start < end; start += DAY_MS) {
    const length = Math.min(DAY_MS, end - start);
    const share = Math.round((events * length) / (end - SUNDAY));
    await run(
      'lake.ts',
      { dataDirectory: service.dataDirectory, projectId: service.projectId, events: share, start, length },
      bench,
    );
  }
  const seconds = async (interval: string, until: number): Promise<number> => {
    const path = await makeExport(service, interval, folderOf(join(bench.folder, `${interval}-${intervals}`)));
    return backfill(service, path, SUNDAY, until, bench);
  };
  bench.say(`backfilling ${count(events)} events in intervals of a week`);
  const whole = await seconds('week', SUNDAY + Math.ceil((end - SUNDAY) / WEEK_MS) * WEEK_MS);
  bench.say(`backfilling ${count(events)} events in ${count(intervals)} intervals`);
  const cut = await seconds('every 5 minutes', end);
  await service.stop();
  return {
    what: `backfill of ${count(events)} events in ${count(intervals)} intervals`,
    measured: rate(events / cut),
    peer: `by weeks ${rate(events / whole)}`,
    ratio: whole / cut,
    goal: atLeast(goal, whole / cut),
    note: `${((cut * 1000) / intervals).toFixed(2)} ms each`,
  };
}
