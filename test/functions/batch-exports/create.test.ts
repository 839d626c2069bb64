import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS, HOUR_MS } from '../../../lib/basics/units.ts';
import { DESTINATIONS } from '../../../lib/exports/destinations/index.ts';
import { keys, places, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { START, settableClock, temporaryFolder, testContext } from '../../support/context.ts';
import {
  addProject,
  BUCKET,
  byOrganization,
  byProject,
  create,
  FOLDER,
  INPUT,
  newExport,
  removeProject,
} from '../../support/exports.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { testService } from '../../support/service.ts';
import { watchWrites } from '../../support/table-override.ts';

const TYPES = DESTINATIONS.map(({ type }) => type).join(', ');

test('a new export has every field of the interface, and reads the same on both addresses', async () => {
  const service = await testService(testContext());
  const reply = await create(service);
  const id = String(reply.body?.['id']);
  expect(reply).toMatchObject({ status: 201 });
  expect(reply.headers.get('etag')).toBe('"1"');
  expect(reply.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    team_id: service.project.id,
    name: 'Hourly',
    model: 'events',
    destination: {
      type: 'Folder',
      config: {
        path: FOLDER.config.path,
        prefix: '',
        file_format: 'JSONLines',
        compression: null,
        max_file_size_mb: null,
      },
    },
    interval: 'hour',
    paused: false,
    created_at: '2026-01-01T00:00:00Z',
    last_updated_at: '2026-01-01T00:00:00Z',
    last_paused_at: null,
    start_at: null,
    end_at: null,
    latest_runs: [],
    hogql_query: null,
    filters: null,
    notify_host: null,
    schema: null,
  });
  for (const path of [byOrganization(service), byProject(service)]) {
    expect((await service.call('GET', `${path}/${id}`)).body).toEqual(reply.body);
    expect((await service.call('GET', `${path}/${id}/`)).body).toEqual(reply.body);
  }
});

test('of a webhook the host is shown; its address and its secret are neither shown nor kept as they are', async () => {
  const context = testContext();
  const service = await testService(context);
  const notify_secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
  const notify_url = 'https://hooks.example.org/services/T0/B0/token?sig=1';
  const reply = await create(service, { ...INPUT, notify_url, notify_secret });
  expect(reply).toMatchObject({ status: 201, body: { notify_host: 'hooks.example.org' } });
  for (const part of ['whsec_', 'notify_url', 'token']) expect(reply.text).not.toContain(part);
  const path = `${byProject(service)}/${String(reply.body?.['id'])}`;
  const stored = await context.table.get(keys.batchExport(String(reply.body?.['id'])));
  expect(stored?.['notify_secret']).toEqual(expect.any(String));
  for (const part of [notify_secret.slice(6), 'token']) expect(JSON.stringify(stored)).not.toContain(part);
  const activity = `/api/organizations/${service.organization.id}/activity/`;
  const moved = { notify_url: 'https://chat.example.org/token' };
  expect((await service.call('PATCH', path, { body: moved })).body).toMatchObject({ notify_host: 'chat.example.org' });
  const log = await service.call('GET', activity);
  expect(log.text).not.toContain('/token');
  expect(log.text).toContain('notify_url');
  expect((await service.call('PATCH', path, { body: { notify_url: null, notify_secret: null } })).body).toMatchObject({
    notify_host: null,
  });
  expect(await context.table.get(keys.batchExport(String(reply.body?.['id'])))).toMatchObject({
    notify_url: null,
    notify_host: null,
    notify_secret: null,
  });
});

test.each([
  ['notify_url', 'ftp://example.org'],
  ['notify_url', 'not an address'],
  ['notify_url', 'https://key:secret@hooks.example.org'],
  ['notify_url', 'http://169.254.169.254/latest'],
  ['notify_url', 'http://[::ffff:10.0.0.1]/'],
  ['notify_url', 5],
  ['notify_secret', 'secret'],
  ['notify_secret', 'whsec_AAAA'],
  ['notify_secret', `whsec_${'A'.repeat(400)}`],
])('a webhook is refused when its %s is %p', async (field, value) => {
  const context = testContext();
  const service = await testService({ ...context, settings: { ...context.settings, privateAddresses: false } });
  expect(await create(service, { ...INPUT, [field]: value })).toMatchObject({ status: 400, body: { attr: field } });
});

test('everything that is writable is kept as it was sent', async () => {
  const path = join(temporaryFolder(), '\u{1f40d}');
  const service = await testService(testContext());
  const sent = {
    name: '  Größe 🐍 \u202e__proto__  ',
    model: 'events',
    destination: { type: 'Folder', config: { path, exclude_events: ['$pageview', 'ß'] } },
    interval: 'every 5 minutes',
    paused: 'yes',
    last_paused_at: '2025-01-01T01:00:00+01:00',
    start_at: '2025-06-01T00:00:00.5Z',
    end_at: '2027-06-01T00:00:00Z',
    hogql_query: null,
    filters: [],
    schema: { ignored: true },
    id: 'ignored',
    latest_runs: 'ignored',
  };
  expect(await create(service, sent)).toMatchObject({
    status: 201,
    body: {
      name: 'Größe 🐍 \u202e__proto__',
      destination: { config: { path, exclude_events: ['$pageview', 'ß'] } },
      interval: 'every 5 minutes',
      paused: true,
      last_paused_at: '2025-01-01T00:00:00Z',
      start_at: '2025-06-01T00:00:00.500000Z',
      end_at: '2027-06-01T00:00:00Z',
      schema: null,
    },
  });
});

test('the plan, the first job and the bound of the lake come with it', async () => {
  const context = testContext();
  const service = await testService(context);
  context.clock.advance(10 * 60_000);
  const id = await newExport(service);
  const due = START + HOUR_MS + context.settings.settleSeconds * 1000;
  expect(await context.table.get(keys.plan(id))).toMatchObject({ version: 1, next: START });
  expect(await context.table.get(keys.job('export', id))).toMatchObject({ kind: 'export', id, due });
  expect(await context.table.get(keys.fence(service.project.id))).toMatchObject({ live: START });
});

test('the bound of the lake falls with an export that starts earlier, and never rises', async () => {
  const context = testContext();
  const service = await testService(context);
  const live = async () => (await context.table.get(keys.fence(service.project.id)))?.['live'];
  context.clock.advance(5 * DAY_MS);
  await newExport(service, { interval: 'hour' });
  expect(await live()).toBe(START + 5 * DAY_MS);
  await newExport(service, { interval: 'week' });
  expect(await live()).toBe(Date.UTC(2026, 0, 4));
  await newExport(service, { interval: 'hour' });
  expect(await live()).toBe(Date.UTC(2026, 0, 4));
});

test('exports that are made at once in a new project are all made', async () => {
  const context = testContext();
  const service = await testService(context);
  const intervals = ['week', 'day', 'hour', 'every 15 minutes', 'every 5 minutes'];
  const replies = await Promise.all(intervals.map((interval) => create(service, { ...INPUT, interval })));
  expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
  expect(await context.table.get(keys.fence(service.project.id))).toMatchObject({ live: Date.UTC(2025, 11, 28) });
});

test('a paused export has no job, and knows since when it is paused', async () => {
  const context = testContext();
  const service = await testService(context);
  const reply = await create(service, { ...INPUT, paused: true });
  expect(reply.body).toMatchObject({ paused: true, last_paused_at: '2026-01-01T00:00:00Z' });
  expect(await context.table.get(keys.job('export', String(reply.body?.['id'])))).toBeUndefined();
});

test('an export whose end has passed has no job', async () => {
  const context = testContext();
  const id = await newExport(await testService(context), { end_at: '2025-12-31T00:00:00Z' });
  expect(await context.table.get(keys.job('export', id))).toBeUndefined();
});

describe('the project of an export', () => {
  test("is the organization's oldest, or the one asked for", async () => {
    const context = testContext();
    const service = await testService(context);
    const second = await addProject(context, service.organization);
    expect((await create(service)).body).toMatchObject({ team_id: service.project.id });
    expect((await create(service, { ...INPUT, team_id: second.id })).body).toMatchObject({ team_id: second.id });
    expect((await create(service, { ...INPUT, team_id: String(second.id) })).body).toMatchObject({
      team_id: second.id,
    });
    expect((await create(service, { ...INPUT, team_id: null })).body).toMatchObject({ team_id: service.project.id });
  });

  test("is the address's, whatever the body says", async () => {
    const context = testContext();
    const service = await testService(context);
    const second = await addProject(context, service.organization);
    for (const team_id of [service.project.id, 'x', 99]) {
      const reply = await create(service, { ...INPUT, team_id }, `/api/projects/${second.id}/batch_exports`);
      expect(reply).toMatchObject({ status: 201, body: { team_id: second.id } });
    }
  });

  test("must be the organization's, and there", async () => {
    const context = testContext();
    const service = await testService(context);
    const { body } = await service.call('POST', '/api/organizations/', { body: { name: 'Another' } });
    const foreign = (body as { projects: { id: number }[] } | undefined)?.projects[0];
    for (const [team_id, code] of [
      [foreign?.id, 'does_not_exist'],
      [99, 'does_not_exist'],
      ['x', 'invalid_input'],
    ] as const) {
      expect(await create(service, { ...INPUT, team_id })).toMatchObject({
        status: 400,
        body: { type: 'validation_error', code, attr: 'team_id' },
      });
    }
    await removeProject(context, service.project);
    expect(await create(service)).toMatchObject({ status: 400, body: { attr: 'team_id' } });
    expect(await create(service, INPUT, byProject(service))).toMatchObject({
      status: 404,
      body: { detail: 'Project not found.' },
    });
  });

  test.each(['project', 'organization'] as const)(
    'must still be there when the export is written: a deleted %s gets none',
    async (what) => {
      const { table, ...rest } = testContext();
      let before = async () => {};
      const watched = watchWrites(table, async (ops) => {
        if (ops.some((op) => 'put' in op && op.put.sk === 'EXPORT')) await before();
      });
      const context = { ...rest, table: watched };
      const service = await testService(context);
      before = async () => {
        const key = what === 'project' ? keys.project(service.project.id) : keys.organization(service.organization.id);
        await table.write([{ change: key, set: { deleted_at: START } }]);
      };
      expect(await create(service)).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(await listAll(table, ranges.exportsOf(service.organization.id))).toEqual([]);
      expect(await table.list(ranges.dueJobs(START + 9 * DAY_MS), { limit: 9 })).toMatchObject({ items: [] });
    },
  );
});

test('a folder that cannot be written is refused with the words of its test step, and so is a change to it', async () => {
  const service = await testService(testContext());
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  const destination = { type: 'Folder', config: { path: join(file, 'below') } };
  const step = await service.call('POST', `${byProject(service)}/run_test_step_new/`, {
    body: { ...INPUT, destination, step: 0 },
  });
  const { message } = (step.body?.['result'] ?? {}) as { message?: string };
  expect(message).toContain(`Could not write '${destination.config.path}'`);
  const refusal = { status: 400, body: { type: 'validation_error', attr: 'destination', detail: message } };
  expect(await create(service, { ...INPUT, destination })).toMatchObject(refusal);
  expect((await service.call('GET', byOrganization(service))).body).toMatchObject({ count: 0 });
  const { body } = await create(service);
  expect(
    await service.call('PATCH', `${byProject(service)}/${String(body?.['id'])}/`, { body: { destination } }),
  ).toMatchObject(refusal);
});

test('a folder where there can be none is refused, and is no trouble that passes', async () => {
  // Of Linux, where such a folder lies; others have none, and say so in their own way.
  const path = process.platform === 'linux' ? '/proc/nothing' : '/dev/null/nothing';
  const destination = { type: 'Folder', config: { path } };
  const { status, body } = await create(await testService(testContext()), { ...INPUT, destination });
  expect({ status, detail: body?.['detail'] }).toEqual({ status: 400, detail: expect.stringContaining(path) });
});

describe('a bad body is refused', () => {
  const { path: _path, ...noPath } = FOLDER.config;
  const RECEIVER = { type: 'HTTP', config: { url: 'https://app.example.org/batch/', token: 'secret' } };
  test.each<[string, unknown, { attr: string | null; detail?: string; code?: string }]>([
    ['no name', { ...INPUT, name: undefined }, { attr: 'name', detail: 'This field is required.', code: 'required' }],
    ['a null name', { ...INPUT, name: null }, { attr: 'name', detail: 'This field may not be null.', code: 'null' }],
    ['a blank name', { ...INPUT, name: ' ' }, { attr: 'name', detail: 'This field may not be blank.', code: 'blank' }],
    ['a name with NUL', { ...INPUT, name: 'a\0b' }, { attr: 'name', code: 'null_characters_not_allowed' }],
    ['a list as name', { ...INPUT, name: [] }, { attr: 'name', detail: 'Not a valid string.' }],
    ['no destination', { ...INPUT, destination: undefined }, { attr: 'destination', code: 'required' }],
    ['a null destination', { ...INPUT, destination: null }, { attr: 'destination', code: 'null' }],
    ['a destination without a type', { ...INPUT, destination: { config: {} } }, { attr: 'destination__type' }],
    ['a destination without a config', { ...INPUT, destination: { type: 'S3' } }, { attr: 'destination__config' }],
    [
      'an unknown type',
      { ...INPUT, destination: { ...FOLDER, type: 'constructor' } },
      {
        attr: 'destination__type',
        detail: `"constructor" is not a valid choice. Choose one of: ${TYPES}.`,
        code: 'invalid_choice',
      },
    ],
    [
      'a type that is not offered',
      { ...INPUT, destination: { ...FOLDER, type: 'Snowflake' } },
      {
        attr: 'destination__type',
        detail: `"Snowflake" is not a valid choice. Choose one of: ${TYPES}.`,
      },
    ],
    ['no interval', { ...INPUT, interval: undefined }, { attr: 'interval', code: 'required' }],
    [
      'a null interval',
      { ...INPUT, interval: null },
      { attr: 'interval', detail: 'This field may not be null.', code: 'null' },
    ],
    [
      'an unknown interval',
      { ...INPUT, interval: 'month' },
      {
        attr: 'interval',
        detail: '"month" is not a valid choice. Choose one of: hour, day, week, every 5 minutes, every 15 minutes.',
        code: 'invalid_choice',
      },
    ],
    [
      'an unknown model',
      { ...INPUT, model: 'sessions' },
      {
        attr: 'model',
        detail: '"sessions" is not a valid choice. Choose one of: events, persons.',
        code: 'invalid_choice',
      },
    ],
    ['a query', { ...INPUT, hogql_query: 'SELECT count() FROM events' }, { attr: 'hogql_query' }],
    [
      'a query of persons',
      { ...INPUT, model: 'persons', hogql_query: 'SELECT event FROM events' },
      { attr: 'hogql_query' },
    ],
    [
      'a query for a receiver that takes one form of rows',
      { ...INPUT, destination: RECEIVER, hogql_query: 'SELECT event FROM events' },
      { attr: 'hogql_query' },
    ],
    [
      'persons for a receiver of events',
      { ...INPUT, destination: RECEIVER, model: 'persons' },
      { attr: null, detail: 'HTTP batch exports only support the events model' },
    ],
    [
      'names of events for persons',
      {
        ...INPUT,
        model: 'persons',
        destination: { ...FOLDER, config: { ...FOLDER.config, include_events: ['paid'] } },
      },
      { attr: 'destination', detail: "'include_events' is only supported for 'events' not 'persons' model" },
    ],
    ['filters', { ...INPUT, filters: [{ key: 'a' }] }, { attr: 'filters' }],
    ['a bad flag', { ...INPUT, paused: 'maybe' }, { attr: 'paused', detail: 'Must be a valid boolean.' }],
    ['a bad time', { ...INPUT, start_at: 'yesterday' }, { attr: 'start_at' }],
    [
      'an end before the start',
      { ...INPUT, start_at: '2026-02-01T00:00:00Z', end_at: '2026-01-01T00:00:00Z' },
      { attr: 'end_at', detail: "'end_at' must not be before 'start_at'." },
    ],
    [
      'unknown keys of the config',
      { ...INPUT, destination: { ...FOLDER, config: { ...FOLDER.config, hello2: 1, hello: 1 } } },
      { attr: 'destination__non_field_errors', detail: "Configuration has unknown field/s: 'hello', 'hello2'" },
    ],
    [
      'a missing key of the config',
      { ...INPUT, destination: { ...FOLDER, config: noPath } },
      { attr: 'destination__non_field_errors', detail: "Configuration missing required field: 'path'" },
    ],
    [
      'a number beyond all bounds in the config',
      `{"name":"n","interval":"hour","destination":{"type":"Folder","config":{"path":"/p","max_file_size_mb":1e999}}}`,
      {
        attr: 'destination__non_field_errors',
        detail: "Configuration has invalid type: got 'float', expected 'int'",
      },
    ],
    [
      'a number that nothing holds exactly in the config',
      `{"name":"n","interval":"hour","destination":{"type":"Folder","config":{"path":"/p","max_file_size_mb":12345678901234567890}}}`,
      { attr: 'destination', detail: "'max_file_size_mb' is out of range." },
    ],
    [
      "an object's prototype in the config",
      '{"name":"n","interval":"hour","destination":{"type":"Folder","config":{"path":"/p","__proto__":{"a":1}}}}',
      { attr: 'destination__non_field_errors', detail: "Configuration has unknown field/s: '__proto__'" },
    ],
    [
      'more than 100 KB',
      { ...INPUT, destination: { ...FOLDER, config: { ...FOLDER.config, exclude_events: ['x'.repeat(102_400)] } } },
      { attr: null, detail: 'A batch export may hold at most 100 KiB.' },
    ],
    ['a list', [INPUT], { attr: null, detail: 'Invalid data. Expected a dictionary, but got list.' }],
  ])('%s', async (_what, body, error) => {
    const service = await testService(testContext());
    const reply = await create(service, body);
    expect(reply).toMatchObject({ status: 400, body: { type: 'validation_error', ...error } });
    expect(Object.keys(reply.body ?? {})).toEqual(['type', 'code', 'detail', 'attr']);
    expect((await service.call('GET', byOrganization(service))).body).toMatchObject({ count: 0 });
  });
});

test('names that objects are born with are just text', async () => {
  const service = await testService(testContext());
  for (const name of ['__proto__', 'constructor', 'toString']) {
    const config = { path: FOLDER.config.path, prefix: name, include_events: [name] };
    expect(await create(service, { ...INPUT, name, destination: { type: 'Folder', config } })).toMatchObject({
      status: 201,
      body: { name, destination: { config: { prefix: name, include_events: [name] } } },
    });
  }
  expect((await service.call('GET', byOrganization(service))).body).toMatchObject({ count: 3 });
});

test('secrets are sealed, and no answer and no log line ever holds one', async () => {
  const context = testContext();
  const service = await testService(context);
  const reply = await create(service, { ...INPUT, destination: BUCKET });
  const id = String(reply.body?.['id']);
  const { aws_access_key_id, aws_secret_access_key, ...open } = BUCKET.config;
  expect(reply).toMatchObject({ status: 201, body: { destination: { type: 'S3', config: open } } });
  const item = await context.table.get(keys.batchExport(id));
  const seen = JSON.stringify([
    reply.body,
    item,
    context.lines,
    (await service.call('GET', byOrganization(service))).body,
    (await service.call('GET', `${byProject(service)}/${id}`)).body,
    (await service.call('PATCH', `${byProject(service)}/${id}`, { body: { name: 'x', destination: BUCKET } })).body,
  ]);
  for (const secret of [aws_access_key_id, aws_secret_access_key]) expect(seen).not.toContain(secret);
  for (const key of ['aws_access_key_id', 'aws_secret_access_key'])
    expect(JSON.stringify(reply.body)).not.toContain(key);
  const belonging = { organization: service.organization.id, batchExport: id };
  expect(JSON.parse(await context.vault.open(String(item?.['destination_secrets']), belonging))).toEqual({
    aws_access_key_id,
    aws_secret_access_key,
  });
});

describe('an Idempotency-Key', () => {
  const repeated = { body: INPUT, headers: { 'Idempotency-Key': 'once' } };

  test('makes one export of many requests, one after the other or at once', async () => {
    const service = await testService(testContext());
    const path = byOrganization(service);
    const first = await service.call('POST', path, repeated);
    const again = await service.call('POST', `${path}/`, repeated);
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('etag')).toBe('"1"');
    const other = { ...repeated, headers: { 'Idempotency-Key': 'twice' } };
    const twins = await Promise.all([1, 2, 3].map(() => service.call('POST', path, other)));
    expect(new Set(twins.map(({ status, body }) => `${status} ${String(body?.['id'])}`)).size).toBe(1);
    expect((await service.call('GET', path)).body).toMatchObject({ count: 2 });
  });

  test('is refused with another body', async () => {
    const service = await testService(testContext());
    await service.call('POST', byOrganization(service), repeated);
    const other = { ...repeated, body: { ...INPUT, name: 'Other' } };
    expect(await service.call('POST', byOrganization(service), other)).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    });
  });
});

test('an organization has at most 500 exports, those of all its projects together', async () => {
  const { table } = testContext();
  let meanwhile: () => Promise<unknown> = async () => {};
  const watched = watchWrites(table, async (ops) => {
    if (!ops.some((op) => 'put' in op && op.put.sk === keys.plan('any').sk)) return;
    const act = meanwhile;
    meanwhile = async () => {};
    await act();
  });
  const context = testContext({ table: watched });
  const service = await testService(context);
  const second = await addProject(context, service.organization);
  const id = await newExport(service);
  const [like] = await listAll(context.table, ranges.exportsOf(service.organization.id));
  if (like === undefined) throw new Error('there is none');
  const others = Array.from({ length: 499 }, (_, n) => `other-${n}`).map((other) => ({
    put: {
      ...like,
      ...keys.batchExport(other),
      ...places.exportOf(service.organization.id, START, other),
      id: other,
      team_id: second.id,
    },
  }));
  await context.table.write(others, { apart: true });
  for (const path of [byOrganization(service), byProject(service)]) {
    expect(await create(service, INPUT, path)).toMatchObject({
      status: 400,
      body: { type: 'validation_error', attr: null, detail: 'An organization may have at most 500 batch exports.' },
    });
  }
  await service.call('DELETE', `${byOrganization(service)}/${id}`);
  // One is made after the other has counted.
  const made: unknown[] = [];
  meanwhile = async () => made.push((await create(service, INPUT, byProject(service))).status);
  made.push((await create(service, INPUT, byOrganization(service))).status);
  expect(made).toEqual([201, 400]);
});

test('a create is three round trips: tenancy, the bound of the lake, one transaction', async () => {
  const clock = settableClock();
  const table = countRoundTrips(testContext({ clock }).table);
  const service = await testService(testContext({ clock, table }));
  for (const path of [byOrganization(service), byProject(service)]) {
    await create(service, INPUT, path);
    table.counted();
    expect(await create(service, INPUT, path)).toMatchObject({ status: 201 });
    expect(table.counted()).toBe(3);
  }
});
