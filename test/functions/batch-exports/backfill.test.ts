import { DAY_MS, HOUR_MS } from '../../../lib/basics/units.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { settableClock, testContext } from '../../support/context.ts';
import { byOrganization, byProject, newExport } from '../../support/exports.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { testService } from '../../support/service.ts';

const RANGE = { start_at: '2025-12-30T10:20:00Z', end_at: '2025-12-31T00:00:00+00:00' };

async function world(body: object = {}) {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service, body);
  const path = `${byOrganization(service)}/${id}/backfill`;
  const backfill = (sent: unknown = RANGE, headers: Record<string, string> = {}) =>
    service.call('POST', path, { body: sent, headers });
  const stored = () => listAll(context.table, ranges.backfillsByCreation(id));
  return { context, service, id, path, backfill, stored };
}

test('the answer is empty, and Location is the backfill on the address that the caller used', async () => {
  const { context, service, id } = await world();
  for (const path of [byOrganization(service), byProject(service)]) {
    for (const slash of ['', '/']) {
      const body = { start_at: '2025-12-30T00:00:00Z', end_at: '2025-12-30T01:00:00Z' };
      const reply = await service.call('POST', `${path}/${id}/backfill${slash}`, { body });
      expect(reply).toMatchObject({ status: 200, body: undefined });
      const location = reply.headers.get('location') ?? '';
      expect(location).toMatch(new RegExp(`^${service.address}${path}/${id}/backfills/[0-9a-f-]{36}${slash}$`));
      const read = await service.call('GET', location.slice(service.address.length));
      expect(read).toMatchObject({ status: 200, body: { batch_export: id, status: 'Starting' } });
      await context.table.write([
        { remove: keys.backfill(id, String(read.body?.['id'])) },
        { change: keys.plan(id), set: { claimed: '[]' } },
      ]);
    }
  }
});

test('it begins at once, aligned outward to whole intervals', async () => {
  const { context, id, backfill, stored } = await world();
  await backfill({ ...RANGE, name: 'ignored', destination: 5, interval: 'ignored' });
  const [item] = await stored();
  expect(item).toMatchObject({
    start_at: Date.UTC(2025, 11, 30, 10, 20),
    adjusted_start_at: Date.UTC(2025, 11, 30, 10),
    adjusted_end_at: Date.UTC(2025, 11, 31),
    end_at: Date.UTC(2025, 11, 31),
  });
  const bid = String(item?.['id']);
  const input = { export: id, backfill: bid };
  expect(context.workflow.started).toEqual([{ machine: 'backfill', name: bid, input }]);
  expect(await context.table.get(keys.job('backfill', bid))).toBeDefined();
});

test.each([
  ['paused', { paused: true }],
  ['ended', { end_at: '2020-01-01T00:00:00Z' }],
  ['not begun', { start_at: '2030-01-01T00:00:00Z' }],
])('an export that is %s may be backfilled', async (_what, body) => {
  const { backfill, stored } = await world(body);
  expect(await backfill()).toMatchObject({ status: 200 });
  expect(await stored()).toHaveLength(1);
});

test('a range without an interval that has ended is no error: the backfill is complete', async () => {
  const { context, service, backfill } = await world({ interval: 'week' });
  context.clock.advance(DAY_MS);
  const reply = await backfill({ start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T01:00:00Z' });
  expect(reply.status).toBe(200);
  const location = (reply.headers.get('location') ?? '').slice(service.address.length);
  expect((await service.call('GET', location)).body).toMatchObject({
    status: 'Completed',
    progress: { total_runs: 0, finished_runs: 0, progress: 1 },
  });
  expect(context.workflow.started).toEqual([]);
});

test('it may end now, in whatever offset that is written', async () => {
  const { backfill } = await world();
  expect(await backfill({ ...RANGE, end_at: '2026-01-01T01:00:00+01:00' })).toMatchObject({ status: 200 });
});

describe('what cannot be backfilled is refused', () => {
  test.each([
    [{}, 'Backfilling a BatchExport with no start date is not allowed'],
    [{ ...RANGE, end_at: null }, 'Backfilling a BatchExport with no end date is not allowed'],
    [{ ...RANGE, start_at: 'not a date' }, 'Input not a date is not a valid ISO formatted datetime.'],
    [{ ...RANGE, start_at: ['x'] }, 'Input ["x"] is not a valid ISO formatted datetime.'],
    [
      { ...RANGE, start_at: '2021-01-01T01:00:00' },
      'Input 2021-01-01T01:00:00 is naive. Add its offset from UTC, such as 2021-01-01T01:00:00Z or 2021-01-01T01:00:00+02:00.',
    ],
    [
      { start_at: RANGE.end_at, end_at: RANGE.start_at },
      "The initial backfill datetime 'start_at' happens after 'end_at'",
    ],
    [
      { ...RANGE, end_at: '2026-01-01T00:00:01Z' },
      "The provided 'end_at' (2026-01-01T00:00:01+00:00) is in the future",
    ],
  ])('%j: %s', async (body, detail) => {
    const { context, backfill, stored } = await world();
    const reply = await backfill(body);
    expect(reply).toMatchObject({
      status: 400,
      body: { type: 'validation_error', code: 'invalid_input', detail, attr: null },
    });
    expect(await stored()).toEqual([]);
    expect(context.workflow.started).toEqual([]);
  });

  test('a range of another backfill that is under way, but not of one that has ended', async () => {
    const { context, id, backfill, stored } = await world();
    await backfill();
    expect(await backfill({ ...RANGE, start_at: '2025-12-30T23:30:00Z' })).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/overlaps/), attr: null },
    });
    expect(await backfill({ start_at: RANGE.end_at, end_at: '2025-12-31T01:00:00Z' })).toMatchObject({ status: 200 });
    expect(await stored()).toHaveLength(2);
    const [newest] = await stored();
    context.clock.advance(HOUR_MS);
    expect(newest).toMatchObject({ batch_export: id });
  });

  test('one more when 200 have not ended, until one of them has', async () => {
    const { context, id, backfill, stored } = await world();
    const hours = Array.from({ length: 200 }, (_, n) => Date.UTC(2025, 11, 1) + n * HOUR_MS);
    const claimed = hours.map((from) => ({ backfill: context.newId(), from, to: from + HOUR_MS, grids: [] }));
    await context.table.write([{ change: keys.plan(id), set: { claimed: JSON.stringify(claimed) } }]);
    const reply = await backfill();
    expect(reply).toMatchObject({
      status: 429,
      body: {
        type: 'throttled_error',
        code: 'throttled',
        detail:
          '200 backfills of the batch export have not ended, the most that it may have. Wait for one of them, or cancel it; ' +
          'ranges beside each other can be one backfill.',
        attr: null,
      },
    });
    expect(reply.headers.get('retry-after')).toBe('60');
    expect(await stored()).toEqual([]);
    await context.table.write([{ change: keys.plan(id), set: { claimed: JSON.stringify(claimed.slice(1)) } }]);
    expect(await backfill()).toMatchObject({ status: 200 });
  });
});

describe('an Idempotency-Key', () => {
  const once = { 'Idempotency-Key': 'once' };

  test('makes one backfill of many requests, one after the other or at once', async () => {
    const { context, backfill, stored } = await world();
    const twins = await Promise.all([1, 2, 3].map(() => backfill(RANGE, once)));
    const again = await backfill(RANGE, once);
    for (const reply of [...twins, again]) {
      expect(reply).toMatchObject({ status: 200, body: undefined });
      expect(reply.headers.get('location')).toBe(twins[0]?.headers.get('location'));
    }
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await stored()).toHaveLength(1);
    expect(context.workflow.started).toHaveLength(1);
  });

  test('is refused with another range', async () => {
    const { backfill } = await world();
    await backfill(RANGE, once);
    expect(await backfill({ ...RANGE, end_at: '2025-12-30T12:00:00Z' }, once)).toMatchObject({ status: 409 });
  });
});

test('a backfill is three round trips', async () => {
  const clock = settableClock();
  const table = countRoundTrips(testContext({ clock }).table);
  const service = await testService(testContext({ clock, table }));
  const path = `${byProject(service)}/${await newExport(service)}/backfill`;
  await service.call('POST', path, { body: {} });
  table.counted();
  expect(await service.call('POST', path, { body: RANGE })).toMatchObject({ status: 200 });
  expect(table.counted()).toBe(3);
});
