/** Exports with a query and filters of their own, made over HTTP, run by the real machines, into a folder. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importEvents } from '../../lib/lake/import.ts';
import { keys } from '../../lib/table/keys.ts';
import { type ExportWorld, exportWorld } from '../support/export-world.ts';
import { byProject } from '../support/exports.ts';
import { testService } from '../support/service.ts';

// Parsing starts threads; a loaded machine takes its time.
jest.setTimeout(60_000);

const NOW = Date.UTC(2026, 0, 7, 13, 20);
const AFTER = Date.UTC(2026, 0, 7, 14, 10);

const worlds: ExportWorld[] = [];
afterEach(() => Promise.all(worlds.splice(0).map((world) => world.close())));

async function started() {
  const world = await exportWorld({ now: NOW });
  worlds.push(world);
  const process = world.boot();
  const service = await testService(process.context);
  /** An hourly export with these fields, after which the events arrive. */
  const exported = async (fields: object, events: readonly object[]): Promise<string> => {
    const config = { path: world.target };
    const body = { name: 'x', interval: 'hour', destination: { type: 'Folder', config }, ...fields };
    const reply = await service.call('POST', byProject(service), { body });
    expect(reply).toMatchObject({ status: 201 });
    const file = join(world.home, 'events.jsonl');
    const timestamp = new Date(NOW).toISOString();
    writeFileSync(file, events.map((event) => JSON.stringify({ distinct_id: 'd', timestamp, ...event })).join('\n'));
    const rejectedFolder = join(world.home, 'rejected');
    await importEvents(world.context, { projectId: service.project.id, files: [file], rejectedFolder });
    return String(reply.body?.['id']);
  };
  const lines = (): Record<string, unknown>[] =>
    readdirSync(world.target).flatMap((name) =>
      readFileSync(join(world.target, name), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
  return { world, service, exported, lines, run: process.run };
}

test('a query chooses columns and events, and says what they are called', async () => {
  const { world, exported, lines, run } = await started();
  const hogql_query = `
    SELECT upper(event) AS Event, properties.price * 2 AS double, now() AS at, properties.list.1 AS first,
      splitByChar(',', properties.tags) AS tags, properties
    FROM events WHERE toFloat(properties.price) > 1`;
  const id = await exported({ hogql_query }, [
    { event: 'paid', properties: { price: 1.5, list: ['a', 'b'], tags: 'x,y' } },
    { event: 'paid', properties: { price: 1 } },
    { event: 'seen', properties: {} },
  ]);
  await run(AFTER);
  expect(lines()).toEqual([
    {
      Event: 'PAID',
      double: 3,
      at: '2026-01-07T14:00:00.000000Z',
      first: 'a',
      tags: ['x', 'y'],
      properties: { price: 1.5, list: ['a', 'b'], tags: 'x,y' },
    },
  ]);
  expect((await world.runs(id)).map((each) => [each.status, each.records_completed])).toEqual([['Completed', 1]]);
});

test('filters choose events, beside the lists of names', async () => {
  const { service, exported, lines, run } = await started();
  const filters = [
    { key: 'plan', operator: 'exact', value: ['pro', 'max'], type: 'event' },
    { key: 'seats', operator: 'gt', value: 3, type: 'event' },
    { key: "distinct_id != 'robot'", type: 'hogql' },
  ];
  const id = await exported({ filters }, [
    { event: 'both', properties: { plan: 'pro', seats: 4 } },
    { event: 'as text', properties: { plan: 'max', seats: '10' } },
    { event: 'few', properties: { plan: 'pro', seats: 3 } },
    { event: 'free', properties: { plan: 'free', seats: 9 } },
    { event: 'no seats', properties: { plan: 'pro' } },
    { event: 'robot', distinct_id: 'robot', properties: { plan: 'pro', seats: 4 } },
    { event: 'seen', properties: { plan: 'pro', seats: 4 } },
  ]);
  const path = `${byProject(service)}/${id}`;
  expect((await service.call('GET', path)).body).toMatchObject({ filters });
  const config = { exclude_events: ['seen'] };
  expect(await service.call('PATCH', path, { body: { destination: { type: 'Folder', config } } })).toMatchObject({
    status: 200,
    body: { filters },
  });
  await run(AFTER);
  expect(lines().map(({ event }) => event)).toEqual(expect.arrayContaining(['both', 'as text']));
  expect(lines()).toHaveLength(2);
});

test('a query that is stored and no longer supported fails its run with a text that says why', async () => {
  const { world, exported, run } = await started();
  const id = await exported({ hogql_query: 'SELECT event FROM events' }, [{ event: 'paid' }]);
  await world.table.write([
    { change: keys.batchExport(id), set: { hogql_query: 'SELECT forgotten(event) FROM events' } },
  ]);
  await run(AFTER);
  expect(await world.runs(id)).toMatchObject([
    {
      status: 'Failed',
      latest_error:
        "The 'hogql_query' of the batch export cannot be run: Invalid HogQL query: Unsupported function call " +
        "'forgotten(...)'. Change it.",
    },
  ]);
});
