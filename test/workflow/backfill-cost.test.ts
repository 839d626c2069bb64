import { HOUR_MS } from '../../lib/basics/units.ts';
import { startBackfill } from '../../lib/exports/resource/backfills.ts';
import { exportWorld } from '../support/export-world.ts';

const NOW = Date.UTC(2026, 0, 7, 13, 20);

/** Durable acts and milliseconds of processor time of a backfill of so many hours without data. */
async function costOf(intervals: number): Promise<{ acts: number; milliseconds: number; runs: number }> {
  const world = await exportWorld({ now: NOW });
  const tenant = await world.tenant();
  const { context, run, acts } = world.boot();
  const item = await world.createExport(context, tenant);
  const end = Date.UTC(2025, 0);
  const before = acts();
  const began = process.cpuUsage();
  await startBackfill(context, item, { start_at: end - intervals * HOUR_MS, end_at: end });
  await run();
  const cost = { acts: acts() - before, milliseconds: process.cpuUsage(began).user / 1000 };
  const runs = (await world.runs(item.id)).length;
  const [backfill] = await world.backfills(item.id);
  expect(backfill).toMatchObject({ status: 'Completed', total_runs: intervals });
  await world.close();
  return { ...cost, runs };
}

test('a backfill without data costs a few writes a batch of 96, whatever its length, and under 10 ms an interval', async () => {
  const few = await costOf(960);
  const many = await costOf(4_800);
  expect([few.runs, many.runs]).toEqual([960, 4_800]);
  // A batch: the Map's item, the execution's start and end, the fence, and one transaction with its 96 runs.
  expect((many.acts - few.acts) / 40).toBeLessThanOrEqual(6);
  expect(many.milliseconds / 4_800).toBeLessThan(10);
});
