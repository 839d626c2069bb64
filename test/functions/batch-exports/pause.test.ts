import { HOUR_MS } from '../../../lib/basics/units.ts';
import type { BatchExportItem } from '../../../lib/exports/records/model.ts';
import { startBackfill } from '../../../lib/exports/resource/backfills.ts';
import { exportWithPlan } from '../../../lib/exports/runs/store.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { testContext } from '../../support/context.ts';
import { byOrganization, byProject, newExport } from '../../support/exports.ts';
import { testService } from '../../support/service.ts';

async function world(body: object = {}) {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service, body);
  const send = (action: string, sent?: unknown, headers: Record<string, string> = {}) =>
    service.call('POST', `${byProject(service)}/${id}/${action}/`, { body: sent, headers });
  const stored = async () => {
    const read = await exportWithPlan(context.table, id);
    if (read === undefined) throw new Error('no export');
    return { ...read, job: await context.table.get(keys.job('export', id)) };
  };
  const backfills = async () => listAll(context.table, ranges.backfillsByCreation(id));
  return { context, service, id, send, stored, backfills };
}

test('a pause stops the schedule and says since when; a second one changes nothing', async () => {
  const { context, send, stored } = await world();
  const paused_at = context.clock();
  for (let n = 0; n < 2; n += 1) {
    expect(await send('pause')).toMatchObject({ status: 200, body: { paused: true } });
    const { item, job } = await stored();
    expect(item).toMatchObject({ paused: true, last_paused_at: paused_at, ver: 2 });
    expect(job).toBeUndefined();
    context.clock.advance(HOUR_MS);
  }
});

test('what ended while the export was paused is left out, and the schedule goes on with the interval that now is in', async () => {
  const { context, send, stored, backfills } = await world();
  await send('pause');
  context.clock.advance(5.5 * HOUR_MS);
  expect(await send('unpause')).toMatchObject({ status: 200, body: { paused: false } });
  const { item, plan, job } = await stored();
  expect(item.paused).toBe(false);
  expect(plan.next).toBe(Date.UTC(2026, 0, 1, 5));
  expect(job).toMatchObject({ due: Date.UTC(2026, 0, 1, 6) + 30_000 });
  expect(await backfills()).toEqual([]);
});

test('with backfill, what was left out is exported by a backfill, which Location names', async () => {
  const { context, service, send, backfills } = await world();
  await send('pause');
  context.clock.advance(5.5 * HOUR_MS);
  const reply = await send('unpause', { backfill: true });
  const [backfill] = await backfills();
  expect(reply).toMatchObject({ status: 200, body: { paused: false } });
  const location = reply.headers.get('location') ?? '';
  expect(location).toContain(`/backfills/${backfill?.id}/`);
  expect((await service.call('GET', location.slice(service.address.length))).body).toMatchObject({
    adjusted_start_at: '2026-01-01T00:00:00Z',
    adjusted_end_at: '2026-01-01T05:00:00Z',
  });
  expect(context.workflow.started).toMatchObject([{ machine: 'backfill', name: backfill?.id }]);
});

test('where nothing was left out there is nothing to backfill', async () => {
  const { context, send, backfills } = await world();
  expect((await send('unpause', { backfill: true })).headers.get('location')).toBeNull();
  await send('pause');
  context.clock.advance(HOUR_MS / 2);
  expect((await send('unpause', { backfill: true })).headers.get('location')).toBeNull();
  expect(await backfills()).toEqual([]);
});

test('the backfill of an unpause is refused as any other, and then the export stays paused', async () => {
  const { context, send, stored } = await world();
  await send('pause');
  context.clock.advance(5 * HOUR_MS);
  const { item } = await stored();
  await startBackfill(context, item, {
    start_at: context.clock() - 3 * HOUR_MS,
    end_at: context.clock() - 2 * HOUR_MS,
  });
  expect(await send('unpause', { backfill: true })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('overlaps') },
  });
  expect((await stored()).item.paused).toBe(true);
  expect(await send('unpause')).toMatchObject({ status: 200 });
});

test.each([['x'], [{}], [7]])('backfill %j is refused', async (backfill) => {
  const { send } = await world({ paused: true });
  expect(await send('unpause', { backfill })).toMatchObject({ status: 400, body: { attr: 'backfill' } });
});

test('If-Match holds for both', async () => {
  const { send, stored } = await world();
  expect(await send('pause', undefined, { 'If-Match': '"7"' })).toMatchObject({ status: 412 });
  expect((await stored()).item.paused).toBe(false);
  expect(await send('pause', undefined, { 'If-Match': '"1"' })).toMatchObject({ status: 200 });
  expect(await send('unpause', undefined, { 'If-Match': '"1"' })).toMatchObject({ status: 412 });
});

test('many that pause and unpause at once leave it in one of both states, each change counted', async () => {
  const { context, service, send, id, stored } = await world();
  await Promise.all(Array.from({ length: 6 }, (_, n) => send(n % 2 === 0 ? 'pause' : 'unpause', { backfill: true })));
  const { item, job } = await stored();
  expect(job === undefined).toBe(item.paused);
  const { body } = await service.call('GET', `${byOrganization(service)}/${id}`);
  expect(body).toMatchObject({ paused: item.paused });
  expect((await context.table.get(keys.batchExport(id))) as BatchExportItem).toMatchObject({ ver: item.ver });
});
