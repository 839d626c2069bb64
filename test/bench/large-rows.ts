/** The memory that events with large properties take on their way into the lake, and from there to a folder. */
import { join } from 'node:path';
import { DAY_MS } from '../../lib/basics/units.ts';
import { type Bench, count, type Part, type Row } from './bench.ts';
import { backfill, folderOf, makeExport } from './exports.ts';
import { run, start } from './processes.ts';
import { startService } from './service.ts';

/** All events arrive on this day, which is the interval. */
const START = Date.UTC(2025, 5, 2);
/** Goal: resident memory of all processes, in MB. */
const GOAL_MB = 700;

export const exportingLargeRows: Part = async (bench) => [
  ...(await measured(bench, 10_000, bench.small ? 10_000 : 50_000)),
  ...(await measured(bench, 300_000, bench.small ? 500 : 3_000)),
];

async function measured(bench: Bench, bytesEach: number, events: number): Promise<Row[]> {
  const what = `${count(events)} events of ${count(bytesEach / 1000)} kB`;
  const service = await startService(bench, `rows-of-${bytesEach}`);
  const file = join(bench.folder, `rows-of-${bytesEach}.jsonl.gz`);
  bench.say(`generating ${what}`);
  await run('long-lines.ts', { file, events, bytesEach, start: START }, bench);
  bench.say(`importing ${what}`);
  const words = ['import', file, '--project', String(service.projectId)];
  const importMb = await start('infra/local/admin.ts', words, { WORKSPACE_HOME: service.dataDirectory }, bench).ended();
  const path = await makeExport(service, 'day', folderOf(join(bench.folder, `delivered-${bytesEach}`)));
  bench.say(`exporting ${what}`);
  // What cannot be delivered is a row of the table too: it takes more memory than there is.
  const failure = await backfill(service, path, START, START + DAY_MS, bench).then(
    () => '',
    () => 'not delivered',
  );
  bench.signal.throwIfAborted();
  const exportMb = await service.stop();
  const row = (act: string, peakMb: number, note: string): Row => ({
    what: `peak memory, ${act} ${what}`,
    measured: `${count(peakMb)} MB`,
    peer: `${GOAL_MB} MB`,
    ratio: peakMb / GOAL_MB,
    goal: { text: '< 1', met: note === '' && peakMb < GOAL_MB },
    note,
  });
  return [row('importing', importMb, ''), row('exporting', exportMb, failure)];
}
