import { DAY_MS, HOUR_MS } from '../../../lib/basics/units.ts';
import { type LogLine, writeLines } from '../../../lib/exports/records/logs.ts';
import type { RunItem } from '../../../lib/exports/records/runs/model.ts';
import { START, settableClock, testContext } from '../../support/context.ts';
import { byOrganization, byProject, newExport, putRun } from '../../support/exports.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type Service, testService } from '../../support/service.ts';

interface Lines {
  readonly count: number;
  readonly next: string | null;
  readonly results: readonly { readonly message: string }[];
}

async function world() {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const write = (
    message: string,
    { at = START, level = 'INFO', instance = id }: Partial<Omit<LogLine, 'message'>> = {},
  ) => writeLines(context, id, 'execution', `${at} ${message}`, [{ at, level, message, instance }]);
  const logs = async (query = '', path = `${byOrganization(service)}/${id}/logs`) => {
    const { status, body } = await service.call('GET', `${path}${query}`);
    expect({ status, body }).toMatchObject({ status: 200 });
    return body as unknown as Lines;
  };
  const messages = async (query: string) => (await logs(query)).results.map(({ message }) => message);
  return { context, service, id, write, logs, messages };
}

test('a line has the five fields that clients know, on both addresses', async () => {
  const { service, id, write, logs } = await world();
  const run = '019b0000-0000-7000-8000-000000000001';
  await write('Batch export finished 🐍', { at: START + 5, level: 'WARNING', instance: run });
  const answer = {
    count: 1,
    next: null,
    previous: null,
    results: [
      {
        log_source_id: id,
        instance_id: run,
        timestamp: '2026-01-01T00:00:00.005000Z',
        level: 'WARNING',
        message: 'Batch export finished 🐍',
      },
    ],
  };
  expect(await logs('?before=2026-01-02T00:00:00Z')).toStrictEqual(answer);
  expect(await logs('?before=2026-01-02T00:00:00Z', `${byProject(service)}/${id}/logs/`)).toStrictEqual(answer);
});

test('lines come newest first, fifty a page, with the true count', async () => {
  const { context, service, write, logs, messages } = await world();
  for (let n = 0; n < 60; n += 1) await write(`line ${n}`, { at: START + n * 60_000 });
  context.clock.advance(DAY_MS);
  const first = await logs();
  expect(first.count).toBe(60);
  expect(first.results.map(({ message }) => message)).toEqual(Array.from({ length: 50 }, (_, n) => `line ${59 - n}`));
  const rest = await service.call('GET', String(first.next).slice(service.address.length));
  expect(rest.body).toMatchObject({ count: 60, next: null });
  expect(rest.body?.['results']).toHaveLength(10);
  expect(await messages('?limit=2&offset=1')).toEqual(['line 58', 'line 57']);
  expect(await messages('?limit=500')).toHaveLength(60);
});

test('lines of a run are found by any spelling of its id', async () => {
  const { write, messages } = await world();
  const run = '019b0000-0000-7000-8000-00000000000a';
  await write('One started', { instance: run });
  for (const spelling of [run, run.toUpperCase(), run.replaceAll('-', '')])
    expect(await messages(`?instance_id=${spelling}`)).toEqual(['One started']);
});

test('lines are chosen by time, level, text and run', async () => {
  const { context, write, messages } = await world();
  await write('One started', { at: START + 1_000, level: 'DEBUG', instance: 'a' });
  await write('Two failed: 100% of 3_files', { at: START + 2_000, level: 'ERROR', instance: 'a' });
  await write('Three FAILED (.*)', { at: START + 3_000, level: 'WARNING', instance: 'b' });
  context.clock.advance(HOUR_MS);
  const [one, two, three] = ['One started', 'Two failed: 100% of 3_files', 'Three FAILED (.*)'];
  for (const [query, found] of [
    ['', [three, two, one]],
    ['?after=2026-01-01T00:00:01Z', [three, two]],
    ['?before=2026-01-01T00:00:03Z&after=2026-01-01T00:00:01Z', [two]],
    ['?after=2026-01-02&before=2025-01-01', []],
    ['?after=0001-01-01T00:00:00Z&before=9999-12-31T23:59:59Z', [three, two, one]],
    ['?level=error', [two]],
    ['?level=Warning&level=DEBUG', [three, one]],
    ['?search=failed', [three, two]],
    ['?search=(.*', [three]],
    ['?search=%25failed%25files', [two]],
    ['?search=f_iled', [three, two]],
    ['?search=', [three, two, one]],
    ['?search=fail%25two', []],
    ['?instance_id=a', [two, one]],
    ['?instance_id=constructor', []],
    ['?instance_id=a&level=DEBUG&search=one', [one]],
  ] as const) {
    expect([query, await messages(query)]).toEqual([query, found]);
  }
});

test.each([
  ['limit=0', 'limit', 'Ensure this value is greater than or equal to 1.'],
  ['limit=501', 'limit', 'Ensure this value is less than or equal to 500.'],
  ['limit=x', 'limit', 'A valid integer is required.'],
  ['limit=', 'limit', 'A valid integer is required.'],
  ['offset=-1', 'offset', 'Ensure this value is greater than or equal to 0.'],
  ['after=yesterday', 'after', expect.stringMatching(/^Datetime has wrong format/)],
  ['before=5', 'before', expect.stringMatching(/^Datetime has wrong format/)],
  ['level=LOUD', 'level__0', '"LOUD" is not a valid choice. Choose one of: DEBUG, INFO, WARNING, ERROR.'],
  [`search=${'x'.repeat(201)}`, 'search', 'Ensure this field has no more than 200 characters.'],
])('%s is refused', async (query, attr, detail) => {
  const { service, id } = await world();
  for (const path of [byOrganization(service), byProject(service)]) {
    expect(await service.call('GET', `${path}/${id}/logs?${query}`)).toMatchObject({
      status: 400,
      body: { type: 'validation_error', attr, detail },
    });
  }
});

test("a run's logs are its own lines", async () => {
  const { context, service, id, write, logs } = await world();
  const [mine, other] = [await putRun(context, id), await putRun(context, id)];
  await write('mine', { instance: mine.id });
  await write('other', { instance: other.id });
  await write('export');
  context.clock.advance(1);
  const path = `${byProject(service)}/${id}/runs/${mine.id}/logs`;
  expect(await logs('?level=info', path)).toMatchObject({
    count: 1,
    results: [{ message: 'mine', instance_id: mine.id }],
  });
  expect(await logs(`?instance_id=${other.id}`, path)).toMatchObject({ count: 1, results: [{ message: 'mine' }] });
  expect(await service.call('GET', `${path}?limit=0`)).toMatchObject({ status: 400 });
});

describe("a run's logs", () => {
  async function aRun(fields: Partial<RunItem>) {
    const { context, service, id, write, logs } = await world();
    context.clock.set(START + 10 * DAY_MS);
    const run = await putRun(context, id, fields);
    for (let n = 0; n < 400; n += 1) await write('of another', { at: START + n * HOUR_MS });
    const path = `${byProject(service)}/${id}/runs/${run.id}/logs`;
    const say = (message: string, at: number) => write(message, { at, instance: run.id });
    const said = async () => (await logs('', path)).results.map(({ message }) => message);
    return { context, run, say, said };
  }

  test.each(['Completed', 'Failed', 'Running'] as const)(
    'of one that is %s are read without those of weeks before and after it',
    async (status) => {
      const made = START + 10 * DAY_MS;
      const { context, say, said } = await aRun({ status, finished_at: status === 'Running' ? null : made });
      await say('mine', made);
      const end = status === 'Running' ? made + DAY_MS : START + 20 * DAY_MS;
      context.clock.set(end);
      let read = 0;
      const list = context.table.list.bind(context.table);
      context.table.list = async (range, page) => {
        const found = await list(range, page);
        if (range.partition.startsWith('L#')) read += found.items.length;
        return found;
      };
      expect(await said()).toEqual(['mine']);
      expect(read).toBeLessThan(60);
    },
  );

  test('hold what is said of it while it is under way, and of its failure for a day', async () => {
    const made = START + 10 * DAY_MS;
    const { context, run, say, said } = await aRun({ status: 'Running', finished_at: null });
    await say('begun', made);
    await say('goes on', made + 2 * DAY_MS);
    context.clock.set(made + 3 * DAY_MS);
    expect(await said()).toEqual(['goes on', 'begun']);
    const ended = { status: 'Failed', finished_at: made + 3 * DAY_MS, last_updated_at: made + 3 * DAY_MS };
    await context.table.write([{ change: { pk: run.pk, sk: run.sk }, set: ended }]);
    await say('could not be told', made + 4 * DAY_MS + HOUR_MS);
    context.clock.set(START + 20 * DAY_MS);
    expect(await said()).toEqual(['could not be told', 'goes on', 'begun']);
  });
});

test('lines older than the deployment keeps are gone', async () => {
  const { context, write, messages } = await world();
  await write('old');
  context.clock.advance(context.settings.logDays * DAY_MS - 1);
  await write('new', { at: context.clock() - 1 });
  expect(await messages('')).toEqual(['new', 'old']);
  context.clock.advance(1_000);
  expect(await messages('?after=2025-01-01')).toEqual(['new']);
});

test('logs are one round trip', async () => {
  const clock = settableClock();
  const table = countRoundTrips(testContext({ clock }).table);
  const service: Service = await testService(testContext({ clock, table }));
  const path = `${byProject(service)}/${await newExport(service)}/logs`;
  await service.call('GET', path);
  table.counted();
  await service.call('GET', path);
  expect(table.counted()).toBe(1);
});
