import type { BatchExportItem } from '../../../lib/exports/records/model.ts';
import { destroyBatchExport } from '../../../lib/exports/resource/change.ts';
import { beginRun } from '../../../lib/exports/runs/begin.ts';
import { tick } from '../../../lib/jobs/tick.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';
import { byOrganization, byProject, newExport } from '../../support/exports.ts';
import { testService } from '../../support/service.ts';
import { watchWrites } from '../../support/table-override.ts';

test('a deleted export is gone for every reader, and nothing of it starts any more', async () => {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const path = `${byProject(service)}/${id}`;
  expect(await service.call('DELETE', path)).toMatchObject({ status: 204, body: undefined });
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    expect(await service.call(method, path)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  }
  expect(await context.table.get(keys.job('export', id))).toBeUndefined();
  expect(await context.table.get(keys.batchExport(id))).toMatchObject({ id, deleted_at: context.clock() });
});

test('it waits, apart from the living, for the purge of its organization', async () => {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  await service.call('DELETE', `${byOrganization(service)}/${id}`);
  const { organization } = service;
  expect((await context.table.list(ranges.exportsOf(organization.id), { limit: 9 })).items).toEqual([]);
  expect((await context.table.list(ranges.deletedExportsOf(organization.id), { limit: 9 })).items).toMatchObject([
    { id },
  ]);
});

test('its backfills are cancelled, and their machines stopped', async () => {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const { headers } = await service.call('POST', `${byProject(service)}/${id}/backfill`, {
    body: { start_at: '2025-12-30T00:00:00Z', end_at: '2025-12-31T00:00:00Z' },
  });
  const backfill = headers.get('location')?.split('/').at(-1) ?? '';
  await service.call('DELETE', `${byProject(service)}/${id}`);
  expect(await context.table.get(keys.backfill(id, backfill))).toMatchObject({ status: 'Cancelled' });
  expect(context.workflow.stopped).toMatchObject([{ machine: 'backfill', name: backfill }]);
});

test('what a deletion cannot stop, or a process that dies leaves, is stopped by the next tick', async () => {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const { headers } = await service.call('POST', `${byProject(service)}/${id}/backfill`, {
    body: { start_at: '2025-12-30T00:00:00Z', end_at: '2025-12-31T00:00:00Z' },
  });
  const backfill = headers.get('location')?.split('/').at(-1) ?? '';
  const item = (await context.table.get(keys.batchExport(id))) as BatchExportItem;
  let writes = 0;
  const table = watchWrites(context.table, () => {
    writes += 1;
    if (writes > 1) throw new Error('the table is away');
  });
  await destroyBatchExport({ ...context, table }, item, undefined, () => []);
  expect(await context.table.get(keys.backfill(id, backfill))).toMatchObject({ status: 'Starting' });
  context.clock.advance(60_000);
  await tick(context);
  const look = context.workflow.started.find(({ machine }) => machine === 'export-run');
  expect(look).toMatchObject({ input: { export: id, trigger: 'schedule' } });
  await beginRun(context, { export: id, trigger: 'schedule', execution: String(look?.name) });
  expect(await context.table.get(keys.backfill(id, backfill))).toMatchObject({ status: 'Cancelled' });
  expect(await context.table.get(keys.job('export', id))).toBeUndefined();
});

test('If-Match keeps an export that somebody has changed', async () => {
  const service = await testService(testContext());
  const path = `${byProject(service)}/${await newExport(service)}`;
  await service.call('PATCH', path, { body: { name: 'changed' } });
  expect(await service.call('DELETE', path, { headers: { 'If-Match': '"1"' } })).toMatchObject({
    status: 412,
    body: { code: 'precondition_failed' },
  });
  expect(await service.call('DELETE', path, { headers: { 'If-Match': '"2"' } })).toMatchObject({ status: 204 });
});

test('of many who delete at once one does', async () => {
  const service = await testService(testContext());
  const path = `${byProject(service)}/${await newExport(service)}`;
  const replies = await Promise.all([1, 2, 3].map(() => service.call('DELETE', path)));
  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 404, 404]);
});
