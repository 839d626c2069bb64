import { HOUR_MS } from '../../../lib/basics/units.ts';
import type { RunItem } from '../../../lib/exports/records/runs/model.ts';
import { prepareBackfill } from '../../../lib/exports/runs/backfill.ts';
import { beginRun } from '../../../lib/exports/runs/begin.ts';
import { finishRun } from '../../../lib/exports/runs/finish.ts';
import { Transient } from '../../../lib/ports/errors.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { hourlyExport } from '../../support/hourly-export.ts';
import { testService } from '../../support/service.ts';

const AT_13 = Date.UTC(2026, 0, 7, 13);

/** A backfill of three hours, begun over HTTP, whose one batch has begun. */
async function world() {
  const steps = await hourlyExport();
  const { context, id, project } = steps;
  const service = await testService(context);
  const key = await service.newKey(steps.owner);
  const path = `/api/projects/${project.id}/batch_exports/${id}/backfills`;
  const call = (method: string, at = '', body?: object) =>
    service.call(method, `${path}${at}`, { key, ...(body === undefined ? {} : { body }) });
  for (const hour of [0, 1, 2]) await steps.arrive(AT_13 + hour * HOUR_MS, `row ${hour}`);
  context.clock.set(AT_13 + 4 * HOUR_MS);
  const range = { start_at: '2026-01-07T13:00:00Z', end_at: '2026-01-07T16:00:00Z' };
  const made = await call('POST', '', range);
  expect(made.status).toBe(201);
  const backfill = String(made.body?.['backfill_id']);
  const trigger = { backfill, batch: 0 };
  const execution = `${backfill}-0`;
  await prepareBackfill(context, { export: id, backfill });
  await context.workflow.start('export-run', execution, {});
  const begun = await steps.begin({ execution, trigger });
  return { ...steps, call, range, backfill, trigger, execution, begun };
}

const statuses = (runs: RunItem[]) => runs.map(({ status }) => status);

test('a cancel ends the backfill and its runs at once, stops its machine, and gives its range back', async () => {
  const { context, id, call, backfill, range, runs, read, job } = await world();
  expect(await call('POST', `/${backfill}/cancel`)).toMatchObject({ status: 200, body: { cancelled: true } });
  expect((await call('GET', `/${backfill}`)).body).toMatchObject({
    status: 'Cancelled',
    progress: null,
    estimated_end_at: null,
    finished_at: '2026-01-07T17:00:00Z',
  });
  expect(statuses(await runs())).toEqual(['Cancelled', 'Cancelled', 'Cancelled']);
  expect(context.workflow.stopped).toMatchObject([{ machine: 'backfill', name: backfill }]);
  expect(await job('backfill', backfill)).toBeUndefined();
  expect((await read()).plan.claimed).toEqual([]);
  expect(await call('POST', '', range)).toMatchObject({ status: 201 });
  expect(await context.table.get(keys.batchExport(id))).toMatchObject({ failures_in_a_row: 0 });
});

test('a cancel is done when its machine cannot be stopped, which ends by itself', async () => {
  const { context, call, backfill, runs } = await world();
  context.workflow.stop = () => Promise.reject(new Transient('Step Functions is not available.'));
  expect(await call('POST', `/${backfill}/cancel`)).toMatchObject({ status: 200, body: { cancelled: true } });
  expect(statuses(await runs())).toEqual(['Cancelled', 'Cancelled', 'Cancelled']);
});

test('a run that is being committed is finished, and the machine is left to it', async () => {
  const { context, id, call, backfill, runs } = await world();
  const [first] = (await runs()) as [RunItem];
  const committing = { status: 'Running', phase: 'committing' };
  await context.table.write([{ change: keys.run(id, first.id), set: committing }]);
  await call('POST', `/${backfill}/cancel`);
  expect(statuses(await runs())).toEqual(['Running', 'Cancelled', 'Cancelled']);
  expect(context.workflow.stopped).toEqual([]);
});

test('nothing of it begins any more: no batch, and no run that was to be tried again', async () => {
  const { context, id, call, backfill, trigger, execution, runs, job } = await world();
  const error = { Error: 'Transient', Cause: 'The disk is full.' };
  await finishRun(context, { export: id, trigger, execution, attempt: null, skipped: [], error });
  const again = (await runs()) as [RunItem, RunItem, RunItem];
  expect(statuses(again)).toEqual(['FailedRetryable', 'FailedRetryable', 'FailedRetryable']);
  const [, second] = again;
  // The next try of one of them, which fails as well.
  context.clock.advance(HOUR_MS);
  const retry = { retry: second.id };
  const look = (name: string, of: object) =>
    beginRun(context, { export: id, execution: name, trigger: of as typeof retry });
  expect(await look('again', retry)).toMatchObject({ do: 'deliver' });
  await finishRun(context, { export: id, trigger: retry, execution: 'again', attempt: null, skipped: [], error });
  const third = (await runs()).find(({ by }) => by === second.id) as RunItem;
  expect(third).toMatchObject({ status: 'FailedRetryable', backfill });

  expect(await call('POST', `/${backfill}/cancel`)).toMatchObject({ status: 200 });
  context.clock.advance(HOUR_MS);
  expect(await look('batch', { backfill, batch: 0 })).toEqual({ do: 'nothing' });
  for (const { id: run } of [...again.filter((run) => run !== second), third]) {
    expect(await look(`retry-${run}`, { retry: run })).toEqual({ do: 'nothing' });
    expect(await job('retry', run)).toBeUndefined();
    expect(await context.table.get(keys.run(id, run))).toMatchObject({ status: 'Cancelled' });
  }
});

test('a run of it that is being tried again is cancelled too', async () => {
  const { context, id, call, backfill, trigger, execution, runs } = await world();
  const error = { Error: 'Transient', Cause: 'The disk is full.' };
  await finishRun(context, { export: id, trigger, execution, attempt: null, skipped: [], error });
  const [first] = (await runs()) as [RunItem];
  context.clock.advance(HOUR_MS);
  await context.workflow.start('export-run', 'again', {});
  await beginRun(context, { export: id, execution: 'again', trigger: { retry: first.id } });
  await call('POST', `/${backfill}/cancel`);
  expect((await runs()).find(({ by }) => by === first.id)).toMatchObject({ status: 'Cancelled' });
  expect(context.workflow.stopped).toMatchObject([{ name: backfill }, { machine: 'export-run', name: 'again' }]);
});

test.each(['Completed', 'Failed', 'Cancelled'])('one that is %s cannot be cancelled', async (status) => {
  const { context, id, call, backfill } = await world();
  await context.table.write([{ change: keys.backfill(id, backfill), set: { status } }]);
  expect(await call('POST', `/${backfill}/cancel`)).toMatchObject({
    status: 400,
    body: { detail: `Cannot cancel a backfill that is in '${status}' status`, attr: null },
  });
});

test('one that never was is not found', async () => {
  const { call } = await world();
  expect(await call('POST', '/01890000-0000-7000-8000-000000000001/cancel')).toMatchObject({ status: 404 });
});
