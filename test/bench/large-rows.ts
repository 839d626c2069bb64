/** The memory that events with large properties take on their way to a folder. */
import { join } from 'node:path';
import { DAY_MS } from '../../lib/ports/units.ts';
import { type Bench, count, type Part, type Row } from './bench.ts';
import { backfill, folderOf, makeExport } from './exports.ts';
import { run } from './processes.ts';
import { startService } from './service.ts';

/** All events arrive on this day, which is the interval. */
const START = Date.UTC(2025, 5, 2);
/** Goal: resident memory of all processes, in MB. */
const GOAL_MB = 700;

export const exportingLargeRows: Part = async (bench) => [
  await exported(bench, 10_000, bench.small ? 10_000 : 100_000),
  await exported(bench, 300_000, bench.small ? 500 : 5_000),
];

async function exported(bench: Bench, moreBytes: number, events: number): Promise<Row> {
  const what = `${count(events)} events of ${count(moreBytes / 1000)} kB`;
  const service = await startService(bench, `rows-of-${moreBytes}`);
  const { dataDirectory, projectId } = service;
  bench.say(`generating ${what}`);
  await run('lake.ts', { dataDirectory, projectId, events, start: START, length: DAY_MS, moreBytes }, bench);
  const path = await makeExport(service, 'day', folderOf(join(bench.folder, `delivered-${moreBytes}`)));
  bench.say(`exporting ${what}`);
  // What cannot be delivered is a row of the table too: it takes more memory than there is.
  const failure = await backfill(service, path, START, START + DAY_MS, bench).then(
    () => '',
    () => 'not delivered',
  );
  bench.signal.throwIfAborted();
  const peakMb = await service.stop();
  return {
    what: `peak memory, ${what}`,
    measured: `${count(peakMb)} MB`,
    peer: `${GOAL_MB} MB`,
    ratio: peakMb / GOAL_MB,
    goal: { text: '< 1', met: failure === '' && peakMb < GOAL_MB },
    note: failure,
  };
}
