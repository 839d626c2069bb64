import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../../lib/basics/units.ts';
import { answerOfCopies } from '../../../../lib/insights/answering/copied-world.ts';
import type { QueryOrder } from '../../../../lib/insights/answering/query-orders.ts';
import { INSIGHT_TABLES } from '../../../../lib/insights/answering/tables.ts';
import { worldDatabase } from '../../../../lib/insights/answering/world.ts';
import { forgetAnswers } from '../../../../lib/lake/forget-answers.ts';
import { Transient } from '../../../../lib/ports/errors.ts';
import { folderFiles } from '../../../../lib/ports/files/folder.ts';
import { QueryFailed } from '../../../../lib/ports/queries/athena.ts';
import { keys } from '../../../../lib/ports/table/keys.ts';
import { START } from '../../../support/context.ts';
import { importRecords } from '../../../support/imports.ts';
import { onEnd } from '../../../support/on-end.ts';
import { seeded, testService } from '../../../support/service.ts';
import { askedOf, REFUSED, stageContext } from '../../../support/stage-answers.ts';
import { trinoGrammar } from '../../../support/trino-grammar.ts';

const DAYS = 3;

/** Four events of three persons on each of the days before the clock's: each day lies in a file of its own. */
async function stage(options: Parameters<typeof stageContext>[0] = {}) {
  const made = await stageContext(options);
  const { context } = made;
  const service = await testService(context);
  const project = service.project.id;
  await importRecords(
    context,
    project,
    Array.from({ length: DAYS }, (_day, at) => DAYS - at).flatMap((day) =>
      Array.from({ length: 4 }, (_, n) => ({
        uuid: `01940000-0000-7000-8000-0000000000${day}${n}`,
        event: n === 3 ? 'paid' : 'seen',
        distinct_id: `user-${n % 3}`,
        timestamp: new Date(START - day * DAY_MS + n * MINUTE_MS).toISOString(),
        properties: { n, $set: { plan: 'free' } },
      })),
    ),
  );
  const path = `/api/projects/${project}/query/`;
  const hogql = (query: string, rest: object = {}) =>
    service.call('POST', path, { body: { query: { kind: 'HogQLQuery', query }, ...rest } });
  const trends = (from: string, rest: object = {}) =>
    service.call('POST', path, {
      body: {
        query: { kind: 'TrendsQuery', series: [{ event: null, math: 'dau' }], dateRange: { date_from: from } },
        ...rest,
      },
    });
  made.fetched.length = 0;
  return { ...made, service, project, path, hogql, trends };
}

const ASK_AGAIN = 'The answer is not kept any more. Ask the query again.';
const COUNT = 'SELECT count() AS n FROM events';

test('a query is answered over copies of the files that its range touches, which are kept for the next', async () => {
  const { trends, hogql, fetched, folder } = await stage();
  const { status, body } = await trends('-1d');
  expect(status).toBe(200);
  expect(body).toMatchObject({ results: [{ data: [3, 0] }], is_cached: false });
  const [events, persons] = ['events/', 'persons/'].map((kind) => fetched.filter((path) => path.startsWith(kind)));
  expect(events).toHaveLength(1);
  expect(persons?.length).toBeGreaterThan(0);
  expect(readdirSync(folder).toSorted()).toEqual(['events', 'persons']);
  expect((await hogql(COUNT)).body).toMatchObject({ results: [[4 * DAYS]] });
  expect(fetched.filter((path) => path.startsWith('events/'))).toHaveLength(DAYS);
  expect(new Set(fetched).size).toBe(fetched.length);
});

test('what is asked again is from the table, whichever function is asked, until an event comes', async () => {
  const { context, project, hogql, lambda } = await stage();
  expect((await hogql(COUNT)).body).toMatchObject({ results: [[12]], is_cached: false });
  expect((await hogql(COUNT)).body).toMatchObject({ results: [[12]], is_cached: true });
  expect(askedOf(lambda.tasks)).toHaveLength(1);
  await importRecords(context, project, [
    { event: 'late', distinct_id: 'x', timestamp: new Date(START - DAY_MS).toISOString() },
  ]);
  expect((await hogql(COUNT)).body).toMatchObject({ results: [[13]], is_cached: false });
});

test('a copy that is not what was written is not read, and fetched anew by the next who ask', async () => {
  const { hogql, trends, folder } = await stage();
  await hogql(COUNT);
  const files = readdirSync(join(folder, 'events'), { recursive: true, withFileTypes: true }).filter((one) =>
    one.isFile(),
  );
  for (const { parentPath, name } of files) writeFileSync(join(parentPath, name), 'no parquet');
  expect((await trends('-1d')).status).toBe(500);
  expect((await trends('-1d')).body).toMatchObject({ results: [{ data: [3, 0] }] });
});

test('what is too much to be read is refused by its size, before a file is fetched', async () => {
  const worlds = worldDatabase({ lake: folderFiles('/no') });
  onEnd(() => worlds.close());
  const answer = (mostBytes: number, mostLater: number, isBackground = false) =>
    answerOfCopies(
      worlds,
      {
        query: { kind: 'HogQLQuery', query: COUNT },
        moment: { now: START, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] },
        files: { events: [{ path: 'events/a', bytes: 2e9, min_timestamp: 0, max_timestamp: 1 }], persons: [] },
        most: { mostBytes, mostLater, isBackground },
      },
      () => false,
    );
  await expect(answer(1e9, 4e9)).rejects.toMatchObject({
    kind: 'validation',
    message: expect.stringMatching(/reads 2,000 MB .* may read 1,000 MB\. Send `"refresh": "async"`.* 4,000 MB/),
  });
  const less = expect.stringMatching(/MB\. Ask for less/);
  await expect(answer(1e9, 1e9)).rejects.toMatchObject({ body: { code: 'invalid_input' }, message: less });
  await expect(answer(1e9, 4e9, true)).rejects.toMatchObject({ body: { code: 'query_too_large' }, message: less });
  expect(await answer(2e9, 4e9)).toEqual({ wanted: [{ path: 'events/a', bytes: 2e9 }] });
});

test('events, persons and names are read by the same function', async () => {
  const { service, project, fetched } = await stage();
  const get = (path: string) => service.call('GET', `/api/projects/${project}/${path}`);
  const { status, body } = await get('events/?event=paid&limit=2');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    results: [1, 2].map((day) => ({ id: `01940000-0000-7000-8000-0000000000${day}3`, event: 'paid' })),
  });
  expect(await get('events/01940000-0000-7000-8000-000000000022/')).toMatchObject({
    status: 200,
    body: { distinct_id: 'user-2' },
  });
  expect((await get('persons/?limit=10')).body).toMatchObject({ results: [{}, {}, {}] });
  expect((await get('event_definitions/')).body).toMatchObject({ results: [{ name: 'paid' }, { name: 'seen' }] });
  expect(new Set(fetched).size).toBe(fetched.length);
});

test('what the function runs out of is told in sentences, and a mistake of ours as one', async () => {
  const { hogql, service, project, lambda } = await stage();
  const answers = [];
  for (const instead of [REFUSED.throttled, REFUSED.memory, REFUSED.mistake]) {
    lambda.instead = instead;
    answers.push(await hogql(COUNT));
  }
  expect(answers).toMatchObject([
    { status: 429, body: { code: 'throttled', detail: expect.stringContaining('Try again in 10 seconds') } },
    { status: 400, body: { attr: 'query', detail: expect.stringContaining('more memory') } },
    { status: 500, body: { code: 'error' } },
  ]);
  expect(answers[0]?.headers.get('retry-after')).toBe('10');
  lambda.instead = REFUSED.time;
  expect(await service.call('GET', `/api/projects/${project}/events/`)).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining('more time') },
  });
  // A single row may be larger than what a function returns.
  lambda.instead = REFUSED.size;
  expect(await service.call('GET', `/api/projects/${project}/events/`)).toMatchObject({
    status: 400,
    body: { code: 'invalid_input', detail: expect.stringContaining('too large to be sent') },
  });
});

test('an organization has so many turns at once, which are its own, given back, and end by themselves', async () => {
  const { context, service, hogql, lambda } = await stage({ turns: 2 });
  const other = await seeded({ context, address: service.address, mail: (name) => `${name}@example.org` });
  const all = [0, 1].map((n) => keys.sharedTurn(service.organization.id, 'waited', n));
  const ttl = START / SECOND_MS + 30;
  await context.table.write(all.map((key) => ({ put: { ...key, holder: 'somebody', ttl } })));
  expect(await hogql(COUNT)).toMatchObject({
    status: 429,
    body: { detail: expect.stringContaining('Too many queries') },
  });
  expect(lambda.tasks).toEqual([]);
  const theirs = await other.call('POST', `/api/projects/${other.project.id}/query/`, {
    body: { query: { kind: 'HogQLQuery', query: COUNT } },
  });
  expect(theirs).toMatchObject({ status: 200, body: { results: [[0]] } });
  context.clock.advance(31 * SECOND_MS);
  expect(await hogql(COUNT)).toMatchObject({ status: 200 });
  expect(await context.table.many(all)).toEqual([undefined, undefined]);
});

describe('a query that takes longer than anybody can wait', () => {
  test('becomes one that is answered later, as if that had been asked for', async () => {
    const { hogql, service, project, path, orders, carryOut, lambda } = await stage();
    lambda.instead = REFUSED.time;
    const unnamed = await hogql(COUNT);
    const named = await hogql(COUNT, { refresh: 'force_blocking', client_query_id: 'mine' });
    const { body: made } = await service.call('POST', `/api/projects/${project}/insights/`, {
      body: { query: { kind: 'HogQLQuery', query: COUNT } },
    });
    const insight = await service.call(
      'GET',
      `/api/projects/${project}/insights/${String(made?.['id'])}/?refresh=blocking`,
    );
    lambda.instead = undefined;
    const goesOn = { complete: false, query_async: true, error: false, results: null };
    expect([unnamed, named]).toMatchObject([
      { status: 202, body: { query_status: goesOn } },
      { status: 202, body: { query_status: { ...goesOn, id: 'mine' } } },
    ]);
    expect(insight).toMatchObject({ status: 200, body: { result: null, query_status: goesOn } });
    expect(orders).toHaveLength(3);
    for (const order of orders) await carryOut(order);
    for (const { body } of [unnamed, named, insight]) {
      const run = body?.['query_status'] as { id: string } | undefined;
      expect(await service.call('GET', `${path}${run?.id}/`)).toMatchObject({
        status: 200,
        body: { query_status: { complete: true, results: { results: [[12]] } } },
      });
    }
  });

  test('says what to send where there is no place for it', async () => {
    const { hogql, orders, lambda, service, path } = await stage({ turns: 1 });
    expect((await hogql(COUNT, { refresh: 'async' })).status).toBe(202);
    lambda.instead = REFUSED.time;
    expect(await hogql(`${COUNT} WHERE 1 = 1`, { client_query_id: 'mine' })).toMatchObject({
      status: 400,
      body: { code: 'query_too_slow', attr: 'query', detail: expect.stringContaining('Send `"refresh": "async"`') },
    });
    expect(orders).toHaveLength(1);
    expect((await service.call('GET', `${path}mine/`)).status).toBe(400);
  });
});

describe('a run that nobody waits for', () => {
  test('is told as it goes on, and has its answer when it has ended, for a quarter of an hour', async () => {
    const { context, hogql, service, path, orders, carryOut } = await stage();
    const { status, body } = await hogql(COUNT, { refresh: 'async', client_query_id: 'mine' });
    expect(status).toBe(202);
    expect(body).toMatchObject({ query_status: { id: 'mine', complete: false, query_async: true, results: null } });
    expect(await service.call('GET', `${path}mine/`)).toMatchObject({
      status: 202,
      body: { query_status: { complete: false } },
    });
    expect(await hogql(COUNT, { refresh: 'force_async', client_query_id: 'mine' })).toMatchObject({
      status: 400,
      body: { attr: 'client_query_id' },
    });
    expect(orders).toHaveLength(1);
    context.clock.advance(2 * SECOND_MS);
    for (const order of orders) await carryOut(order);
    expect(await service.call('GET', `${path}mine/`)).toMatchObject({
      status: 200,
      body: {
        query_status: {
          complete: true,
          error: false,
          results: { results: [[12]] },
          end_time: '2026-01-01T00:00:02Z',
        },
      },
    });
    expect((await hogql(COUNT)).body).toMatchObject({ results: [[12]], is_cached: true });
    context.clock.advance(16 * MINUTE_MS);
    expect((await service.call('GET', `${path}mine/`)).status).toBe(404);
    expect((await service.call('GET', `${path}other/`)).status).toBe(404);
  });

  test('that cannot be answered tells why', async () => {
    const { hogql, service, path, orders, carryOut } = await stage();
    await hogql('SELECT nothing FROM events', { refresh: 'async', client_query_id: 'wrong' });
    for (const order of orders) await carryOut(order);
    expect(await service.call('GET', `${path}wrong/`)).toMatchObject({
      status: 400,
      body: { attr: 'query', detail: expect.stringContaining('nothing') },
    });
  });

  test('that meets what passes is told as a 503, as a request that waits is', async () => {
    const { context, hogql, service, path, orders, carryOut, lambda } = await stage();
    lambda.instead = () => {
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    };
    expect((await hogql(COUNT)).status).toBe(503);
    await hogql(COUNT, { refresh: 'async', client_query_id: 'mine' });
    for (const order of orders) await carryOut(order);
    expect(await service.call('GET', `${path}mine/`)).toMatchObject({
      status: 503,
      body: { code: 'service_unavailable', detail: expect.stringContaining('Try again later') },
    });
    const lines = context.lines.filter(({ message }) => message === 'a query failed');
    expect(lines).toMatchObject([{ level: 'WARNING', fields: { reason: 'Lambda does not answer: aborted' } }]);
  });

  test('is told as cancelled from then on, and who waits for the function stops', async () => {
    const { hogql, service, path, orders, carryOut, lambda } = await stage();
    await hogql(COUNT, { refresh: 'async', client_query_id: 'long' });
    const cancelled = Promise.withResolvers<void>();
    lambda.instead = () => {
      void service.call('DELETE', `${path}long/`).then(() => cancelled.resolve());
      return new Promise(() => {});
    };
    for (const order of orders) await carryOut(order);
    await cancelled.promise;
    expect(await service.call('GET', `${path}long/`)).toMatchObject({
      status: 400,
      body: { detail: 'The query was cancelled.' },
    });
    expect((await service.call('DELETE', `${path}long/`)).body).toEqual({ message: 'The query has ended already.' });
  });

  test('that was cancelled while it waited answers none that has its name since', async () => {
    const { context, hogql, service, path, orders, carryOut } = await stage();
    await hogql(COUNT, { refresh: 'async', client_query_id: 'named' });
    await service.call('DELETE', `${path}named/`);
    context.clock.advance(SECOND_MS);
    await hogql('SELECT 41 + 1', { refresh: 'async', client_query_id: 'named' });
    const told = async () => (await service.call('GET', `${path}named/`)).body?.['query_status'];
    const [first, second] = orders as [QueryOrder, QueryOrder];
    await carryOut(first);
    expect(await told()).toMatchObject({ complete: false, results: null });
    await carryOut(second);
    expect(await told()).toMatchObject({ complete: true, results: { results: [[42]] } });
  });

  test('that waits five minutes for a function that is free is carried out then, in its turn', async () => {
    const { context, hogql, service, path, orders, carryOut } = await stage({ turns: 1 });
    await hogql(COUNT, { refresh: 'async', client_query_id: 'patient' });
    // It may take five minutes more.
    context.clock.advance(10 * MINUTE_MS);
    expect((await service.call('GET', `${path}patient/`)).status).toBe(202);
    expect((await hogql(COUNT, { refresh: 'force_async' })).status).toBe(429);
    for (const order of orders) await carryOut(order);
    expect((await service.call('GET', `${path}patient/`)).status).toBe(200);
    expect((await hogql(COUNT, { refresh: 'force_async' })).status).toBe(202);
  });

  test('of which nobody hears is told as interrupted, and its name is free', async () => {
    const { context, hogql, service, path } = await stage();
    await hogql(COUNT, { refresh: 'async', client_query_id: 'lost' });
    context.clock.advance(12 * MINUTE_MS);
    expect(await service.call('GET', `${path}lost/`)).toMatchObject({
      status: 503,
      body: { detail: 'The query was interrupted. Ask it again.' },
    });
    expect((await hogql(COUNT, { refresh: 'async', client_query_id: 'lost' })).status).toBe(202);
  });

  test('has ended when the function cannot be started, and its name is free', async () => {
    const { hogql, service, path, orders } = await stage();
    const ask = () => hogql(COUNT, { refresh: 'async', client_query_id: 'mine' });
    jest.spyOn(orders, 'push').mockImplementationOnce(() => {
      throw new Transient('Too many requests.');
    });
    expect((await ask()).status).toBe(503);
    expect((await service.call('GET', `${path}mine/`)).status).toBe(503);
    expect((await ask()).status).toBe(202);
  });

  test('is refused when the organization has as many as it may, and free again when one has ended', async () => {
    const { hogql, orders, carryOut } = await stage({ turns: 2 });
    const ask = () => hogql(COUNT, { refresh: 'force_async' });
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([202, 202, 429]);
    for (const order of orders.splice(0, 1)) await carryOut(order);
    expect((await ask()).status).toBe(202);
  });

  test('is not begun for a query that does not fit into an order', async () => {
    const { hogql } = await stage();
    const long = `SELECT count() FROM events WHERE event IN (${Array.from({ length: 45_000 }, (_, n) => `'${n}'`).join()})`;
    expect(await hogql(long, { refresh: 'async' })).toMatchObject({
      status: 400,
      body: { attr: 'query', detail: expect.stringContaining('too long') },
    });
  });

  test.each([
    [
      'once while it is computed has its answer',
      1,
      { status: 200, body: { query_status: { results: { results: [[12]] } } } },
    ],
    ['each time that it is computed says to ask again', 2, { status: 400, body: { detail: ASK_AGAIN } }],
  ])('whose project forgets its answers %s', async (_, times, told) => {
    const { context, project, hogql, service, path, orders, carryOut, lambda } = await stage();
    await hogql(COUNT, { refresh: 'async', client_query_id: 'mine' });
    lambda.before = async () => {
      if (lambda.tasks.length <= times) await forgetAnswers(context.table, project);
    };
    for (const order of orders) await carryOut(order);
    expect(await service.call('GET', `${path}mine/`)).toMatchObject(told);
    expect(lambda.tasks).toHaveLength(2);
  });

  test('whose answer is too large to be kept says so', async () => {
    const { context, project, hogql, service, path, orders, carryOut } = await stage();
    const noise = Array.from({ length: 40 }, (_, n) => ({
      event: 'large',
      distinct_id: 'x',
      timestamp: new Date(START - DAY_MS + n).toISOString(),
      properties: { noise: context.random(12_000).toString('base64') },
    }));
    await importRecords(context, project, noise);
    const query = "SELECT properties.noise FROM events WHERE event = 'large'";
    await hogql(query, { refresh: 'async', client_query_id: 'large' });
    for (const order of orders) await carryOut(order);
    expect(await service.call('GET', `${path}large/`)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('"refresh": "blocking"') },
    });
    expect(await hogql(query)).toMatchObject({ status: 200, body: { is_cached: false } });
  });
});

test('what a page shows to strangers is ordered at once, and computed once while somebody does, if it is not true', async () => {
  const { context, project, orders, carryOut, lambda } = await stage();
  const item = await context.table.get(keys.project(project));
  if (item === undefined) throw new Error('no project');
  const asked = [COUNT, 'SELECT 1'].map((query) => ({ project: item, query: { kind: 'HogQLQuery', query } }));
  await context.answers.renew(asked);
  await context.answers.renew(asked.slice(0, 1));
  expect(orders.map(({ queries }) => queries.length)).toEqual([2, 1]);
  expect(lambda.tasks).toEqual([]);
  await Promise.all(orders.map((order) => carryOut(order)));
  expect(askedOf(lambda.tasks).map(({ query }) => query)).toEqual(expect.arrayContaining([COUNT, 'SELECT 1']));
  expect(lambda.tasks).toHaveLength(2);
  for (const order of orders) await carryOut(order);
  expect(lambda.tasks).toHaveLength(2);
  expect((await context.answers.cached(asked)).map(({ kept }) => kept?.answer.results)).toEqual([[[12]], [[1]]]);
});

test('what is renewed for a page is there although the project forgets its answers meanwhile', async () => {
  const { context, project, orders, carryOut, lambda } = await stage();
  const asked = async () => {
    const item = await context.table.get(keys.project(project));
    if (item === undefined) throw new Error('no project');
    return [{ project: item, query: { kind: 'HogQLQuery', query: COUNT } }];
  };
  await context.answers.renew(await asked());
  lambda.before = async () => {
    if (lambda.tasks.length === 1) await forgetAnswers(context.table, project);
  };
  for (const order of orders) await carryOut(order);
  expect((await context.answers.cached(await asked())).map(({ kept }) => kept?.answer.results)).toEqual([[[12]]]);
});

describe('what is too large for the function, and asked for later, Athena answers', () => {
  const SMALL = { waited: 1e9, background: 1, athena: 1e9 };

  /** Four days of three people, of whom two turn out to be one; beside the lake's files lies one that is none any more. */
  async function large(options: Parameters<typeof stageContext>[0] = {}) {
    const made = await stage({ queryBytes: SMALL, ...options });
    const { context, project, service, path, orders, carryOut } = made;
    const at = (day: number, minute: number): string =>
      new Date(START - day * DAY_MS + minute * MINUTE_MS).toISOString();
    const seen = (day: number, minute: number, who: string, url: string, more: object = {}) => ({
      event: '$pageview',
      distinct_id: who,
      timestamp: at(day, minute),
      properties: {
        $browser: who === 'user-1' ? 'Firefox "x"' : "Chrome's {1}",
        $current_url: `https://acme.com/${url}`,
        $pathname: `/${url}`,
        $session_id: `${who}-${day}`,
        amount: minute / 4,
        ...more,
      },
    });
    await importRecords(context, project, [
      seen(4, 0, 'user-0', '', { $host: 'acme.com', utm_source: 'mail' }),
      seen(4, 3, 'user-0', 'pricing'),
      seen(4, 7, 'user-1', 'docs', { $browser: null, tags: ['a', 'b'] }),
      seen(2, 1, 'anon-1', 'pricing'),
      seen(2, 5, 'anon-1', 'buy'),
      { event: 'paid', distinct_id: 'anon-1', timestamp: at(2, 9), properties: { amount: 9.5 } },
      {
        event: '$identify',
        distinct_id: 'user-1',
        timestamp: at(1, 12),
        properties: { $anon_distinct_id: 'anon-1', $set: { plan: 'pro' } },
      },
    ]);
    for await (const file of context.lake.list('events'))
      await context.lake.write(
        file.path.replace(/[^/]+$/, 'replaced.parquet'),
        (await context.lake.read(file.path)) ?? '',
      );
    made.athena.asked.length = 0;
    /** What is told of a query when it has been answered behind. */
    const later = async (query: object) => {
      await service.call('POST', path, { body: { query, refresh: 'force_async', client_query_id: 'later' } });
      for (const order of orders.splice(0)) await carryOut(order);
      return service.call('GET', `${path}later/`);
    };
    const now = (query: object) => service.call('POST', path, { body: { query, refresh: 'force_blocking' } });
    return { ...made, later, now };
  }

  const RANGE = { dateRange: { date_from: '-7d' } };
  const views = { kind: 'EventsNode', event: '$pageview' };
  const hogql = (query: string) => ({ kind: 'HogQLQuery', query });
  const trends = (rest: object) => ({ kind: 'TrendsQuery', series: [views], ...RANGE, ...rest });
  const funnel = (rest: object) => ({ kind: 'FunnelsQuery', series: [views, { event: 'paid' }], ...RANGE, ...rest });
  const QUERIES: readonly (readonly [name: string, query: object])[] = [
    [
      'HogQL',
      hogql(
        'SELECT event, count() AS n, uniq(person_id), max(timestamp), avg(toFloat(properties.amount)), any(properties.none) FROM events GROUP BY event ORDER BY n DESC, event',
      ),
    ],
    [
      'HogQL of lists',
      hogql(
        "SELECT arraySort(groupUniqArray(event)), arraySort(groupArray(toInt(properties.n))), arraySort(groupArrayIf(timestamp, event = 'paid')), count() > 3 AS many, toDate(min(timestamp)) FROM events GROUP BY distinct_id ORDER BY 2 DESC, 1",
      ),
    ],
    [
      'HogQL of different lists',
      hogql(
        "SELECT DISTINCT splitByChar('/', properties.$pathname) AS parts, properties.$browser FROM events ORDER BY parts DESC, 2 LIMIT 3",
      ),
    ],
    [
      'HogQL of a union',
      hogql("SELECT [event] AS l, 1.5 AS f FROM events WHERE event = 'paid' UNION ALL SELECT ['x'], 2 "),
    ],
    [
      'HogQL of persons',
      hogql(
        'SELECT p.properties.plan, p.is_identified, arraySort(p.distinct_ids), count() FROM events e JOIN persons p ON e.person_id = p.id GROUP BY p.properties.plan, p.is_identified, p.distinct_ids ORDER BY 3',
      ),
    ],
    [
      'HogQL of distinct_ids',
      hogql(
        'SELECT d.distinct_id, p.properties.plan FROM person_distinct_ids d JOIN persons p ON d.person_id = p.id ORDER BY 1',
      ),
    ],
    [
      'HogQL of sessions',
      hogql(
        'SELECT session_id, $session_duration, $entry_current_url, $exit_pathname, $pageview_count, distinct_id, $entry_utm_source, $entry_hostname, $num_uniq_urls FROM sessions ORDER BY session_id',
      ),
    ],
    [
      'HogQL of named queries',
      hogql(
        'WITH busy AS (SELECT person_id, count() AS n FROM events GROUP BY person_id) SELECT n, count(), (SELECT count() FROM persons) FROM busy WHERE person_id IN (SELECT id FROM persons) GROUP BY n ORDER BY n',
      ),
    ],
    [
      'events',
      {
        kind: 'EventsQuery',
        select: ['*', 'person', 'timestamp', 'properties.$browser', 'session.$session_duration'],
        after: 'all',
        orderBy: ['timestamp', 'uuid'],
        limit: 7,
      },
    ],
    [
      'events in groups',
      { kind: 'EventsQuery', select: ['event', 'count()'], after: 'all', where: ["properties.$browser ILIKE '%o%'"] },
    ],
    [
      'trends',
      trends({
        series: [
          views,
          { ...views, math: 'dau' },
          { ...views, math: 'p90', math_property: 'amount' },
          { event: null, math: 'weekly_active' },
          { ...views, math: 'unique_session' },
        ],
        compareFilter: { compare: true },
      }),
    ],
    [
      'trends by a value',
      trends({
        breakdownFilter: { breakdown: '$browser' },
        series: [{ ...views, math: 'dau' }],
        properties: [{ key: '$pathname', operator: 'is_not', value: '/docs', type: 'event' }],
      }),
    ],
    [
      'trends by two values',
      trends({
        breakdownFilter: { breakdowns: [{ property: '$browser' }, { property: 'amount', histogram_bin_count: 3 }] },
        trendsFilter: { display: 'ActionsTable' },
      }),
    ],
    [
      'trends of a formula',
      trends({
        series: [views, { event: 'paid', math: 'sum', math_property: 'amount' }],
        trendsFilter: { formula: 'A / B' },
      }),
    ],
    ['a funnel', funnel({ breakdownFilter: { breakdown: 'plan', breakdown_type: 'person' } })],
    ['a funnel in time', funnel({ funnelsFilter: { funnelVizType: 'time_to_convert' } })],
    ['a funnel by day', funnel({ funnelsFilter: { funnelVizType: 'trends', funnelOrderType: 'unordered' } })],
    ['a strict funnel', funnel({ funnelsFilter: { funnelOrderType: 'strict' } })],
    [
      'tuples',
      {
        kind: 'HogQLQuery',
        query: `SELECT (event, timestamp, [1, 2], 2.5, true, NULL) AS t, [(1, NULL), (2, event)], argMax((uuid, event), timestamp)
          FROM events GROUP BY uuid, event, timestamp ORDER BY t DESC, uuid LIMIT 3`,
      },
    ],
    [
      'retention',
      {
        kind: 'RetentionQuery',
        retentionFilter: {
          period: 'Day',
          totalIntervals: 5,
          targetEntity: { id: '$pageview', type: 'events' },
          returningEntity: { id: null, type: 'events' },
        },
      },
    ],
    [
      'first retention',
      {
        kind: 'RetentionQuery',
        retentionFilter: { period: 'Day', totalIntervals: 5, retentionType: 'retention_first_time' },
      },
    ],
    ['stickiness', { kind: 'StickinessQuery', series: [{ event: null }], ...RANGE }],
    ['lifecycle', { kind: 'LifecycleQuery', series: [{ event: null }], ...RANGE }],
    ['paths', { kind: 'PathsQuery', pathsFilter: { includeEventTypes: ['$pageview'] }, ...RANGE }],
    [
      'actors',
      {
        kind: 'ActorsQuery',
        source: {
          kind: 'InsightActorsQuery',
          source: trends({ series: [{ ...views, math: 'dau' }] }),
          day: '2025-12-30',
        },
        select: ['actor_id', 'properties.plan'],
      },
    ],
  ];

  test('in SQL that Trino can read, whatever columns of the tables are asked for', async () => {
    const { later, athena } = await large();
    const names = [...(INSIGHT_TABLES.get('events')?.keys() ?? [])].map((name) => `e.${name}`);
    const { status } = await later(
      hogql(`SELECT ${names.join(', ')}, p.distinct_ids FROM events e JOIN persons p ON p.id = e.person_id`),
    );
    expect(status).toBe(200);
    const faultsOf = trinoGrammar();
    expect(athena.asked.map((sql) => faultsOf(sql))).toEqual([[]]);
  });

  test('as DuckDB answers it, whatever is asked', async () => {
    const { later, now, athena } = await large();
    const [expected, told]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
    for (const [name, query] of QUERIES) {
      athena.asked.length = 0;
      const { status, body } = await now(query);
      expected[name] = [status, answerOf(body)];
      const answered = await later(query);
      const run = answered.body?.['query_status'] as { readonly results: Record<string, unknown> } | undefined;
      told[name] = [answered.status, answerOf(run?.results ?? answered.body)];
      expect([name, athena.asked.length]).not.toEqual([name, 0]);
    }
    expect(told).toEqual(expected);
    expect(Object.values(expected)).toEqual(QUERIES.map(() => [200, expect.anything()]));
  });

  test('and what reads more than Athena may is refused by its size, and by its workgroup', async () => {
    const { later, now, athena } = await large({ queryBytes: { waited: 1, background: 1, athena: 2 } });
    expect(await later(hogql(COUNT))).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('may read') },
    });
    expect(athena.asked).toEqual([]);
    expect(await now(hogql(COUNT))).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', detail: expect.stringMatching(/may read 1 MB\. Ask for less/) },
    });
  });

  test('and what becomes of it there is told in sentences', async () => {
    const { later, athena } = await large();
    const failures = [
      new QueryFailed('bytes', 'Bytes scanned limit was exceeded'),
      new QueryFailed('rows', ''),
      new QueryFailed('memory', 'Query exhausted resources at this scale factor'),
      new QueryFailed('time', ''),
      new QueryFailed('values', 'DIVISION_BY_ZERO: Division by zero'),
      new QueryFailed('other', 'HIVE_BAD_DATA: s3://lake/events'),
    ];
    const told = [];
    for (const failure of failures) {
      athena.instead = () => Promise.reject(failure);
      const { status, body } = await later(hogql(COUNT));
      told.push([status, body?.['attr'], body?.['detail']]);
    }
    const LESS = 'Ask for less: a shorter time, or a filter.';
    expect(told).toEqual(
      [
        `The query reads more than 1 GB. ${LESS}`,
        `The query gives more rows than one answer can be made of. ${LESS}`,
        `The query takes more memory than one query may have. ${LESS}`,
        `The query takes too long. ${LESS}`,
        'The query cannot be computed: DIVISION_BY_ZERO: Division by zero',
        `A query that reads so much is answered by Athena, which does not take it. ${LESS}`,
      ].map((detail) => [400, 'query', detail]),
    );
    athena.instead = undefined;
    expect(await later(hogql(COUNT))).toMatchObject({ status: 200 });
  });

  test('and it is stopped when the run is cancelled', async () => {
    const { service, path, hogql: ask, orders, carryOut, athena } = await large();
    await ask(COUNT, { refresh: 'async', client_query_id: 'long' });
    const stopped = Promise.withResolvers<unknown>();
    athena.instead = (_, signal) => {
      void service.call('DELETE', `${path}long/`);
      return new Promise((__, reject) => {
        signal.addEventListener('abort', () => {
          stopped.resolve(signal.reason);
          reject(signal.reason as Error);
        });
      });
    };
    for (const order of orders) await carryOut(order);
    expect(await stopped.promise).toMatchObject({ message: 'The query was cancelled.' });
    expect(await service.call('GET', `${path}long/`)).toMatchObject({
      status: 400,
      body: { detail: 'The query was cancelled.' },
    });
  });

  test('and an organization has so many there at once', async () => {
    const { context, service, later } = await large({ turns: 1 });
    const turn = keys.sharedTurn(service.organization.id, 'athena', 0);
    await context.table.write([{ put: { ...turn, holder: 'somebody', ttl: START / SECOND_MS + 30 } }]);
    expect(await later(hogql(COUNT))).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('Too many queries') },
    });
    context.clock.advance(31 * SECOND_MS);
    expect(await later(hogql(COUNT))).toMatchObject({ status: 200 });
    expect(await context.table.get(turn)).toBeUndefined();
  });

  test('and readers of shared pages never have it asked', async () => {
    const { context, project, orders, carryOut, athena } = await large();
    const item = await context.table.get(keys.project(project));
    if (item === undefined) throw new Error('no project');
    await context.answers.renew([{ project: item, query: { kind: 'HogQLQuery', query: COUNT } }]);
    for (const order of orders) await carryOut(order);
    expect(athena.asked).toEqual([]);
  });
});

/** What an answer says, and not when or how it came to be. */
const answerOf = (body: Record<string, unknown> | undefined) => ({
  results: body?.['results'],
  columns: body?.['columns'] ?? null,
  types: body?.['types'] ?? null,
  hasMore: body?.['hasMore'] ?? false,
  detail: body?.['detail'],
});
