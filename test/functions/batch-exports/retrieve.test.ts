import { HOUR_MS } from '../../../lib/basics/units.ts';
import { latestRuns } from '../../../lib/exports/runs/run.ts';
import { toJsonText } from '../../../lib/ports/table/json-text.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { settableClock, testContext } from '../../support/context.ts';
import { addProject, byOrganization, byProject, newExport, putRun, removeProject } from '../../support/exports.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { testService } from '../../support/service.ts';

const UNKNOWN = '019b0000-0000-7000-8000-000000000000';
const NOT_FOUND = {
  status: 404,
  body: { type: 'invalid_request', code: 'not_found', detail: 'Not found.', attr: null },
};

test('the latest runs are shown as the interface has them', async () => {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const run = await putRun(context, id, { latest_error: 'Bucket is gone', status: 'Failed', records_completed: null });
  const latest_runs = latestRuns({ latest_runs: toJsonText([]) }, [run]);
  await context.table.write([{ change: keys.batchExport(id), set: { latest_runs } }]);
  const { body } = await service.call('GET', `${byOrganization(service)}/${id}`);
  expect(body?.['latest_runs']).toStrictEqual([
    {
      id: run.id,
      status: 'Failed',
      records_completed: null,
      latest_error: 'Bucket is gone',
      data_interval_start: '2025-12-31T23:00:00Z',
      data_interval_end: '2026-01-01T00:00:00Z',
      cursor: null,
      created_at: '2026-01-01T00:00:00Z',
      finished_at: '2026-01-01T00:00:00Z',
      last_updated_at: '2026-01-01T00:00:00Z',
      records_total_count: 10,
      batch_export: id,
    },
  ]);
});

test('a run does not change the version, so that it stands in no writer’s way', async () => {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const path = `${byOrganization(service)}/${id}`;
  const first = await service.call('GET', path);
  expect(first.headers.get('etag')).toBe('"1"');
  expect(await service.call('GET', path, { headers: { 'If-None-Match': '"1"' } })).toMatchObject({
    status: 304,
    body: undefined,
  });
  await service.call('PATCH', path, { body: { name: 'x' } });
  expect((await service.call('GET', path, { headers: { 'If-None-Match': '"1"' } })).headers.get('etag')).toBe('"2"');
});

test('the version that a caller has does not hide how runs went since', async () => {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const path = `${byOrganization(service)}/${id}`;
  const run = await putRun(context, id, { status: 'Running', finished_at: null });
  for (const status of ['Running', 'Failed'] as const) {
    const latest_runs = latestRuns({ latest_runs: toJsonText([]) }, [{ ...run, status }]);
    await context.table.write([{ change: keys.batchExport(id), set: { latest_runs } }]);
    const again = await service.call('GET', path, { headers: { 'If-None-Match': '"1"' } });
    expect(again).toMatchObject({ status: 200, body: { latest_runs: [{ status }] } });
    expect(again.headers.get('etag')).toBe('"1"');
  }
});

test('a run that has not ended is shown as it is now, wherever its export is shown', async () => {
  const clock = settableClock();
  const table = countRoundTrips(testContext({ clock }).table);
  const context = testContext({ clock, table });
  const service = await testService(context);
  const id = await newExport(service);
  const none = { records_total_count: null, records_completed: null, finished_at: null };
  const [first, second, gone] = [
    await putRun(context, id, { ...none, status: 'Starting', created_at: clock() + 2 }),
    await putRun(context, id, { ...none, status: 'Starting', created_at: clock() + 1 }),
    await putRun(context, id, { ...none, status: 'Running' }),
  ];
  const latest_runs = latestRuns({ latest_runs: toJsonText([]) }, [first, second, gone]);
  const late = { status: 'Running', latest_error: 'The server is down', records_total_count: 7 } as const;
  await table.write([
    { change: keys.batchExport(id), set: { latest_runs } },
    { change: keys.run(id, first.id), set: late },
    { change: keys.run(id, second.id), set: { status: 'Completed', records_completed: 10, finished_at: clock() } },
    { remove: keys.run(id, gone.id) },
  ]);
  const now = [
    { id: first.id, ...late },
    { id: second.id, status: 'Completed', records_completed: 10, finished_at: '2026-01-01T00:00:00Z' },
    { id: gone.id, status: 'Running' },
  ];
  const path = `${byOrganization(service)}/${id}`;
  expect(await service.call('GET', path)).toMatchObject({ body: { latest_runs: now } });
  expect(await service.call('GET', byProject(service))).toMatchObject({ body: { results: [{ latest_runs: now }] } });
  expect(await service.call('PATCH', path, { body: { name: 'x' } })).toMatchObject({ body: { latest_runs: now } });
  table.counted();
  await service.call('GET', path);
  expect(table.counted()).toBe(2);
});

test('an id in capitals is the same id', async () => {
  const service = await testService(testContext());
  const id = await newExport(service);
  const reply = await service.call('GET', `${byOrganization(service)}/${id.toUpperCase()}`);
  expect(reply).toMatchObject({ status: 200, body: { id } });
});

describe('what is not there is a 404', () => {
  test.each([UNKNOWN, 'x', '__proto__', '%23RUNS', '9'.repeat(300)])('%s', async (id) => {
    const service = await testService(testContext());
    for (const path of [byOrganization(service), byProject(service)]) {
      for (const [method, rest] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/backfill'],
        ['GET', '/logs'],
        ['GET', '/runs'],
        ['GET', `/runs/${UNKNOWN}`],
        ['GET', `/runs/${UNKNOWN}/logs`],
        ['GET', '/backfills'],
        ['GET', `/backfills/${UNKNOWN}`],
      ] as const) {
        expect(await service.call(method, `${path}/${id}${rest}`)).toMatchObject(NOT_FOUND);
      }
    }
  });

  test("somebody else's, another project's on a project's address, a deleted one, a deleted project's", async () => {
    const context = testContext();
    const service = await testService(context);
    const second = await addProject(context, service.organization);
    const { body } = await service.call('POST', '/api/organizations/', { body: { name: 'Another' } });
    const foreign = await newExport(service, {}, `/api/organizations/${String(body?.['id'])}/batch_exports`);
    const others = await newExport(service, { team_id: second.id });
    const deleted = await newExport(service);
    await service.call('DELETE', `${byOrganization(service)}/${deleted}`);
    for (const path of [byOrganization(service), byProject(service)]) {
      expect(await service.call('GET', `${path}/${foreign}`)).toMatchObject(NOT_FOUND);
      expect(await service.call('GET', `${path}/${deleted}`)).toMatchObject(NOT_FOUND);
    }
    expect(await service.call('GET', `${byProject(service)}/${others}`)).toMatchObject(NOT_FOUND);
    expect(await service.call('GET', `${byOrganization(service)}/${others}`)).toMatchObject({ status: 200 });
    await removeProject(context, second);
    expect(await service.call('GET', `${byOrganization(service)}/${others}`)).toMatchObject(NOT_FOUND);
  });
});

test('a retrieve is one round trip, on both addresses', async () => {
  const clock = settableClock();
  const table = countRoundTrips(testContext({ clock }).table);
  const service = await testService(testContext({ clock, table }));
  const id = await newExport(service);
  clock.advance(HOUR_MS);
  for (const path of [byOrganization(service), byProject(service)]) {
    await service.call('GET', `${path}/${id}`);
    table.counted();
    expect(await service.call('GET', `${path}/${id}`)).toMatchObject({ status: 200 });
    expect(table.counted()).toBe(1);
  }
});
