import { DAY_MS, HOUR_MS } from '../../../../lib/basics/units.ts';
import type { RunItem } from '../../../../lib/exports/records/runs/model.ts';
import { removeOldRuns } from '../../../../lib/exports/runs/retention.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import { ranges } from '../../../../lib/ports/table/keys.ts';
import { listAll } from '../../../../lib/ports/table/list-all.ts';
import { testContext } from '../../../support/context.ts';
import { putRun } from '../../../support/exports.ts';
import { hourlyExport } from '../../../support/hourly-export.ts';

const EXPORT = '01890000-0000-7000-8000-000000000001';

async function world(runDays: number | null) {
  const context = testContext({ settings: { ...LOCAL_SETTINGS, runDays } });
  const now = context.clock();
  const put = (age: number, fields: Partial<RunItem> = {}) =>
    putRun(context, EXPORT, { created_at: now - age, ...fields });
  const left = async () => (await listAll(context.table, ranges.runsByCreation(EXPORT))).map(({ id }) => id);
  return { context, put, left };
}

describe('runs that are older than they are kept', () => {
  test('are removed when they have ended; younger ones and those under way stay', async () => {
    const { context, put, left } = await world(30);
    await put(31 * DAY_MS);
    await put(31 * DAY_MS, { status: 'Failed' });
    const open = await put(40 * DAY_MS, { status: 'Running' });
    const young = await put(30 * DAY_MS - 1);
    await removeOldRuns(context, EXPORT);
    expect(new Set(await left())).toEqual(new Set([open.id, young.id]));
  });

  test('stay where they are kept for ever', async () => {
    const { context, put, left } = await world(null);
    await put(4_000 * DAY_MS);
    await removeOldRuns(context, EXPORT);
    expect(await left()).toHaveLength(1);
  });

  test('are removed a thousand at a time, the oldest first', async () => {
    const { context, put, left } = await world(30);
    for (let n = 0; n < 1_005; n += 1) await put(40 * DAY_MS - n);
    await removeOldRuns(context, EXPORT);
    expect(await left()).toHaveLength(5);
    await removeOldRuns(context, EXPORT);
    expect(await left()).toEqual([]);
  });

  test('go when the schedule looks at the export', async () => {
    const { context, id, begin, runs } = await hourlyExport();
    context.clock.advance(2 * HOUR_MS);
    await begin();
    const made = await runs();
    expect(made.length).toBeGreaterThan(0);
    context.clock.advance(401 * DAY_MS);
    for (let n = 0; n < 3; n += 1) await begin({ execution: `execution ${n}` });
    const old = new Set(made.map((run) => run.id));
    expect((await runs()).filter((run) => run.batch_export === id && old.has(run.id))).toEqual([]);
  });
});
