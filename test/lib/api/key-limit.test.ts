import { keyLimit } from '../../../lib/api/key-limit.ts';
import { MINUTE_MS } from '../../../lib/basics/units.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { dynamodbTable } from '../../../lib/ports/table/dynamodb.ts';
import { ranges } from '../../../lib/ports/table/keys.ts';
import { Busy, type Table } from '../../../lib/ports/table/table.ts';
import { START, settableClock, testContext } from '../../support/context.ts';
import { createTable, describeOnDynamodb, dynamodbClient } from '../../support/dynamodb-local.ts';
import { testService } from '../../support/service.ts';
import { tableWith, watchWrites } from '../../support/table-override.ts';

const settings = { ...LOCAL_SETTINGS, strictAnswers: true, requestsPerKey: 30 };

test('a key that calls more often in a minute is answered 429 until the minute is over; another key is not', async () => {
  const context = testContext({ settings });
  const service = await testService(context);
  const other = await service.newKey(service.owner, { scopes: ['*'] });
  context.clock.set(START + 20_000);
  const call = (key?: string) => service.call('GET', '/api/users/@me/', key === undefined ? {} : { key });
  for (let n = 0; n < 30; n++) expect((await call()).status).toBe(200);
  const refused = await call();
  expect([refused.status, refused.headers.get('retry-after'), refused.body]).toEqual([
    429,
    '40',
    {
      type: 'throttled_error',
      code: 'throttled',
      detail: 'Request was throttled. Expected available in 40 seconds.',
      attr: null,
    },
  ]);
  expect((await call(other)).status).toBe(200);
  // Who may not do something is told so first.
  expect((await service.call('GET', '/api/projects/999/')).status).toBe(404);
  context.clock.set(START + MINUTE_MS);
  expect((await call()).status).toBe(200);
  await service.close();
});

test('what is refused for its method counts too', async () => {
  const context = testContext({ settings });
  const service = await testService(context);
  const statuses: number[] = [];
  for (let n = 0; n < 31; n++) statuses.push((await service.call('PUT', '/api/users/@me/')).status);
  expect([statuses.indexOf(429), statuses.at(-1)]).toEqual([30, 429]);
  await service.close();
});

function promises(open: () => Promise<{ table?: Table }>) {
  test('processes count together, and write once for ten requests', async () => {
    const context = testContext({ settings, clock: settableClock(), ...(await open()) });
    let writes = 0;
    const table = watchWrites(context.table, () => void (writes += 1));
    const [one, two] = [keyLimit({ ...context, table }), keyLimit({ ...context, table })];
    for (let n = 0; n < 15; n++) await Promise.all([one('k'), two('k')]);
    expect(writes).toBe(2);
    const refused: unknown[] = [];
    for (let n = 0; n < 20; n++) {
      await one('k').catch((error: unknown) => refused.push(error));
      await two('k').catch((error: unknown) => refused.push(error));
    }
    expect(refused.length).toBeGreaterThanOrEqual(20);
    // Who is over the limit tells no more of it.
    expect(writes).toBeLessThanOrEqual(6);
    await one('other');
  });
}

describe('over SQLite', () => {
  promises(async () => ({}));
});

describeOnDynamodb('over DynamoDB', () => {
  promises(async () => {
    const client = await dynamodbClient();
    return { table: dynamodbTable({ client, tableName: await createTable(client), clock: settableClock() }) };
  });
});

test('a count that cannot be told keeps nobody from being answered', async () => {
  const context = testContext({ settings });
  const table = tableWith(context.table, { write: () => Promise.reject(new Busy('the table is busy')) });
  const count = keyLimit({ ...context, table });
  for (let n = 0; n < 100; n++) await count('k');
  expect(context.lines.filter(({ level }) => level === 'WARNING')).toHaveLength(10);
});

test('without a limit nothing is counted', async () => {
  const context = testContext({ settings: LOCAL_SETTINGS });
  const count = keyLimit(context);
  for (let n = 0; n < 1_000; n++) await count('k');
  expect((await context.table.list(ranges.allUsers(), { limit: 1 })).items).toEqual([]);
});
