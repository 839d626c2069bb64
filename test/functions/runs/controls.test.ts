/** What a caller may do to a run, over HTTP: retrieve, retry, cancel. */

import { HOUR_MS } from '../../../lib/basics/units.ts';
import type { RunItem } from '../../../lib/exports/records/runs/model.ts';
import { acquire } from '../../../lib/exports/runs/plan.ts';
import { runId } from '../../../lib/exports/runs/run.ts';
import { exportWithPlan, planOp } from '../../../lib/exports/runs/store.ts';
import { Transient } from '../../../lib/ports/errors.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { testContext } from '../../support/context.ts';
import { byOrganization, byProject, newExport, putRun } from '../../support/exports.ts';
import { testService } from '../../support/service.ts';

const MIDNIGHT = Date.UTC(2026, 0, 1);

async function world() {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const at = (run: { readonly id: string }, action = '') => `${byOrganization(service)}/${id}/runs/${run.id}${action}`;
  /** Runs of the two hours before midnight, in one batch of the schedule, as begin leaves them. */
  const underWay = async (...changes: Partial<RunItem>[]): Promise<RunItem[]> => {
    const read = await exportWithPlan(context.table, id);
    if (read === undefined) throw new Error('no export');
    const from = MIDNIGHT - changes.length * HOUR_MS;
    const wanted = { execution: 'execution', by: 'schedule', batch: null, from, to: MIDNIGHT, since: MIDNIGHT };
    const acquired = acquire(read.plan, 'hour', wanted);
    if ('taken' in acquired) throw new Error('taken');
    await context.table.write([planOp(id, read.plan, acquired.plan)]);
    await context.workflow.start('export-run', 'execution', {});
    return Promise.all(
      changes.map((change, n) => {
        const interval = { start: from + n * HOUR_MS, end: from + (n + 1) * HOUR_MS };
        return putRun(context, id, {
          id: runId(id, interval, 'schedule'),
          data_interval_start: interval.start,
          status: 'Running',
          execution: 'execution',
          finished_at: null,
          records_completed: null,
          ...change,
        });
      }),
    );
  };
  return { context, service, id, at, underWay };
}

test('a run is read by its id, below its own export alone', async () => {
  const { context, service, id, at } = await world();
  const run = await putRun(context, id, { bytes_exported: 7 });
  const reply = await service.call('GET', at(run));
  expect(reply).toMatchObject({
    status: 200,
    body: { id: run.id, batch_export: id, bytes_exported: 7, backfill: null },
  });
  const other = `${byProject(service)}/${await newExport(service)}/runs/${run.id}`;
  for (const action of ['', '/logs']) expect(await service.call('GET', other + action)).toMatchObject({ status: 404 });
  for (const action of ['/retry', '/cancel']) {
    expect(await service.call('POST', other + action)).toMatchObject({ status: 404 });
  }
});

describe('a retry', () => {
  test.each(['Completed', 'Failed', 'FailedRetryable', 'Cancelled'] as const)(
    'of a run that is %s is a backfill of its interval; the run stays as it is',
    async (status) => {
      const { context, service, id, at } = await world();
      const run = await putRun(context, id, { status, data_interval_start: MIDNIGHT - 5 * HOUR_MS });
      const reply = await service.call('POST', at(run, '/retry'));
      expect(reply).toMatchObject({ status: 201, body: { backfill_id: expect.any(String) } });
      const backfill = String(reply.body?.['backfill_id']);
      const path = `${byOrganization(service)}/${id}/backfills/${backfill}`;
      expect((await service.call('GET', path)).body).toMatchObject({
        start_at: '2025-12-31T19:00:00Z',
        end_at: '2025-12-31T20:00:00Z',
        adjusted_start_at: '2025-12-31T19:00:00Z',
        adjusted_end_at: '2025-12-31T20:00:00Z',
      });
      expect(context.workflow.started).toMatchObject([{ machine: 'backfill', name: backfill }]);
      expect(await context.table.get(keys.run(id, run.id))).toMatchObject({ status });
    },
  );

  test('that is sent twice with one Idempotency-Key is one backfill', async () => {
    const { context, service, id, at } = await world();
    const run = await putRun(context, id, { data_interval_start: MIDNIGHT - 5 * HOUR_MS });
    const headers = { 'Idempotency-Key': 'once' };
    const [first, second] = [
      await service.call('POST', at(run, '/retry'), { headers }),
      await service.call('POST', at(run, '/retry'), { headers }),
    ];
    expect(second.body).toEqual(first?.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(await listAll(context.table, ranges.backfillsByCreation(id))).toHaveLength(1);
  });
});

describe('a cancel', () => {
  test('is done when its execution cannot be stopped, which ends by itself', async () => {
    const { context, service, at, underWay } = await world();
    const [run] = (await underWay({ status: 'Starting' })) as [RunItem];
    context.workflow.stop = () => Promise.reject(new Transient('Step Functions is not available.'));
    expect(await service.call('POST', at(run, '/cancel'))).toMatchObject({ status: 200, body: { cancelled: true } });
    expect((await service.call('GET', at(run))).body).toMatchObject({ status: 'Cancelled' });
  });

  test('ends the run at once, shows it on the export, says so in its log, and stops an execution that has no more to do', async () => {
    const { context, service, id, at, underWay } = await world();
    const [run] = (await underWay({ status: 'Starting' })) as [RunItem];
    context.clock.advance(1_000);
    expect(await service.call('POST', at(run, '/cancel'))).toMatchObject({ status: 200, body: { cancelled: true } });
    expect((await service.call('GET', at(run))).body).toMatchObject({
      status: 'Cancelled',
      finished_at: '2026-01-01T00:00:01Z',
    });
    expect((await service.call('GET', at(run, '/logs'))).body).toMatchObject({
      count: 1,
      results: [
        { message: 'Batch export for range 2025-12-31T23:00:00Z - 2026-01-01T00:00:00Z was cancelled', level: 'INFO' },
      ],
    });
    const { body } = await service.call('GET', `${byOrganization(service)}/${id}`);
    expect(body).toMatchObject({ latest_runs: [{ id: run.id, status: 'Cancelled' }] });
    expect(context.workflow.stopped).toMatchObject([{ machine: 'export-run', name: 'execution' }]);
  });

  test('leaves the execution to the other runs of its batch', async () => {
    const { context, service, at, underWay } = await world();
    const [first, second] = (await underWay({}, {})) as [RunItem, RunItem];
    await service.call('POST', at(first, '/cancel'));
    expect(context.workflow.stopped).toEqual([]);
    await service.call('POST', at(second, '/cancel'));
    expect(context.workflow.stopped).toHaveLength(1);
  });

  test.each([
    [{ status: 'Completed' }, "Cannot cancel a run that is in 'Completed' status"],
    [{ status: 'FailedRetryable' }, "Cannot cancel a run that is in 'FailedRetryable' status"],
    [{ status: 'Running', phase: 'committing' }, 'Cannot cancel a run that is being committed'],
  ] as const)('of a run that is %j is refused', async (fields, detail) => {
    const { context, service, id, at } = await world();
    const run = await putRun(context, id, fields);
    expect(await service.call('POST', at(run, '/cancel'))).toMatchObject({ status: 400, body: { detail, attr: null } });
    expect(await context.table.get(keys.run(id, run.id))).toMatchObject(fields);
  });
});
