import { DAY_MS, HOUR_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import type { Op } from '../../../lib/ports/table/table.ts';
import { START, settableClock, testContext } from '../../support/context.ts';
import { BUCKET, byOrganization, byProject, create, FOLDER, INPUT, newExport } from '../../support/exports.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type Service, testService } from '../../support/service.ts';
import { watchWrites } from '../../support/table-override.ts';

async function world(body: object = {}) {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service, body);
  const path = `${byOrganization(service)}/${id}`;
  const patch = (sent: unknown, headers: Record<string, string> = {}) =>
    service.call('PATCH', path, { body: sent, headers });
  const job = () => context.table.get(keys.job('export', id));
  const read = async () => (await service.call('GET', path)).body ?? {};
  return { context, service, id, path, patch, job, read };
}

const SETTLE_MS = 30 * SECOND_MS;

const isChange = (ops: readonly Op[]): boolean => ops.some((op) => 'change' in op && op.change.sk === 'EXPORT');

test('fields that are sent change, the others stay', async () => {
  const { context, patch, read } = await world({ start_at: '2025-01-01T00:00:00Z' });
  const before = await read();
  context.clock.advance(1_000);
  const reply = await patch({ name: ' Größe ', end_at: '2027-01-01T00:00:00Z', team_id: 99, id: 'x', created_at: 'x' });
  expect(reply).toMatchObject({ status: 200 });
  expect(reply.body).toEqual({
    ...before,
    name: 'Größe',
    end_at: '2027-01-01T00:00:00Z',
    last_updated_at: '2026-01-01T00:00:01Z',
  });
  expect(reply.headers.get('etag')).toBe('"2"');
  expect(await read()).toEqual(reply.body);
});

test('on the project’s address it is the same export', async () => {
  const { service, id, read } = await world();
  await service.call('PATCH', `${byProject(service)}/${id}/`, { body: { name: 'x' } });
  expect(await read()).toMatchObject({ name: 'x' });
});

test('PUT needs name, destination and interval, and leaves what is not sent as it is', async () => {
  const { service, path, patch } = await world();
  const { body: made = {} } = await patch({ end_at: '2030-01-01T00:00:00Z', paused: true });
  const put = (body: object) => service.call('PUT', path, { body });
  const { name, destination, interval } = made;
  expect(await put({ name: 'Whole', destination, interval })).toMatchObject({
    status: 200,
    body: { ...made, name: 'Whole' },
  });
  for (const [attr, body] of Object.entries({
    name: { destination, interval },
    destination: { name, interval },
    interval: { name, destination },
  })) {
    expect(await put(body)).toMatchObject({ status: 400, body: { code: 'required', attr } });
  }
});

test('what is nullable can be taken away again', async () => {
  const { patch } = await world({ start_at: '2025-01-01T00:00:00Z', end_at: '2027-01-01T00:00:00Z', paused: true });
  const nothing = { start_at: null, end_at: null, last_paused_at: null };
  expect(await patch({ ...nothing, hogql_query: null, model: null, filters: null })).toMatchObject({
    status: 200,
    body: { ...nothing, hogql_query: null, model: 'events' },
  });
});

describe('a bad change is refused, and changes nothing', () => {
  test.each<[unknown, { attr: string | null; detail?: string; code?: string }]>([
    [{ name: '' }, { attr: 'name', code: 'blank' }],
    [{ name: null }, { attr: 'name', code: 'null' }],
    [
      { interval: 'month' },
      {
        attr: 'interval',
        detail: '"month" is not a valid choice. Choose one of: hour, day, week, every 5 minutes, every 15 minutes.',
      },
    ],
    [{ interval: null }, { attr: 'interval', detail: 'This field may not be null.' }],
    [{ paused: null }, { attr: 'paused', code: 'null' }],
    [
      { model: 'sessions' },
      { attr: 'model', detail: '"sessions" is not a valid choice. Choose one of: events, persons.' },
    ],
    [{ hogql_query: 'SELECT 1' }, { attr: 'hogql_query' }],
    [{ end_at: '2024-01-01T00:00:00Z' }, { attr: 'end_at' }],
    [{ destination: { config: {} } }, { attr: 'destination__type', code: 'required' }],
    [{ destination: { type: 'Folder' } }, { attr: 'destination__config', code: 'required' }],
    [
      { destination: BUCKET },
      {
        attr: 'destination',
        detail:
          "Cannot change destination type from 'Folder' to 'S3'. Delete this batch export and create a new one with " +
          'the new destination type.',
      },
    ],
    [
      { destination: { type: 'Folder', config: { hello: 1 } } },
      { attr: 'destination__non_field_errors', detail: "Configuration has unknown field/s: 'hello'" },
    ],
    [
      { destination: { type: 'Folder', config: { path: null } } },
      {
        attr: 'destination__non_field_errors',
        detail: "Configuration has invalid type: got 'NoneType', expected 'str'",
      },
    ],
    [{ destination: { type: 'Folder', config: { path: 'relative' } } }, { attr: 'destination' }],
    [{ destination: { type: 'Folder', config: { exclude_events: ['x'.repeat(103_000)] } } }, { attr: null }],
    [{ name: 'x'.repeat(103_000) }, { attr: null, detail: 'A batch export may hold at most 100 KiB.' }],
    ['{', { attr: null, code: 'parse_error' }],
    ['[]', { attr: null }],
  ])('%j', async (body, error) => {
    const { patch, read } = await world({ start_at: '2025-01-01T00:00:00Z' });
    const before = await read();
    expect(await patch(body)).toMatchObject({ status: 400, body: error });
    expect(await read()).toEqual(before);
  });
});

describe('the config of the destination', () => {
  const at = (config: object) => ({ destination: { type: 'S3', config } });

  async function bucket(config: object = {}) {
    const made = await world({ destination: { type: 'S3', config: { ...BUCKET.config, ...config } } });
    const { context, id, service } = made;
    const secrets = async () => {
      const item = await context.table.get(keys.batchExport(id));
      const belonging = { organization: service.organization.id, batchExport: id };
      return JSON.parse(await context.vault.open(String(item?.['destination_secrets']), belonging));
    };
    return { ...made, secrets };
  }
  const { aws_access_key_id, aws_secret_access_key } = BUCKET.config;

  test('is laid over the stored one: keys and secrets that are omitted stay', async () => {
    const { patch, secrets } = await bucket({ compression: 'gzip' });
    const reply = await patch(at({ prefix: 'q', exclude_events: ['a'] }));
    expect(reply).toMatchObject({
      status: 200,
      body: {
        destination: { config: { prefix: 'q', bucket_name: 'events', compression: 'gzip', exclude_events: ['a'] } },
      },
    });
    expect(await secrets()).toEqual({ aws_access_key_id, aws_secret_access_key });
  });

  test('can be sent back as it was read', async () => {
    const { patch, read, secrets } = await bucket();
    const { destination, name, interval } = await read();
    expect(await patch({ destination, name, interval })).toMatchObject({ status: 200, body: { destination } });
    expect(await secrets()).toEqual({ aws_access_key_id, aws_secret_access_key });
  });

  test('takes a new secret, and returns none', async () => {
    const { patch, secrets } = await bucket();
    const reply = await patch(at({ aws_secret_access_key: 'new-secret' }));
    expect(JSON.stringify(reply.body)).not.toContain('secret');
    expect(await secrets()).toEqual({ aws_access_key_id, aws_secret_access_key: 'new-secret' });
  });

  test('needs its secrets again when the address that they are for changes', async () => {
    const { patch, secrets, read } = await bucket({ endpoint_url: 'https://a.example.com' });
    const moved = { endpoint_url: 'https://evil.example.com' };
    for (const config of [moved, { ...moved, aws_access_key_id }, { endpoint_url: null }, { bucket_name: 'theirs' }]) {
      expect(await patch(at(config))).toMatchObject({
        status: 400,
        body: { attr: 'destination', detail: expect.stringContaining('must be sent again when') },
      });
    }
    expect(await read()).toMatchObject({ destination: { config: { endpoint_url: 'https://a.example.com' } } });
    expect(await patch(at({ ...moved, aws_access_key_id: 'AKIANEW', aws_secret_access_key: 's' }))).toMatchObject({
      status: 200,
    });
    expect(await secrets()).toEqual({ aws_access_key_id: 'AKIANEW', aws_secret_access_key: 's' });
    expect(await patch(at({ ...moved, prefix: 'z' }))).toMatchObject({ status: 200 });
  });

  test('takes its secrets anew when those that are stored open no more, and says so when none are sent', async () => {
    const { patch, secrets, context, id, service } = await bucket();
    const elsewhere = { organization: service.organization.id, batchExport: 'another' };
    const destination_secrets = await context.vault.seal('{}', elsewhere);
    await context.table.write([{ change: keys.batchExport(id), set: { destination_secrets } }]);
    const detail = 'The stored credentials were altered, or belong to another object. Enter them again.';
    const refusal = { status: 400, body: { type: 'validation_error', attr: 'destination', detail } };
    for (const body of [at({ prefix: 'q' }), { model: 'persons' }]) expect(await patch(body)).toMatchObject(refusal);
    const step = `${byProject(service)}/${id}/run_test_step/`;
    expect(await service.call('POST', step, { body: {} })).toMatchObject(refusal);
    expect(await patch(at({ aws_access_key_id }))).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('aws_secret_access_key') },
    });
    expect(await patch({ name: 'kept' })).toMatchObject({ status: 200 });
    expect(await patch(at({ aws_access_key_id, aws_secret_access_key: 'new' }))).toMatchObject({ status: 200 });
    expect(await secrets()).toEqual({ aws_access_key_id, aws_secret_access_key: 'new' });
  });
});

describe('the schedule', () => {
  test('follows the interval', async () => {
    const { patch, job } = await world({ interval: 'day' });
    expect(await job()).toMatchObject({ due: START + DAY_MS + SETTLE_MS });
    await patch({ interval: 'hour' });
    expect(await job()).toMatchObject({ due: START + HOUR_MS + SETTLE_MS });
  });

  test('stops with a pause, whose time is kept, and goes on behind it', async () => {
    const { context, patch, job, id } = await world();
    context.clock.advance(HOUR_MS / 2);
    expect(await patch({ paused: true })).toMatchObject({
      body: { paused: true, last_paused_at: '2026-01-01T00:30:00Z' },
    });
    expect(await job()).toBeUndefined();
    context.clock.advance(10 * HOUR_MS);
    expect(await patch({ paused: true, name: 'again' })).toMatchObject({
      body: { last_paused_at: '2026-01-01T00:30:00Z' },
    });
    expect(await patch({ paused: false })).toMatchObject({ body: { last_paused_at: '2026-01-01T00:30:00Z' } });
    expect(await job()).toMatchObject({ due: START + 11 * HOUR_MS + SETTLE_MS });
    expect(await context.table.get(keys.plan(id))).toMatchObject({ next: START + 10 * HOUR_MS });
  });

  test('keeps last_paused_at when it is sent', async () => {
    const { patch } = await world();
    expect(await patch({ paused: true, last_paused_at: '2025-01-01T00:00:00Z' })).toMatchObject({
      body: { paused: true, last_paused_at: '2025-01-01T00:00:00Z' },
    });
  });

  test('begins and ends when it is told to', async () => {
    const { patch, job } = await world();
    await patch({ start_at: '2026-01-03T00:00:00Z' });
    expect(await job()).toMatchObject({ due: START + 2 * DAY_MS + SETTLE_MS });
    await patch({ start_at: '2026-01-02T00:00:00Z' });
    expect(await job()).toMatchObject({ due: START + DAY_MS + SETTLE_MS });
    await patch({ end_at: '2026-01-02T00:00:00Z' });
    expect(await job()).toMatchObject({ due: START + DAY_MS + SETTLE_MS });
    await patch({ start_at: null, end_at: '2026-01-01T00:30:00Z' });
    expect(await job()).toBeUndefined();
    await patch({ end_at: null });
    expect(await job()).toMatchObject({ due: START + HOUR_MS + SETTLE_MS });
  });

  test('that begins earlier lowers the bound of the lake', async () => {
    const { context, service, patch } = await world({ start_at: '2026-03-01T00:00:00Z' });
    const live = async () => (await context.table.get(keys.fence(service.project.id)))?.['live'];
    expect(await live()).toBe(Date.UTC(2026, 1, 28, 23));
    await patch({ start_at: '2026-02-01T00:00:00Z' });
    expect(await live()).toBe(Date.UTC(2026, 0, 31, 23));
    await patch({ start_at: '2026-03-01T00:00:00Z' });
    expect(await live()).toBe(Date.UTC(2026, 0, 31, 23));
  });

  test('is not touched by a change of something else', async () => {
    const { context, patch, job, id } = await world();
    const [before, plan] = [await job(), await context.table.get(keys.plan(id))];
    context.clock.advance(5 * HOUR_MS);
    await patch({ name: 'x', destination: FOLDER, last_paused_at: null });
    expect([await job(), await context.table.get(keys.plan(id))]).toEqual([before, plan]);
  });
});

describe('two who change at once', () => {
  test('both last, field by field and key by key', async () => {
    const { table, ...rest } = testContext();
    const config = (sent: object) => ({ destination: { type: 'Folder', config: sent } });
    const changes = [
      { name: 'x' },
      { interval: 'day' },
      { paused: true },
      config({ prefix: 'p' }),
      config({ compression: 'gzip' }),
      config({ exclude_events: ['e'] }),
      { end_at: '2027-01-01T00:00:00Z' },
    ];
    const { promise: allHaveRead, resolve } = Promise.withResolvers<void>();
    let writes = 0;
    const watched = watchWrites(table, async (ops) => {
      if (!isChange(ops)) return;
      writes += 1;
      if (writes === changes.length) resolve();
      await allHaveRead;
    });
    const service = await testService({ ...rest, table: watched });
    const path = `${byOrganization(service)}/${await newExport(service)}`;
    const replies = await Promise.all(changes.map((body) => service.call('PATCH', path, { body })));
    expect(replies.map(({ status }) => status)).toEqual(changes.map(() => 200));
    const { body, headers } = await service.call('GET', path);
    expect(body).toMatchObject({
      name: 'x',
      interval: 'day',
      paused: true,
      end_at: '2027-01-01T00:00:00Z',
      destination: { config: { prefix: 'p', compression: 'gzip', exclude_events: ['e'] } },
    });
    expect(headers.get('etag')).toBe('"8"');
  });

  test('of one version: the second is told', async () => {
    const { patch, read } = await world();
    const both = await Promise.all(['a', 'b'].map((name) => patch({ name }, { 'If-Match': '"1"' })));
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412]);
    expect(await read()).toMatchObject({ name: both[0]?.status === 200 ? 'a' : 'b' });
    expect(await patch({ name: 'c' }, { 'If-Match': '"1"' })).toMatchObject({
      status: 412,
      body: { code: 'precondition_failed' },
    });
    expect(await patch({ name: 'c' }, { 'If-Match': '"2"' })).toMatchObject({ status: 200 });
    expect(await patch({ name: 'd' }, { 'If-Match': '*' })).toMatchObject({ status: 200 });
  });

  test('while one deletes it: not found, and it stays deleted', async () => {
    const { table, ...rest } = testContext();
    let before = async () => {};
    const watched = watchWrites(table, async (ops) => {
      if (isChange(ops)) await before();
    });
    const service = await testService({ ...rest, table: watched });
    const path = `${byOrganization(service)}/${await newExport(service)}`;
    before = async () => {
      before = async () => {};
      await service.call('DELETE', path);
    };
    expect(await service.call('PATCH', path, { body: { interval: 'day' } })).toMatchObject({ status: 404 });
    expect(await table.list({ index: 'second', partition: 'DUE' }, { limit: 9 })).toMatchObject({ items: [] });
  });
});

describe('a change', () => {
  async function trips(body: object, sent: object): Promise<number> {
    const clock = settableClock();
    const table = countRoundTrips(testContext({ clock }).table);
    const service: Service = await testService(testContext({ clock, table }));
    const reply = await create(service, { ...INPUT, ...body });
    const path = `${byProject(service)}/${String(reply.body?.['id'])}`;
    await service.call('PATCH', path, { body: {} });
    table.counted();
    expect(await service.call('PATCH', path, { body: sent })).toMatchObject({ status: 200 });
    return table.counted();
  }

  test('is two round trips', async () => {
    expect(await trips({}, { name: 'x' })).toBe(2);
    expect(await trips({ destination: BUCKET }, { destination: { type: 'S3', config: { prefix: 'x' } } })).toBe(2);
  });

  test('of the schedule is one more, for the bound of the lake', async () => {
    expect(await trips({}, { interval: 'day' })).toBe(3);
  });
});
