import { HOUR_MS } from '../../../lib/basics/units.ts';
import type { Settings } from '../../../lib/ports/settings.ts';
import { CLOUD_SETTINGS, LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { testContext } from '../../support/context.ts';
import { byProject, newExport } from '../../support/exports.ts';
import { testService } from '../../support/service.ts';

const MIDNIGHT = Date.UTC(2025, 11, 30);

async function world(settings: Partial<Settings> = {}) {
  const context = testContext({ settings: { ...LOCAL_SETTINGS, strictAnswers: true, ...settings } });
  const service = await testService(context);
  const id = await newExport(service);
  let files = 0;
  /** A file of the lake: rows by the hour of their arrival on the 30th, of things that happened `ago` before. */
  const file = async (hours: Record<number, number>, bytes: number, ago = 0): Promise<void> => {
    files += 1;
    const counts = Array.from({ length: 24 }, (_, hour) => hours[hour] ?? 0);
    const first = MIDNIGHT + counts.findIndex((rows) => rows > 0) * HOUR_MS;
    const last = MIDNIGHT + (counts.findLastIndex((rows) => rows > 0) + 1) * HOUR_MS - 1;
    const arrivals = { min_arrival: first, max_arrival: last };
    const happened = { min_timestamp: first - ago, max_timestamp: last - ago };
    const key = keys.lakeFile(service.project.id, 'events', '2025-12-30', first, 'batch', files);
    const rows = counts.reduce((sum, one) => sum + one, 0);
    const item = { ...key, path: `${files}.parquet`, rows, bytes, ...arrivals, ...happened };
    await context.table.write([{ put: { ...item, hours: JSON.stringify(counts) } }]);
  };
  const estimate = async (start_at: string, end_at: string) =>
    service.call('POST', `${byProject(service)}/${id}/backfill_estimate/`, { body: { start_at, end_at } });
  return { context, service, id, file, estimate };
}

test('tells intervals, rows and bytes of what arrived in the range, and starts nothing', async () => {
  const { context, id, file, estimate } = await world();
  await file({ 10: 60, 11: 40 }, 1_000);
  await file({ 11: 10 }, 100);
  expect(await estimate('2025-12-30T10:30:00Z', '2025-12-30T11:00:00Z')).toMatchObject({
    status: 200,
    body: {
      start_at: '2025-12-30T10:30:00Z',
      end_at: '2025-12-30T11:00:00Z',
      adjusted_start_at: '2025-12-30T10:00:00Z',
      adjusted_end_at: '2025-12-30T11:00:00Z',
      intervals: 1,
      rows: 60,
      bytes: 600,
      scan: null,
      later: null,
    },
  });
  expect((await estimate('2025-12-30T10:00:00Z', '2025-12-30T12:00:00Z')).body).toMatchObject({
    intervals: 2,
    rows: 110,
    bytes: 1_100,
  });
  expect(context.workflow.started).toEqual([]);
  expect(await listAll(context.table, ranges.backfillsByCreation(id))).toEqual([]);
});

test('warns of other exports of the project that write the same files', async () => {
  const { service, id, estimate } = await world();
  const body = async () => (await estimate('2025-12-30T10:00:00Z', '2025-12-30T11:00:00Z')).body;
  expect(await body()).toMatchObject({ warnings: [] });
  const { body: made } = await service.call('GET', `${byProject(service)}/${id}/`);
  const destination = made?.['destination'] as { type: string; config: object };
  const secrets = destination.type === 'S3' ? { aws_access_key_id: 'a', aws_secret_access_key: 'b' } : {};
  const config = { ...destination.config, ...secrets };
  const other = await newExport(service, { name: 'Twin', destination: { ...destination, config } });
  expect(await body()).toMatchObject({ warnings: [expect.stringContaining(`'Twin' (${other})`)] });
});

test('on AWS it tells what the queries scan: each batch its files whole, and at least the minimum', async () => {
  const { file, estimate } = await world({ scanPrice: CLOUD_SETTINGS.scanPrice });
  await file({ 10: 60, 11: 40 }, 3_000_000_000);
  await file({ 12: 1 }, 1_000);
  const { body } = await estimate('2025-12-30T10:00:00Z', '2025-12-30T11:00:00Z');
  // 3 GB at $5 a TB.
  expect(body).toMatchObject({ rows: 60, scan: { queries: 1, bytes: 3_000_000_000, cost_usd: 0.015 } });
  const small = await estimate('2025-12-30T12:00:00Z', '2025-12-30T13:00:00Z');
  // 10 MiB at $5 a TB are 0.0000524, rounded up.
  expect(small.body).toMatchObject({ scan: { queries: 1, bytes: 10_485_760, cost_usd: 0.0001 } });
  const none = await estimate('2025-12-30T20:00:00Z', '2025-12-30T23:00:00Z');
  expect(none.body).toMatchObject({ rows: 0, scan: { queries: 0, bytes: 0, cost_usd: 0 } });
});

test('tells of rows with timestamps in the range that arrived later, which it would not export', async () => {
  const { file, estimate } = await world();
  await file({ 20: 5 }, 100, 10 * HOUR_MS);
  expect((await estimate('2025-12-30T10:00:00Z', '2025-12-30T11:00:00Z')).body).toMatchObject({
    rows: 0,
    later: { rows: 5, first_arrival: '2025-12-30T20:00:00Z', last_arrival: '2025-12-30T20:59:59.999000Z' },
  });
});

test.each([
  [{}, 'Backfilling a BatchExport with no start date is not allowed'],
  [
    { start_at: '2025-12-30', end_at: '2025-12-31T00:00:00Z' },
    'Input 2025-12-30 is naive. Add its offset from UTC, such as 2025-12-30T00:00:00Z or 2025-12-30T00:00:00+02:00.',
  ],
  [
    { start_at: '0001-01-01T00:00:00Z', end_at: '2025-12-31T00:00:00Z' },
    'A backfill may have at most 200,000 intervals, this range has 17,750,760: split it.',
  ],
])('%j is refused as the backfill would be', async (body, detail) => {
  const { service, id } = await world();
  for (const action of ['backfill_estimate', 'backfill', 'backfills']) {
    const reply = await service.call('POST', `${byProject(service)}/${id}/${action}/`, { body });
    expect(reply).toMatchObject({ status: 400, body: { detail, attr: null } });
  }
});
