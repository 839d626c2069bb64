/** Whoever changes something leaves one entry in the log of the organization, whatever row it is. */
import type { ActivityItem } from '../../lib/accounts/activity/model.ts';
import { routes } from '../../lib/api/routes.ts';
import { DAY_MS } from '../../lib/basics/units.ts';
import type { Route } from '../../lib/http/route.ts';
import { keys } from '../../lib/ports/table/keys.ts';
import { type Op } from '../../lib/ports/table/table.ts';
import { testContext } from '../support/context.ts';
import { type CallOptions, testService } from '../support/service.ts';
import { tableWithContents } from '../support/table-contents.ts';
import { watchWrites } from '../support/table-override.ts';
import { type Example, fixtures } from './fixtures.ts';

/** Rows that need the right to write, and write nothing: they try a destination. */
const TRIALS = ['batch-exports/run-test-step', 'batch-exports/run-test-step-new'];

/** Of a file that is created, which is in the log. */
const PARTS = ['imports/upload'];

const isWrite = ({ method, status, scope, handler }: Route): boolean =>
  method !== 'GET' &&
  status !== 405 &&
  scope.endsWith(':write') &&
  !TRIALS.includes(handler) &&
  !PARTS.includes(handler);

const writes = routes.filter(isWrite);
const others = routes.filter((row) => !isWrite(row) && row.scope !== 'public');

async function newWorld() {
  const { table, clock, everything } = tableWithContents();
  const written: Op[] = [];
  const watched = watchWrites(table, (ops) => {
    written.push(...ops);
  });
  const context = testContext({ table: watched, clock });
  const service = await testService(context);
  const prefix = keys.activity('', 0, '').pk;
  const log = () => everything().filter(({ pk }) => pk.startsWith(prefix)) as ActivityItem[];
  return { context, service, log, written };
}

type World = Awaited<ReturnType<typeof newWorld>>;

let world: World;
let reader: string;
let stranger: string;
beforeAll(async () => {
  world = await newWorld();
  const { service } = world;
  reader = await service.newKey(service.owner, { label: 'Everything', scopes: ['dashboard:read'] });
  stranger = await service.newKey(await service.newUser());
});

/** Sends the row's valid request, or what is left of it, on its last path. */
async function send(row: Route, { params, query = '', body }: Example, change: CallOptions = {}) {
  const path = row.paths.at(-1)?.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '');
  const sent = row.method === 'GET' || body === undefined ? {} : { body };
  return world.service.call(row.method, `${path}/${query}`, { ...sent, ...change });
}

async function exampleOf({ handler }: Route): Promise<Example> {
  const fixture = fixtures[handler];
  if (fixture === undefined) throw new Error(`${handler} has no fixture: add it to test/contract/fixtures.ts`);
  return fixture(world);
}

describe.each(writes)('$handler', (row) => {
  test('leaves one entry with its request id, the caller and the mask of the key', async () => {
    const example = await exampleOf(row);
    const before = world.log();
    const reply = await send(row, example);
    expect(reply.status).toBe(row.status);
    const added = world.log().filter(({ id }) => !before.some((entry) => entry.id === id));
    const entry = {
      request_id: reply.headers.get('x-request-id'),
      user_uuid: world.service.owner.uuid,
      key_mask: `phx_...${world.service.key.slice(-4)}`,
      created_at: world.context.clock(),
      ttl: world.context.clock() / 1000 + (400 * DAY_MS) / 1000,
    };
    // A key is in the log of each organization that it opens, once.
    const isKey = row.handler.startsWith('personal-api-keys/');
    const logs = new Set(added.map(({ organization_id }) => organization_id));
    expect(added).toMatchObject(isKey ? Array.from(logs, () => entry) : [entry]);
    expect(logs).toContain(isKey ? world.service.organization.id : added[0]?.organization_id);
    const [{ activity, changes } = { activity: '', changes: '[]' }] = added;
    expect({ activity, changes }).not.toEqual({ activity: 'updated', changes: '[]' });
  });

  test('leaves none when it is refused', async () => {
    const example = await exampleOf(row);
    const before = world.log();
    const refusals: CallOptions[] = [
      { key: null },
      { key: reader },
      ...(row.paths[0].includes('{') ? [{ key: stranger }] : []),
      ...(row.body === undefined ? [] : [{ body: '{' }]),
      ...(row.method === 'PATCH' ? [{ headers: { 'If-Match': '"999"' } }] : []),
    ];
    for (const refusal of refusals) {
      expect((await send(row, example, refusal)).status).toBeGreaterThanOrEqual(400);
    }
    expect(world.log()).toEqual(before);
  });

  if (row.idempotent === true) {
    test('leaves no second one when it is repeated with its Idempotency-Key', async () => {
      const example = await exampleOf(row);
      const before = new Set(world.log().map(({ request_id }) => request_id));
      const options = { headers: { 'Idempotency-Key': 'once' } };
      const replies = await Promise.all([send(row, example, options), send(row, example, options)]);
      expect(replies.map(({ status }) => status)).toEqual([row.status, row.status]);
      const after = new Set(world.log().map(({ request_id }) => request_id));
      expect(after.size).toBe(before.size + 1);
    });
  }
});

test.each(others)('$handler $method writes nothing at all, so it has nothing to tell', async (row) => {
  const example = await exampleOf(row);
  await send(row, example);
  world.written.length = 0;
  expect((await send(row, example)).status).toBe(row.status);
  expect(world.written).toEqual([]);
});

test('there are rows of both kinds', () => {
  expect(writes.length).toBeGreaterThan(25);
  expect(others.length).toBeGreaterThan(15);
});
