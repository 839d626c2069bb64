import { DAY_MS, HOUR_MS } from '../../../../lib/basics/units.ts';
import type { BackfillItem } from '../../../../lib/exports/records/backfills/model.ts';
import type { RunItem } from '../../../../lib/exports/records/runs/model.ts';
import { startBackfill } from '../../../../lib/exports/resource/backfills.ts';
import { prepareBackfill } from '../../../../lib/exports/runs/backfill.ts';
import { beginRun } from '../../../../lib/exports/runs/begin.ts';
import { cancelBackfill } from '../../../../lib/exports/runs/cancel.ts';
import { finishRun } from '../../../../lib/exports/runs/finish.ts';
import { removeOldRuns } from '../../../../lib/exports/runs/retention.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import { keys, ranges } from '../../../../lib/ports/table/keys.ts';
import { listAll } from '../../../../lib/ports/table/list-all.ts';
import { testContext } from '../../../support/context.ts';
import { byProject, newExport, putRun } from '../../../support/exports.ts';
import { hourlyExport } from '../../../support/hourly-export.ts';
import { testService } from '../../../support/service.ts';

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

  test('go of an export that is paused, and of one that has passed its end, without another look a day', async () => {
    const closed = [
      { paused: true, last_paused_at: Date.UTC(2026, 0, 7, 15, 10) },
      { end_at: Date.UTC(2026, 0, 7, 15) },
    ];
    for (const set of closed) {
      const { context, id, begin, runs, job } = await hourlyExport();
      context.clock.advance(2 * HOUR_MS);
      await begin();
      expect(await runs()).toHaveLength(2);
      await context.table.write([{ change: keys.batchExport(id), set }]);
      const looks: number[] = [];
      for (
        let due = (await job('export'))?.due;
        due !== undefined && looks.length < 10;
        due = (await job('export'))?.due
      ) {
        context.clock.set(due);
        await begin({ execution: `execution ${looks.length}` });
        looks.push(due);
      }
      expect(await runs()).toEqual([]);
      expect(looks.length).toBeLessThan(5);
    }
  });

  test('are looked for when they are to go, once an export has nothing else to do', async () => {
    const context = testContext();
    const service = await testService(context);
    const id = await newExport(service);
    const run = await putRun(context, id);
    await service.call('POST', `${byProject(service)}/${id}/pause`);
    const goes = run.created_at + 400 * DAY_MS;
    expect(await context.table.get(keys.job('export', id))).toMatchObject({ due: goes });
    context.clock.set(goes);
    await beginRun(context, { export: id, trigger: 'schedule', execution: 'a look' });
    expect(await context.table.get(keys.run(id, run.id))).toBeUndefined();
    expect(await context.table.get(keys.job('export', id))).toBeUndefined();
  });
});

describe('backfills that are older than runs are kept', () => {
  async function backfilled() {
    const { context, id, read, begin } = await hourlyExport();
    const made = async (daysAgo: number): Promise<BackfillItem> => {
      const start_at = context.clock() - daysAgo * DAY_MS;
      return startBackfill(context, (await read()).item, { start_at, end_at: start_at + HOUR_MS });
    };
    const ended = async (daysAgo: number): Promise<BackfillItem> => {
      const backfill = await made(daysAgo);
      await cancelBackfill(context, { id }, backfill.id);
      return backfill;
    };
    const left = async () => (await listAll(context.table, ranges.backfillsByCreation(id))).map((one) => one.id);
    return { context, id, begin, made, ended, left };
  }

  test('are removed when they have ended; younger ones and those under way stay', async () => {
    const { context, id, made, ended, left } = await backfilled();
    const open = await made(1);
    await ended(2);
    context.clock.advance(400 * DAY_MS - 1);
    const young = await ended(3);
    context.clock.advance(1);
    await removeOldRuns(context, id);
    expect(await left()).toEqual([young.id, open.id]);
  });

  test('are removed fifty at a time, the oldest first', async () => {
    const { context, id, ended, left } = await backfilled();
    for (let n = 0; n < 52; n += 1) {
      await ended(n + 2);
      context.clock.advance(1);
    }
    const [newest] = await left();
    context.clock.advance(400 * DAY_MS);
    await removeOldRuns(context, id);
    expect([(await left()).length, (await left())[0]]).toEqual([2, newest]);
  });

  test('go of an export that is paused and never ran', async () => {
    const { context, id, begin, ended, left } = await backfilled();
    await ended(2);
    await context.table.write([
      { change: keys.batchExport(id), set: { paused: true, last_paused_at: context.clock() } },
    ]);
    for (let n = 0; n < 2; n += 1) {
      await begin({ execution: `execution ${n}` });
      context.clock.set((await context.table.get(keys.job('export', id)))?.due ?? 0);
    }
    await begin({ execution: 'the last' });
    expect(await left()).toEqual([]);
  });

  /** A backfill of one interval that is about to go when its only batch has been begun. */
  async function begunLate() {
    const world = await hourlyExport();
    const { context, id, arrive, begin, runs } = world;
    const start = Date.UTC(2026, 0, 6, 5);
    await arrive(start, 'a', 'b');
    context.clock.advance(HOUR_MS);
    const item = (await world.read()).item;
    const backfill = await startBackfill(context, item, { start_at: start, end_at: start + HOUR_MS });
    await prepareBackfill(context, { export: id, backfill: backfill.id });
    context.clock.advance(400 * DAY_MS - HOUR_MS / 2);
    const trigger = { backfill: backfill.id, batch: 0 };
    await begin({ trigger, execution: 'batch' });
    const run = (await runs()).find((one) => one.backfill === backfill.id)!;
    const fail = (name: string) =>
      finishRun(
        context,
        { export: id, trigger, execution: 'batch', attempt: null, skipped: [], error: { Error: name, Cause: 'x' } },
        { findDestination: world.findDestination },
      );
    return { ...world, backfill, run, fail };
  }

  test('stay until no run of theirs is retried any more: one of a cancelled backfill never is', async () => {
    const { context, id, begin, backfill, run, fail } = await begunLate();
    await fail('Transient');
    await cancelBackfill(context, { id }, backfill.id);
    context.clock.advance(HOUR_MS);
    await begin({ execution: 'schedule' });
    expect(await begin({ trigger: { retry: run.id }, execution: 'retry' })).toMatchObject({ do: 'nothing' });
    expect(await context.table.get(keys.run(id, run.id))).toMatchObject({ status: 'Cancelled' });
    context.clock.advance(2 * DAY_MS);
    await begin({ execution: 'later' });
    expect(await context.table.get(keys.backfill(id, backfill.id))).toBeUndefined();
  });

  test('that are gone hold up nothing of a batch that was being committed then', async () => {
    const { context, id, begin, read, backfill, run } = await begunLate();
    await context.table.write([{ change: keys.run(id, run.id), set: { phase: 'committing', status: 'Running' } }]);
    await cancelBackfill(context, { id }, backfill.id);
    context.clock.advance(3 * DAY_MS);
    for (let n = 0; n < 2; n += 1) {
      context.clock.advance(DAY_MS);
      await begin({ execution: `execution ${n}` });
    }
    expect(await context.table.get(keys.backfill(id, backfill.id))).toBeUndefined();
    expect((await read()).plan.active.filter(({ by }) => by === backfill.id)).toEqual([]);
  });

  test('that have nothing to run leave an export that is paused its look for what is to go', async () => {
    const context = testContext();
    const service = await testService(context);
    const id = await newExport(service);
    await putRun(context, id);
    await service.call('POST', `${byProject(service)}/${id}/pause`);
    const { due } = (await context.table.get(keys.job('export', id))) ?? {};
    context.clock.advance(HOUR_MS / 2);
    const [start_at, end_at] = [600_000, 1_000].map((ago) => new Date(context.clock() - ago).toISOString());
    const { status } = await service.call('POST', `${byProject(service)}/${id}/backfills`, {
      body: { start_at, end_at },
    });
    expect(status).toBe(201);
    expect(await context.table.get(keys.job('export', id))).toMatchObject({ due });
  });
});
