import type { RunItem } from '../../../../lib/exports/records/model.ts';
import { forgetRuns } from '../../../../lib/exports/runs/retention.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import { ranges } from '../../../../lib/ports/table/keys.ts';
import { listAll } from '../../../../lib/ports/table/list-all.ts';
import { testContext } from '../../../support/context.ts';
import { HOUR, hourlyExport } from '../../../support/export-steps.ts';
import { DAY, putRun } from '../../../support/exports.ts';

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
    await put(31 * DAY);
    await put(31 * DAY, { status: 'Failed' });
    const open = await put(40 * DAY, { status: 'Running' });
    const young = await put(30 * DAY - 1);
    await forgetRuns(context, EXPORT);
    expect(new Set(await left())).toEqual(new Set([open.id, young.id]));
  });

  test('stay where they are kept for ever', async () => {
    const { context, put, left } = await world(null);
    await put(4_000 * DAY);
    await forgetRuns(context, EXPORT);
    expect(await left()).toHaveLength(1);
  });

  test('are removed a thousand at a time, the oldest first', async () => {
    const { context, put, left } = await world(30);
    for (let n = 0; n < 1_005; n += 1) await put(40 * DAY - n);
    await forgetRuns(context, EXPORT);
    expect(await left()).toHaveLength(5);
    await forgetRuns(context, EXPORT);
    expect(await left()).toEqual([]);
  });

  test('go when the schedule looks at the export', async () => {
    const { context, id, begin, runs } = await hourlyExport();
    context.clock.advance(2 * HOUR);
    await begin();
    const made = await runs();
    expect(made.length).toBeGreaterThan(0);
    context.clock.advance(401 * DAY);
    for (let n = 0; n < 3; n += 1) await begin({ execution: `execution ${n}` });
    const old = new Set(made.map((run) => run.id));
    expect((await runs()).filter((run) => run.batch_export === id && old.has(run.id))).toEqual([]);
  });
});
