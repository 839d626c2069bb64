import { DAY_MS, HOUR_MS } from '../../../lib/basics/units.ts';
import { type BackfillItem, backfillObject } from '../../../lib/exports/records/backfills/model.ts';
import { runsUnderWay, startBackfill } from '../../../lib/exports/resource/backfills.ts';
import { batchField, closeBackfill, prepareBackfill } from '../../../lib/exports/runs/backfill.ts';
import { finishRun } from '../../../lib/exports/runs/finish.ts';
import { wireInstant } from '../../../lib/http/instant.ts';
import { keys, places } from '../../../lib/ports/table/keys.ts';
import { settableClock, testContext } from '../../support/context.ts';
import { byOrganization, byProject, newExport } from '../../support/exports.ts';
import { hourlyExport } from '../../support/hourly-export.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { testService } from '../../support/service.ts';

const AT_13 = Date.UTC(2026, 0, 7, 13);

interface Page {
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: readonly { readonly id: string }[];
}

async function world() {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const path = `${byOrganization(service)}/${id}/backfills`;
  const put = async (fields: Partial<BackfillItem> = {}): Promise<BackfillItem> => {
    const bid = context.newId();
    const { created_at = context.clock(), start_at = context.clock() - DAY_MS } = fields;
    const item: BackfillItem = {
      ...keys.backfill(id, bid),
      ...places.backfillOf(id, created_at, start_at, bid),
      id: bid,
      batch_export: id,
      team_id: service.project.id,
      status: 'Running',
      start_at,
      end_at: start_at + HOUR_MS,
      adjusted_start_at: start_at,
      adjusted_end_at: start_at + HOUR_MS,
      interval: 'hour',
      total_runs: null,
      created_at,
      finished_at: null,
      last_updated_at: created_at,
      ...fields,
    };
    await context.table.write([{ put: item }]);
    return item;
  };
  const list = async (query = ''): Promise<Page> => {
    const { status, body } = await service.call('GET', `${path}${query}`);
    expect({ status, body }).toMatchObject({ status: 200 });
    return body as unknown as Page;
  };
  return { context, service, id, path, put, list };
}

const ids = ({ results }: Page) => results.map(({ id }) => id);

test('a backfill tells what was asked for, what it runs, and how far it is', async () => {
  const { context, service, id, put, list } = await world();
  const item = await put({
    end_at: Date.UTC(2025, 11, 31, 12, 30),
    adjusted_end_at: Date.UTC(2025, 11, 31, 13),
    total_runs: 13,
    [batchField(0)]: JSON.stringify({ finished: 5, failed: 1, records: 70 }),
    [batchField(3)]: JSON.stringify({ finished: 2, failed: 0, records: 0 }),
  });
  const answer = {
    id: item.id,
    batch_export: id,
    team: service.project.id,
    start_at: '2025-12-31T00:00:00Z',
    end_at: '2025-12-31T12:30:00Z',
    adjusted_start_at: '2025-12-31T00:00:00Z',
    adjusted_end_at: '2025-12-31T13:00:00Z',
    status: 'Running',
    created_at: '2026-01-01T00:00:00Z',
    finished_at: null,
    last_updated_at: '2026-01-01T00:00:00Z',
    total_records_count: 70,
    progress: { total_runs: 13, finished_runs: 8, progress: 0.6 },
    // 8 of 13 took 40 minutes.
    estimated_end_at: '2026-01-01T01:05:00Z',
  };
  context.clock.advance(40 * 60_000);
  expect(await list()).toStrictEqual({ next: null, previous: null, results: [answer] });
  const one = await service.call('GET', `${byProject(service)}/${id}/backfills/${item.id}/`);
  expect(one.body).toStrictEqual(answer);
});

test.each<[Partial<BackfillItem>, object | null]>([
  [{ status: 'Starting' }, null],
  [
    { status: 'Running', total_runs: 4 },
    { total_runs: 4, finished_runs: 0, progress: 0 },
  ],
  [
    { status: 'Completed', total_runs: 4 },
    { total_runs: 4, finished_runs: 4, progress: 1 },
  ],
  [
    { status: 'Completed', total_runs: 0 },
    { total_runs: 0, finished_runs: 0, progress: 1 },
  ],
  [{ status: 'Failed', total_runs: 4 }, null],
  [{ status: 'Cancelled', total_runs: 4 }, null],
])('the progress of %j is %j', async (fields, progress) => {
  const { put, list } = await world();
  await put(fields);
  expect((await list()).results).toMatchObject([{ progress, estimated_end_at: null }]);
});

test('a backfill that would take thousands of years ends at the last instant there is', async () => {
  const { context, put, list } = await world();
  const batch = JSON.stringify({ finished: 1, failed: 0, records: 1 });
  await put({ total_runs: 200_000, [batchField(0)]: batch });
  context.clock.advance(15 * DAY_MS);
  expect((await list()).results).toMatchObject([{ estimated_end_at: '9999-12-31T23:59:59.999000Z' }]);
});

test('a run that was cancelled is neither finished nor waited for', async () => {
  const { context, put, list } = await world();
  const batch = JSON.stringify({ finished: 1, failed: 1, cancelled: 1, records: 1 });
  await put({ total_runs: 4, [batchField(0)]: batch });
  context.clock.advance(60_000);
  expect((await list()).results).toMatchObject([
    {
      progress: { total_runs: 4, finished_runs: 2, progress: 0.5 },
      estimated_end_at: wireInstant(context.clock() + 30_000),
    },
  ]);
});

test('runs that have ended count before their batch does, and not again when it has', async () => {
  const { context, id, begin, send, arrive, read } = await hourlyExport();
  const { clock, table } = context;
  for (const hour of [0, 1, 2]) await arrive(AT_13 + hour * HOUR_MS, `a${hour}`, `b${hour}`);
  clock.set(AT_13 + 4 * HOUR_MS);
  const { item } = await read();
  const { id: backfill } = await startBackfill(context, item, { start_at: AT_13, end_at: AT_13 + 3 * HOUR_MS });
  const input = { export: id, backfill };
  await prepareBackfill(context, input);
  const told = async () => {
    const now = (await table.get(keys.backfill(id, backfill))) as BackfillItem;
    return backfillObject(now, clock(), await runsUnderWay(table, await read(), [now]));
  };
  expect(await told()).toMatchObject({ total_records_count: 0, estimated_end_at: null });
  const trigger = { backfill, batch: 0 };
  const execution = `${backfill}-0`;
  const begun = await begin({ execution, trigger });
  clock.advance(60_000);
  await send(begun, 0);
  expect(await told()).toMatchObject({
    total_records_count: 2,
    progress: { total_runs: 3, finished_runs: 1 },
    estimated_end_at: wireInstant(clock() + 120_000),
  });
  await send(begun, 1);
  await send(begun, 2);
  await finishRun(context, { export: id, trigger, execution, attempt: null, skipped: [], error: null });
  const whole = { total_records_count: 6, progress: { total_runs: 3, finished_runs: 3, progress: 1 } };
  expect(await told()).toMatchObject({ ...whole, status: 'Running' });
  await closeBackfill(context, input, null);
  expect(await told()).toMatchObject({ ...whole, status: 'Completed', estimated_end_at: null });
});

test('backfills come fifty a page, newest first, or by their start', async () => {
  const { context, service, put, list } = await world();
  const made: string[] = [];
  for (let n = 0; n < 60; n += 1) {
    made.unshift((await put({ created_at: context.clock() + n, start_at: context.clock() - n * HOUR_MS })).id);
  }
  const first = await list('?limit=500');
  expect(ids(first)).toEqual(made.slice(0, 50));
  const { body } = await service.call('GET', String(first.next).slice(service.address.length));
  expect(ids(body as unknown as Page)).toEqual(made.slice(50));
  expect(ids(await list('?ordering=created_at'))).toEqual(made.toReversed().slice(0, 50));
  expect(ids(await list('?ordering=-start_at'))).toEqual(made.toReversed().slice(0, 50));
  expect(ids(await list('?ordering=start_at'))).toEqual(made.slice(0, 50));
});

test.each([
  ['ordering=status', 'ordering'],
  ['cursor=x', 'cursor'],
])('%s is refused', async (query, attr) => {
  const { service, path } = await world();
  expect(await service.call('GET', `${path}?${query}`)).toMatchObject({ status: 400, body: { attr } });
});

test("an export's backfill is not found below another", async () => {
  const { service, put } = await world();
  const item = await put();
  const other = `${byOrganization(service)}/${await newExport(service)}/backfills`;
  expect(await service.call('GET', `${other}/${item.id}`)).toMatchObject({ status: 404 });
  expect((await service.call('GET', other)).body).toMatchObject({ results: [] });
});

test('by creation it is one round trip, by start two, and one backfill is one', async () => {
  const clock = settableClock();
  const context = testContext({ clock });
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  const path = `${byProject(service)}/${await newExport(service)}`;
  const { headers } = await service.call('POST', `${path}/backfill`, {
    body: { start_at: '2025-12-30T00:00:00Z', end_at: '2025-12-30T01:00:00Z' },
  });
  const location = headers.get('location')?.slice(service.address.length) ?? '';
  for (const [at, trips] of [
    [`${path}/backfills`, 1],
    [`${path}/backfills?ordering=start_at`, 2],
    [location, 1],
  ] as const) {
    await service.call('GET', at);
    table.counted();
    expect(await service.call('GET', at)).toMatchObject({ status: 200 });
    expect([at, table.counted()]).toEqual([at, trips]);
  }
});
