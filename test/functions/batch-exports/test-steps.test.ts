import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Destination } from '../../../lib/exports/destinations/destination.ts';
import { folder } from '../../../lib/exports/destinations/folder.ts';
import { runStep } from '../../../lib/exports/resource/test-steps.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { Permanent } from '../../../lib/ports/errors.ts';
import { CLOUD_SETTINGS, LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import type { Turns } from '../../../lib/workers/turns.ts';
import { testContext } from '../../support/context.ts';
import { PLAIN } from '../../support/delivery.ts';
import { BUCKET, byOrganization, byProject, create, INPUT, newExport } from '../../support/exports.ts';
import { describeOnPostgres, newDatabase } from '../../support/postgres.ts';
import { testService } from '../../support/service.ts';

const RECEIVER = { type: 'HTTP', config: { url: 'http://127.0.0.1:1', token: 'phc_open' } };
const QUERY = 'SELECT event FROM events';
const FILTERS = [{ key: 'a', value: 'b', operator: 'exact', type: 'event' }];

async function world(settings = LOCAL_SETTINGS) {
  const context = testContext({ settings: { ...settings, strictAnswers: true } });
  const service = await testService(context);
  const path = join(context.folder, 'exports');
  const to = (place: string) => ({ type: 'Folder', config: { path: place } });
  return { context, service, path, to };
}

/** Who has a step run. */
const ADA = { organization: 'acme', user: 'ada' };

describe('the steps of a type', () => {
  test('are listed in their order, on both addresses, without a result', async () => {
    const { service } = await world();
    for (const place of [byOrganization(service), byProject(service)]) {
      const reply = await service.call('GET', `${place}/test/?destination=Postgres`);
      const steps = reply.body?.['steps'] as { name: string; result: unknown }[];
      expect(steps.map(({ name }) => name)).toEqual([
        'Reach the server',
        'Log in',
        'Find database and schema',
        'Write into the table',
      ]);
      expect(steps.every(({ result }) => result === null)).toBe(true);
    }
  });

  test.each(['Nope', 'folder', '__proto__', 'NoOp'])('of %s there are none: 404', async (type) => {
    const { service } = await world();
    expect(await service.call('GET', `${byProject(service)}/test/?destination=${type}`)).toMatchObject({ status: 404 });
  });

  test('are those that the deployment offers', async () => {
    const { service } = await world(CLOUD_SETTINGS);
    expect(await service.call('GET', `${byProject(service)}/test/?destination=Folder`)).toMatchObject({ status: 404 });
    expect(await service.call('GET', `${byProject(service)}/test/?destination=S3`)).toMatchObject({ status: 200 });
  });

  test('need the type: 400', async () => {
    const { service } = await world();
    expect(await service.call('GET', `${byProject(service)}/test/`)).toMatchObject({
      status: 400,
      body: { code: 'required', attr: 'destination' },
    });
  });
});

describe('a step for an export that is not made yet', () => {
  test('is run with what was sent, and nothing is stored', async () => {
    const { context, service, path, to } = await world();
    const body = { ...INPUT, destination: to(path) };
    const reply = await service.call('POST', `${byProject(service)}/run_test_step_new/`, { body });
    expect(reply).toMatchObject({ status: 200, body: { result: { status: 'Passed', message: null } } });
    expect(readdirSync(path)).toEqual([]);
    expect(await listAll(context.table, ranges.exportsOf(service.organization.id))).toEqual([]);
  });

  test('that fails is an answer, which says what is wrong', async () => {
    const { service, path, to } = await world();
    writeFileSync(path, 'a file');
    const body = { ...INPUT, destination: to(path), step: 0 };
    const reply = await service.call('POST', `${byOrganization(service)}/run_test_step_new/`, { body });
    expect(reply).toMatchObject({
      status: 200,
      body: { result: { status: 'Failed', message: expect.stringContaining(`Could not write '${path}'`) } },
    });
  });

  test('is checked like a create first', async () => {
    const { service, path, to } = await world();
    const good = { ...INPUT, destination: to(path) };
    const refused: [object, string][] = [
      [{ ...good, name: undefined }, 'name'],
      [{ ...good, interval: 'month' }, 'interval'],
      [{ ...good, destination: { type: 'Folder', config: {} } }, 'destination__non_field_errors'],
      [{ ...good, hogql_query: 'SELECT count() FROM events' }, 'hogql_query'],
      [{ ...good, hogql_query: QUERY, model: 'persons' }, 'hogql_query'],
      [{ ...good, hogql_query: QUERY, destination: RECEIVER }, 'hogql_query'],
      [{ ...good, filters: FILTERS, model: 'persons' }, 'filters'],
      [{ ...good, notify_url: 'ftp://192.0.2.1' }, 'notify_url'],
      [{ ...good, notify_secret: 'short' }, 'notify_secret'],
    ];
    for (const [body, attr] of refused) {
      const { status, body: answer } = await service.call('POST', `${byProject(service)}/run_test_step_new/`, { body });
      expect({ body, status, attr: answer?.['attr'] }).toEqual({ body, status: 400, attr });
      expect((await create(service, body)).body).toEqual(answer);
    }
  });

  test.each([-1, 2, 'first'])('is one that there is, which %j is not', async (step) => {
    const { service, path, to } = await world();
    const body = { ...INPUT, destination: to(path), step };
    expect(await service.call('POST', `${byProject(service)}/run_test_step_new/`, { body })).toMatchObject({
      status: 400,
      body: { attr: 'step' },
    });
  });
});

test('the last step says that filters of persons find nothing in captured events, where it passes', async () => {
  const { service, path, to } = await world();
  const filters = [{ key: 'email', operator: 'not_icontains', value: '@example.com', type: 'person' }];
  const result = async (step: number) => {
    const body = { ...INPUT, destination: to(path), filters, step };
    return (await service.call('POST', `${byProject(service)}/run_test_step_new/`, { body })).body?.['result'];
  };
  expect(await result(0)).toEqual({ status: 'Passed', message: null });
  expect(await result(1)).toEqual({
    status: 'Passed',
    message: expect.stringContaining('A condition on a person passes none of them'),
  });
});

test('of a type without connection checks there is nothing to test, which is said', async () => {
  const { service } = await world();
  const body = { ...INPUT, destination: { type: 'NoOp', config: {} } };
  expect(await service.call('POST', `${byProject(service)}/run_test_step_new/`, { body })).toMatchObject({
    status: 400,
    body: { attr: 'step', detail: 'NoOp has no connection checks: there is nothing to test.' },
  });
});

describe('the step about other exports', () => {
  const NAME = 'Check that no other batch export writes the same files';
  const asked = async (service: Awaited<ReturnType<typeof testService>>, body: object, id?: string) => {
    const place = byProject(service);
    const path = id === undefined ? `${place}/run_test_step_new/` : `${place}/${id}/run_test_step/`;
    const reply = await service.call('POST', path, { body: { ...body, step: 1 } });
    expect(reply).toMatchObject({ status: 200, body: { name: NAME } });
    return reply.body?.['result'] as { status: string; message: string | null };
  };

  test('names those of the project that write the same files, and the export can be made all the same', async () => {
    const { service, path, to } = await world();
    const id = await newExport(service, { name: 'First', destination: to(path) });
    const body = { ...INPUT, model: 'persons', destination: to(path) };
    const warned = {
      status: 'Failed',
      message:
        `Other batch exports write files of the same names: 'First' (${id}). None replaces what another has written, so ` +
        'of each interval one is delivered and the run of every other one fails. Give each a prefix of its own, for ' +
        'example with {table} in it.',
    };
    expect(await asked(service, body)).toEqual(warned);
    const second = await newExport(service, body);
    expect(await asked(service, {}, second)).toEqual(warned);
    expect(await asked(service, { destination: { type: 'Folder', config: { prefix: '{table}' } } }, second)).toEqual({
      status: 'Passed',
      message: null,
    });
  });

  test.each([
    ['another folder', { path: '/elsewhere' }, {}],
    ['another prefix', { prefix: '{table}' }, {}],
    ['another format', { file_format: 'Parquet' }, {}],
    ['another compression', { compression: 'gzip' }, {}],
    ['several files', { max_file_size_mb: 1 }, {}],
    ['another frequency', {}, { interval: 'day' }],
  ])('passes with %s', async (_what, config, fields) => {
    const { service, path } = await world();
    await newExport(service, { destination: { type: 'Folder', config: { path } } });
    const body = { ...INPUT, ...fields, destination: { type: 'Folder', config: { path, ...config } } };
    expect(await asked(service, body)).toEqual({ status: 'Passed', message: null });
  });

  test.each([
    ['a roundabout path', { prefix: '//a/' }, { suffix: '/./a/' }],
    ['the same manifest in another format', { max_file_size_mb: 1 }, { max_file_size_mb: 2, compression: 'gzip' }],
  ])('knows the same place by %s', async (_what, first, { suffix = '', ...second }: Record<string, unknown>) => {
    const { service, path } = await world();
    await newExport(service, { destination: { type: 'Folder', config: { path, ...first } } });
    const config = { path: `${path}${suffix as string}`, ...second };
    const body = { ...INPUT, destination: { type: 'Folder', config } };
    expect(await asked(service, body)).toMatchObject({ status: 'Failed' });
  });

  test('says nothing of exports that were deleted', async () => {
    const { service, to, path } = await world();
    const id = await newExport(service, { destination: to(path) });
    await service.call('DELETE', `${byProject(service)}/${id}/`);
    expect(await asked(service, { ...INPUT, destination: to(path) })).toEqual({ status: 'Passed', message: null });
  });

  test('says nothing of other projects', async () => {
    const { service, path, to } = await world();
    const { body } = await service.call('POST', `/api/organizations/${service.organization.id}/projects/`, {
      body: { name: 'Second' },
    });
    const other = await service.call('POST', `/api/projects/${String(body?.['id'])}/batch_exports/`, {
      body: { ...INPUT, destination: to(path) },
    });
    expect(other.status).toBe(201);
    expect(await asked(service, { ...INPUT, destination: to(path) })).toEqual({ status: 'Passed', message: null });
  });

  test.each([
    [{}, 'Failed'],
    [{ bucket_name: 'another' }, 'Passed'],
    [{ endpoint_url: 'http://127.0.0.1:2' }, 'Passed'],
    [{ prefix: 'another' }, 'Passed'],
    [{ prefix: `/${BUCKET.config.prefix}//` }, 'Failed'],
  ])('compares buckets: with %j it has %s', async (config, status) => {
    const { service } = await world();
    await newExport(service, { destination: BUCKET });
    const body = { ...INPUT, destination: { ...BUCKET, config: { ...BUCKET.config, ...config } }, step: 2 };
    const reply = await service.call('POST', `${byProject(service)}/run_test_step_new/`, { body });
    expect(reply.body).toMatchObject({ name: NAME, result: { status } });
  });
});

describe('a step for an export', () => {
  test('is run as it is stored, or as it would be after a PATCH, which is not made', async () => {
    const { service, path, to } = await world();
    mkdirSync(path);
    const id = await newExport(service, { destination: to(path) });
    const send = (body: object) => service.call('POST', `${byProject(service)}/${id}/run_test_step/`, { body });
    expect((await send({})).body).toMatchObject({ result: { status: 'Passed' } });
    const file = join(path, 'file');
    writeFileSync(file, '');
    expect((await send({ destination: to(file) })).body).toMatchObject({ result: { status: 'Failed' } });
    expect((await service.call('GET', `${byProject(service)}/${id}`)).body).toMatchObject({
      destination: { config: { path } },
    });
    expect(await send({ destination: { type: 'S3', config: {} } })).toMatchObject({ status: 400 });
  });

  test('is checked like the PATCH first', async () => {
    const { service, path, to } = await world();
    const folder = await newExport(service, { destination: to(path) });
    const receiver = await newExport(service, { destination: RECEIVER });
    const persons = await newExport(service, { destination: to(path), model: 'persons' });
    const chosen = await newExport(service, { destination: to(path), hogql_query: QUERY });
    const refused: [string, object, string][] = [
      [folder, { hogql_query: 'SELECT count() FROM events' }, 'hogql_query'],
      [folder, { filters: [{ key: 'a' }] }, 'filters'],
      [folder, { hogql_query: QUERY, model: 'persons' }, 'hogql_query'],
      [persons, { hogql_query: QUERY }, 'hogql_query'],
      [persons, { filters: FILTERS }, 'filters'],
      [receiver, { hogql_query: QUERY }, 'hogql_query'],
      [chosen, { model: 'persons' }, 'hogql_query'],
      [folder, { interval: 'month' }, 'interval'],
      [folder, { notify_url: 'ftp://192.0.2.1' }, 'notify_url'],
      [folder, { notify_secret: 'short' }, 'notify_secret'],
    ];
    for (const [id, body, attr] of refused) {
      const one = `${byProject(service)}/${id}`;
      const { status, body: answer } = await service.call('POST', `${one}/run_test_step/`, { body });
      expect({ body, status, attr: answer?.['attr'] }).toEqual({ body, status: 400, attr });
      expect((await service.call('PATCH', one, { body })).body).toEqual(answer);
    }
  });

  test('with secrets uses the stored ones, which no answer shows, and never sends them to another address', async () => {
    const { service } = await world();
    const destination = { ...BUCKET, config: { ...BUCKET.config, endpoint_url: 'http://127.0.0.1:1' } };
    const id = await newExport(service, { destination });
    const send = (body: object) => service.call('POST', `${byProject(service)}/${id}/run_test_step/`, { body });
    const reply = await send({});
    expect(reply).toMatchObject({ status: 200, body: { result: { status: 'Failed' } } });
    expect(reply.text).not.toContain(BUCKET.config.aws_secret_access_key);
    const elsewhere = { type: 'S3', config: { endpoint_url: 'http://127.0.0.1:2' } };
    expect(await send({ destination: elsewhere })).toMatchObject({ status: 400 });
  });
});

describe('where folders have roots', () => {
  test('an organization reaches what is below its own folder of a root, and nothing of another', async () => {
    const context = testContext();
    const root = join(context.folder, 'roots');
    const settings = { ...LOCAL_SETTINGS, strictAnswers: true, folderRoots: [root] };
    const service = await testService({ ...context, settings });
    const to = (path: string) => ({ ...INPUT, destination: { type: 'Folder', config: { path } } });
    const own = join(root, service.organization.id);
    for (const path of [root, join(root, 'somebody-else'), `${own}2`, join(own, '..', 'else'), '/srv/exports']) {
      const body = to(path);
      for (const place of ['/', '/run_test_step_new/']) {
        expect(await service.call('POST', `${byProject(service)}${place}`, { body })).toMatchObject({
          status: 400,
          body: { attr: 'destination', detail: `path must lie below one of: ${own}.` },
        });
      }
    }
    const body = to(join(own, 'events'));
    const steps = await service.call('POST', `${byProject(service)}/run_test_step_new/`, { body });
    expect(steps.body).toMatchObject({ result: { status: 'Passed' } });
    expect(readdirSync(root)).toEqual([service.organization.id]);
    const id = (await service.call('POST', `${byProject(service)}/`, { body })).body?.['id'] as string;
    const elsewhere = { destination: { type: 'Folder', config: { path: root } } };
    const patched = await service.call('PATCH', `${byProject(service)}/${id}/`, { body: elsewhere });
    expect(patched).toMatchObject({ status: 400 });
    // A link that somebody put into the way leads nowhere else.
    symlinkSync(context.folder, join(own, 'link'));
    const linked = to(join(own, 'link', 'elsewhere'));
    const refused = await service.call('POST', `${byProject(service)}/run_test_step_new/`, { body: linked });
    expect(refused.body).toMatchObject({ result: { status: 'Failed', message: expect.stringContaining('outside') } });
  });
});

describeOnPostgres('a step into a database', () => {
  test('looks for the columns of the export’s query or model, whether the export is made yet or not', async () => {
    const database = await newDatabase();
    await database.sql('CREATE TABLE events (uuid text)');
    const { service } = await world();
    const body = {
      ...INPUT,
      hogql_query: 'SELECT uuid FROM events',
      destination: { type: 'Postgres', config: database.config },
    };
    const result = async (path: string, sent: object): Promise<unknown> =>
      (await service.call('POST', `${byProject(service)}/${path}/`, { body: { ...sent, step: 3 } })).body?.['result'];
    const lacks = (name: string) => ({
      status: 'Failed',
      message: expect.stringContaining(`lacks the column "${name}"`),
    });
    expect(await result('run_test_step_new', body)).toEqual({ status: 'Passed', message: null });
    const wider = { hogql_query: 'SELECT uuid, event AS what FROM events' };
    expect(await result('run_test_step_new', { ...body, ...wider })).toEqual(lacks('what'));
    const id = await newExport(service, body);
    expect(await result(`${id}/run_test_step`, {})).toEqual({ status: 'Passed', message: null });
    expect(await result(`${id}/run_test_step`, wider)).toEqual(lacks('what'));
    const persons = { hogql_query: null, model: 'persons' };
    expect(await result(`${id}/run_test_step`, persons)).toMatchObject({
      message: expect.stringContaining('"person_distinct_id_version"'),
    });
    await database.close();
  });
});

describe('a step', () => {
  const stepThat = (run: Destination['steps'][number]['run'], skipped?: () => string | undefined): Destination => ({
    ...(folder as unknown as Destination),
    steps: [{ name: 'Step', description: 'A step.', run, ...(skipped === undefined ? {} : { skipped }) }],
  });
  const resultOf = async (destination: Destination) =>
    (await runStep(testContext(), { planned: PLAIN, destination, config: {}, reach: LOCAL_SETTINGS }, ADA, 0, 20))
      .result;

  test('that has no answer in time has failed, and is told to stop', async () => {
    let signal: AbortSignal | undefined;
    const never = stepThat((_config, _outbound, _reach, given) => {
      signal = given;
      return new Promise(() => {});
    });
    expect(await resultOf(never)).toMatchObject({ status: 'Failed', message: expect.stringContaining('no answer') });
    expect(signal?.aborted).toBe(true);
  });

  test('takes a turn of its organization, whoever of that has it run, and one of them', async () => {
    const owners: string[] = [];
    const testTurns: Pick<Turns, 'run'> = {
      run: (owner, work) => {
        owners.push(owner);
        return work();
      },
    };
    const context = testContext({ testTurns });
    const service = await testService(context);
    const other = await service.newUser(LEVELS.admin);
    const key = await service.newKey(other);
    const body = { ...INPUT, destination: { type: 'Folder', config: { path: context.folder } } };
    const id = await newExport(service, body);
    await service.call('POST', `${byProject(service)}/run_test_step_new/`, { body });
    await service.call('POST', `${byProject(service)}/${id}/run_test_step/`, { key, body: {} });
    const { id: organization } = service.organization;
    expect(owners).toEqual([organization, service.owner.uuid, organization, other.uuid]);
  });

  test('is refused to a user who has four that have not ended, in however many organizations; others have theirs', async () => {
    const { promise: answer, resolve } = Promise.withResolvers<undefined>();
    const destination = stepThat(() => answer);
    const context = testContext();
    const runOf = (organization: string, user: string) =>
      runStep(context, { planned: PLAIN, destination, config: {}, reach: LOCAL_SETTINGS }, { organization, user });
    const four = ['one', 'two', 'three', 'four'].map((organization) => runOf(organization, 'ada'));
    await expect(runOf('five', 'ada')).rejects.toMatchObject({ kind: 'throttled' });
    const all = [...four, ...['bob', 'eve', 'kim', 'joe'].map((user) => runOf('five', user))];
    resolve(undefined);
    const passed = { result: { status: 'Passed' } };
    expect(await Promise.all(all)).toMatchObject(Array.from({ length: 8 }, () => passed));
    expect(await runOf('five', 'ada')).toMatchObject(passed);
  });

  test('is refused to an organization that has four that have not ended: 429; others have theirs', async () => {
    const { promise: answer, resolve } = Promise.withResolvers<undefined>();
    const destination = stepThat(() => answer);
    const context = testContext();
    const runOf = (organization: string, user: string) =>
      runStep(context, { planned: PLAIN, destination, config: {}, reach: LOCAL_SETTINGS }, { organization, user });
    const four = ['ada', 'bob', 'eve', 'kim'].map((user) => runOf('many', user));
    await expect(runOf('many', 'joe')).rejects.toMatchObject({ kind: 'throttled' });
    const all = [...four, runOf('few', 'joe')];
    resolve(undefined);
    const passed = { result: { status: 'Passed' } };
    expect(await Promise.all(all)).toMatchObject([passed, passed, passed, passed, passed]);
    expect(await runOf('many', 'joe')).toMatchObject(passed);
  });

  test('that breaks in an unknown way says no more than the name of the error', async () => {
    const broken = stepThat(() => Promise.reject(new TypeError('password sesame')));
    expect(await resultOf(broken)).toEqual({
      status: 'Failed',
      message: 'The test step failed with an unknown error: TypeError',
    });
  });

  test('that fails as a delivery would says the same', async () => {
    const failing = stepThat(() => Promise.reject(new Permanent('No such bucket. Make it.')));
    expect(await resultOf(failing)).toEqual({ status: 'Failed', message: 'No such bucket. Make it.' });
  });

  test('that has something to tell passes with it', async () => {
    expect(await resultOf(stepThat(async () => 'Mind the gap.'))).toEqual({
      status: 'Passed',
      message: 'Mind the gap.',
    });
  });

  test('that has nothing to check is skipped, with the reason', async () => {
    const skipping = stepThat(
      () => Promise.reject(new Error('not run')),
      () => 'There is no password.',
    );
    expect(await resultOf(skipping)).toEqual({ status: 'Skipped', message: 'There is no password.' });
  });
});
