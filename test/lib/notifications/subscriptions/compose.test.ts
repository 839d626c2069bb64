/** What subscriptions send, when, where to and how often: over the API, the jobs and the steps. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../lib/basics/units.ts';
import { LEVELS } from '../../../../lib/http/levels.ts';
import { slackBody } from '../../../../lib/notifications/messages/slack.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import { keys, places, ranges } from '../../../../lib/ports/table/keys.ts';
import { listAll } from '../../../../lib/ports/table/list-all.ts';
import { START, settableClock } from '../../../support/context.ts';
import { notifyingService, runDue } from '../../../support/notifications.ts';
import { type Receiver, startReceiver } from '../../../support/receiver.ts';
import { tableThatDies, watchWrites } from '../../../support/table-override.ts';

const NOON = START + 12 * HOUR_MS;
const SEVEN = '2026-01-01T07:00:00Z';

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
beforeEach(() => receiver.reset());
afterAll(() => receiver.close());

const bodies = () => receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);

/** A service at noon, whose subscriptions are sent to the receiver. */
async function subscribing() {
  const clock = settableClock(NOON);
  const publicUrl = 'https://analytics.example.com';
  const world = await notifyingService({ clock, settings: { ...LOCAL_SETTINGS, strictAnswers: true, publicUrl } });
  const subscribe = (fields: object, options = {}) =>
    world.call(
      'POST',
      '/subscriptions/',
      {
        target_type: 'webhook',
        target_value: `${receiver.url}/hook?key=1`,
        frequency: 'daily',
        start_date: SEVEN,
        ...fields,
      },
      options,
    );
  const read = (id: unknown) => world.call('GET', `/subscriptions/${String(id)}/`);
  const weekly = { series: world.series, dateRange: { date_from: '-1d' } };
  const dashboard = async (name = 'Our shop') => {
    const insights = [await world.insightOf(weekly, 'Payments'), await world.insightOf({ series: [] }, 'Broken')];
    const tiles = insights.map((insight) => ({ insight }));
    const { id } = await world.call('POST', '/dashboards/', { name, tiles });
    return { id: Number(id), insights };
  };
  return { ...world, clock, subscribe, read, weekly, dashboard };
}

/** Adds so many others like the subscription that a project has. */
async function addLike({ table }: Pick<Context, 'table'>, project: number, count: number): Promise<void> {
  const [like] = await listAll(table, ranges.subscriptionsOf(project));
  if (like === undefined) throw new Error('there is none');
  const others = Array.from({ length: count }, (_, at) => 10_000 + at).map((id) => ({
    put: { ...like, ...keys.subscription(project, id), ...places.subscriptionOf(project, NOON, id), id },
  }));
  await table.write(others, { apart: true });
}

test('one that is late says so until it is sent', async () => {
  const { subscribe, read, dashboard, run, clock } = await subscribing();
  const { id: board } = await dashboard();
  const { id } = await subscribe({ dashboard: board });
  clock.set(Date.UTC(2026, 0, 2, 7, 10));
  const late = 'What was due at 2026-01-02T07:00:00Z is late: it has not had its turn yet.';
  expect((await read(id))['latest_error']).toBe(late);
  await run();
  expect((await read(id))['latest_error']).toBeNull();
});

test('a dashboard is sent each day at seven, with its numbers and links, once', async () => {
  const { subscribe, read, dashboard, pay, run, clock, service } = await subscribing();
  await pay(NOON, 12);
  const { id: board, insights } = await dashboard();
  const { id, next_delivery_date, target_value, summary, resource_name } = await subscribe({ dashboard: board });
  expect({ next_delivery_date, target_value, summary, resource_name }).toEqual({
    next_delivery_date: '2026-01-02T07:00:00Z',
    target_value: `${receiver.url}/…`,
    summary: 'sent every day',
    resource_name: 'Our shop',
  });
  await run();
  expect(bodies()).toEqual([]);
  clock.set(Date.UTC(2026, 0, 2, 7));
  await run();
  await run();
  const inProject = `https://analytics.example.com/#/projects/${service.project.id}`;
  expect(bodies()).toEqual([
    {
      type: 'subscription.due',
      timestamp: '2026-01-02T07:00:00Z',
      text: 'Our shop\nIt is sent every day.',
      data: {
        id: receiver.received[0]?.headers['webhook-id'],
        subscription: id,
        title: 'Our shop',
        team_id: service.project.id,
        dashboard: board,
        insight: null,
        name: 'Our shop',
        computed_at: '2026-01-02T07:00:00Z',
        link: `${inProject}/dashboards/${board}`,
        insights: [
          {
            name: 'Payments',
            link: `${inProject}/insights/${insights[0]}`,
            summary: 'Line chart of paid, 1-Jan-2026 to 2-Jan-2026; from 0 to 12. The last day is not over.',
            columns: expect.any(Array) as unknown,
            rows: [
              ['1-Jan-2026', 12],
              ['2-Jan-2026', 0],
            ],
            more_rows: 0,
            more_columns: 0,
          },
          {
            name: 'Broken',
            link: `${inProject}/insights/${insights[1]}`,
            summary: 'Ensure this field has at least 1 elements.',
            columns: [],
            rows: [],
            more_rows: 0,
            more_columns: 0,
          },
        ],
      },
    },
  ]);
  expect(await read(id)).toMatchObject({
    last_delivered_at: '2026-01-02T07:00:00Z',
    next_delivery_date: '2026-01-03T07:00:00Z',
    latest_error: null,
  });
  // What was missed for three days is sent once.
  clock.set(Date.UTC(2026, 0, 5, 12));
  await run();
  expect(bodies()).toHaveLength(2);
  expect(await read(id)).toMatchObject({ next_delivery_date: '2026-01-06T07:00:00Z' });
});

test('what has no name is sent under another one: that a client derived, or its number', async () => {
  const { subscribe, read, insightOf, weekly, call, run, clock } = await subscribing();
  const unnamed = await insightOf(weekly, '');
  const { id: derived } = await call('POST', '/insights/', { name: '', derived_name: 'Paid by day', query: {} });
  const { id: board } = await call('POST', '/dashboards/', { name: '', tiles: [{ insight: unnamed }] });
  const subjects = [{ insight: unnamed }, { insight: derived }, { dashboard: board }];
  const ids: unknown[] = [];
  for (const subject of subjects) ids.push((await subscribe(subject))['id']);
  const names = await Promise.all(ids.map(async (id) => (await read(id))['resource_name']));
  expect(names).toEqual([null, 'Paid by day', '']);
  clock.advance(DAY_MS);
  await run();
  const sent = bodies().map(({ data }) => data as { title: string; insights: { name: string }[] });
  expect(sent.map(({ title, insights }) => `${title}: ${insights[0]?.name}`).toSorted()).toEqual([
    `Insight ${unnamed}: Insight ${unnamed}`,
    'Paid by day: Paid by day',
    `Untitled dashboard: Insight ${unnamed}`,
  ]);
});

test('what is longer than a message can hold is left out, and counted', async () => {
  const { subscribe, call, run, clock, pay } = await subscribing();
  await pay(NOON, 20);
  const wide = Array.from({ length: 10 }, (_, n) => `'${'😀'.repeat(100)}' AS column_${n}`);
  const tiles: object[] = [];
  for (let n = 0; n < 20; n++) {
    const query = { kind: 'HogQLQuery', query: `SELECT ${wide.join(', ')} FROM events` };
    const { id } = await call('POST', '/insights/', { name: `Wide ${n}`, query });
    tiles.push({ insight: id });
  }
  const { id: board } = await call('POST', '/dashboards/', { name: 'Wide', tiles });
  await subscribe({ dashboard: board });
  clock.advance(DAY_MS);
  await run();
  expect(receiver.received).toHaveLength(1);
  expect(Buffer.byteLength(receiver.received[0]?.body ?? '')).toBeLessThan(170_000);
  const [{ text, data } = { text: '', data: {} }] = bodies();
  const { insights } = data as { insights: { rows: string[][] }[] };
  expect(insights[0]).toMatchObject({ more_rows: 10, more_columns: 2 });
  expect(insights[0]?.rows[0]?.[0]?.isWellFormed()).toBe(true);
  expect(insights.length).toBeGreaterThan(10);
  expect(insights.length).toBeLessThan(20);
  expect(text).toContain(`${20 - insights.length} more insights are on the dashboard.`);
});

test('of rows of HogQL the first are sent, whatever their columns are called', async () => {
  const { subscribe, call, run, clock, pay } = await subscribing();
  for (let day = 0; day < 12; day++) await pay(NOON - day * DAY_MS, 1);
  const sql = 'SELECT toDate(timestamp) AS Date, count() AS paid FROM events GROUP BY Date ORDER BY Date DESC';
  const { id } = await call('POST', '/insights/', { query: { kind: 'HogQLQuery', query: sql } });
  await subscribe({ insight: id });
  clock.advance(DAY_MS);
  await run();
  const { data } = bodies()[0] as { data: { insights: { rows: string[][] }[] } };
  expect(data.insights[0]?.rows.map(([date]) => date)).toEqual(
    Array.from({ length: 10 }, (_, day) => new Date(NOON - day * DAY_MS).toISOString().slice(0, 10)),
  );
});

test('what is computed is not told by the name of its column', async () => {
  const { subscribe, call, run, clock, pay } = await subscribing();
  await pay(NOON, 2);
  const sql = "SELECT event, countIf(properties.plan = 's3cr3t'), count() AS paid FROM events GROUP BY event";
  const { id } = await call('POST', '/insights/', { query: { kind: 'HogQLQuery', query: sql } });
  await subscribe({ insight: id });
  clock.advance(DAY_MS);
  await run();
  expect(bodies()[0]).toMatchObject({ data: { insights: [{ columns: ['event', 'Column 2', 'paid'] }] } });
  expect(JSON.stringify(bodies())).not.toContain('s3cr3t');
});

test('columns that `*` stands for are called as the fields are', async () => {
  const { subscribe, call, run, clock, pay } = await subscribing();
  await pay(NOON, 1);
  const query = "SELECT *, 's3cr3t' FROM (SELECT event, properties['plan'], 's3cr3t' || event FROM events)";
  const { id } = await call('POST', '/insights/', { query: { kind: 'HogQLQuery', query } });
  await subscribe({ insight: id });
  clock.advance(DAY_MS);
  await run();
  expect(bodies()[0]).toMatchObject({ data: { insights: [{ columns: ['event', 'plan', 'Column 3', 'Column 4'] }] } });
});

test('insights come in the order of the dashboard, whatever was made first', async () => {
  const { subscribe, call, run, clock, insightOf, weekly } = await subscribing();
  const names = ['third', 'first', 'second'];
  const insights = await Promise.all(names.map((name) => insightOf(weekly, name)));
  const places = [
    { x: 0, y: 9 },
    { x: 0, y: 0 },
    { x: 6, y: 0 },
  ];
  const tiles = insights.map((insight, at) => ({ insight, layouts: { sm: { ...places[at], w: 6, h: 5 } } }));
  const { id } = await call('POST', '/dashboards/', { name: 'Ordered', tiles });
  await subscribe({ dashboard: id });
  clock.advance(DAY_MS);
  await run();
  const { data } = bodies()[0] as { data: { insights: { name: string }[] } };
  expect(data.insights.map(({ name }) => name)).toEqual(['first', 'second', 'third']);
});

test("Slack's form shows the numbers as a table, and names as they are", async () => {
  const { subscribe, insightOf, weekly, pay, run, clock } = await subscribing();
  await pay(NOON, 12);
  const insight = await insightOf(weekly, '<!here> *|* ```');
  await subscribe({ insight, target_type: 'slack', title: 'A & B' });
  clock.advance(DAY_MS);
  await run();
  const [{ text, blocks } = { text: '', blocks: [] }] = bodies();
  expect(text).toBe('A &amp; B\n&lt;!here&gt; *|* ```, sent every day.');
  const [head, section] = (blocks as { text: { text: string } }[]).map((block) => block.text.text);
  expect(head).toMatch(
    /^\*<https:\/\/analytics\.example\.com\/#\/projects\/1\/insights\/\d+\|A &amp; B>\*\n&lt;!here&gt;/,
  );
  expect(section).toMatch(/\|&lt;!here&gt; \*¦\* ```>\*\nLine chart .*\n```.*\n1-Jan-2026 +12\n2-Jan-2026 +0```$/);
});

test("Slack's form cuts no character in two, nor a link", async () => {
  const { subscribe, insightOf, weekly, run, clock } = await subscribing();
  await subscribe({ insight: await insightOf(weekly, '&'.repeat(400)), target_type: 'slack' });
  clock.advance(DAY_MS);
  await run();
  const [{ blocks } = { blocks: [] }] = bodies();
  const [, section] = (blocks as { text: { text: string } }[]).map((block) => block.text.text);
  expect(section).toMatch(/^\*<https:[^|]*\|(&amp;)+>\*\nLine chart /);

  const by = { kind: 'alert', id: '1' } as const;
  const about = { organization: 'o', project: 1, by, target: { type: 'slack' }, type: 'alert.firing', at: 0 } as const;
  for (const line of ['😀'.repeat(3000), `x${'😀'.repeat(3000)}`, '<'.repeat(3000)]) {
    const message = { ...about, title: 'x', lines: [line], link: null, insights: [], data: {} };
    const { text, blocks } = slackBody(message);
    for (const cut of [text, String(blocks[0]?.text.text)]) {
      expect(cut).toMatch(/^\*?x\*?\nx?(😀+|(&lt;)+)$/u);
      expect(cut.length).toBeGreaterThan(2_990);
      expect(cut.length).toBeLessThanOrEqual(3_000);
    }
  }
});

test('an insight is sent as often as was asked, and not when disabled or deleted', async () => {
  const { subscribe, read, insight, run, clock, call, context } = await subscribing();
  const { id } = await subscribe({ insight, count: 3 });
  for (let day = 0; day < 5; day++) {
    clock.advance(DAY_MS);
    await run();
  }
  // The first of the three was before it was made.
  expect(bodies()).toHaveLength(2);
  expect(await read(id)).toMatchObject({ next_delivery_date: null, enabled: true });
  expect(await listAll(context.table, ranges.dueJobs(clock() + 365 * DAY_MS))).toEqual([]);
  const path = `/subscriptions/${String(id)}/`;
  expect(await call('PATCH', path, { count: null })).toMatchObject({ next_delivery_date: '2026-01-07T07:00:00Z' });
  await call('PATCH', path, { enabled: false });
  clock.advance(DAY_MS);
  await run();
  expect(bodies()).toHaveLength(2);
  expect(await call('PATCH', path, { enabled: true })).toMatchObject({ next_delivery_date: '2026-01-08T07:00:00Z' });
  await call('PATCH', path, { deleted: true });
  clock.advance(DAY_MS);
  await run();
  expect(bodies()).toHaveLength(2);
  expect(await call('GET', '/subscriptions/')).toMatchObject({ count: 0 });
  expect(await call('PATCH', path, { deleted: false })).toMatchObject({ next_delivery_date: '2026-01-09T07:00:00Z' });
});

test('what is due is sent, though its times are changed before that', async () => {
  const { subscribe, read, run, call, clock, insight } = await subscribing();
  const { id } = await subscribe({ insight });
  const path = `/subscriptions/${String(id)}/`;
  clock.set(Date.UTC(2026, 0, 2, 7));
  await call('PATCH', path, { start_date: '2026-01-01T09:00:00Z' });
  await run();
  expect(bodies()).toHaveLength(1);
  expect(await read(id)).toMatchObject({ next_delivery_date: '2026-01-02T09:00:00Z' });
  // What was due while it was disabled is not.
  await call('PATCH', path, { enabled: false });
  clock.set(Date.UTC(2026, 0, 2, 10));
  await call('PATCH', path, { start_date: SEVEN });
  await call('PATCH', path, { enabled: true });
  await run();
  expect(bodies()).toHaveLength(1);
  expect(await read(id)).toMatchObject({ next_delivery_date: '2026-01-03T07:00:00Z' });
});

test('subscriptions are found by a part of their title or of the name of what they send', async () => {
  const { subscribe, dashboard, insight, call } = await subscribing();
  const { id: board } = await dashboard();
  await subscribe({ dashboard: board, title: 'Every morning' });
  await subscribe({ insight, title: 'Money' });
  const found = async (search: string) => {
    const { count, results } = await call('GET', `/subscriptions/?search=${search}`);
    expect(results).toHaveLength(Number(count));
    return (results as { title: string }[]).map(({ title }) => title);
  };
  expect(await found('MORN')).toEqual(['Every morning']);
  expect(await found('our shop')).toEqual(['Every morning']);
  expect(await found('')).toEqual(['Money', 'Every morning']);
  expect(await found('else')).toEqual([]);
});

test('a webhook that does not take it is tried again with the same id, and is said', async () => {
  const { subscribe, read, insight, run, clock } = await subscribing();
  receiver.answer = () => ({ status: 503 });
  const { id } = await subscribe({ insight });
  clock.set(Date.UTC(2026, 0, 2, 7));
  await run();
  expect(await read(id)).toMatchObject({
    last_delivered_at: null,
    latest_error: expect.stringMatching(/answered 503\. It will be tried again\.$/),
  });
  receiver.answer = () => ({ status: 204 });
  clock.advance(MINUTE_MS);
  await run();
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(await read(id)).toMatchObject({ last_delivered_at: '2026-01-02T07:01:00Z', latest_error: null });
});

test('what waits for another try has the form that its address has by then', async () => {
  const { subscribe, call, insight, run, clock } = await subscribing();
  receiver.answer = () => ({ status: 503 });
  const { id } = await subscribe({ insight, target_type: 'slack' });
  clock.set(Date.UTC(2026, 0, 2, 7));
  await run();
  receiver.answer = () => ({ status: 204 });
  await call('PATCH', `/subscriptions/${String(id)}/`, { target_type: 'webhook', target_value: `${receiver.url}/new` });
  clock.advance(MINUTE_MS);
  await run();
  expect(receiver.received.map(({ path }) => path)).toEqual(['/hook?key=1', '/new']);
  expect(bodies().map((body) => Object.keys(body))).toEqual([
    ['text', 'blocks'],
    ['type', 'timestamp', 'text', 'data'],
  ]);
});

test('what breaks while it is sent is tried again for a day, not without end', async () => {
  const { subscribe, read, insight, clock, context } = await subscribing();
  const { id } = await subscribe({ insight, frequency: 'weekly' });
  clock.set(Date.UTC(2026, 0, 8, 7));
  let tries = 0;
  const open = async () => {
    tries += 1;
    throw new TypeError('something else');
  };
  const broken = { ...context, vault: { ...context.vault, open } };
  for (let hour = 0; hour < 2 * 24; hour++) {
    await Promise.allSettled([runDue(context, broken)]);
    clock.advance(HOUR_MS);
  }
  expect(tries).toBeGreaterThan(20);
  expect(tries).toBeLessThan(30);
  expect(await read(id)).toMatchObject({
    enabled: true,
    latest_error:
      'A message could not be sent: The service met an error of its own (TypeError). It is not tried again.',
  });
});

test('a week after one that was not taken, the next is still tried for a day before it is paused', async () => {
  const { subscribe, read, insight, run, clock } = await subscribing();
  receiver.answer = () => ({ status: 503 });
  const { id } = await subscribe({ insight, frequency: 'weekly' });
  clock.set(Date.UTC(2026, 0, 8, 7));
  await run();
  clock.advance(DAY_MS);
  await run();
  clock.set(Date.UTC(2026, 0, 15, 7));
  await run();
  receiver.reset();
  clock.advance(MINUTE_MS);
  await run();
  expect(bodies()).toHaveLength(1);
  expect(await read(id)).toMatchObject({ enabled: true, latest_error: null });

  receiver.answer = () => ({ status: 503 });
  for (const day of [22, 23, 29]) {
    clock.set(Date.UTC(2026, 0, day, 7));
    await run();
  }
  expect(await read(id)).toMatchObject({ enabled: true });
  clock.advance(DAY_MS);
  await run();
  expect(await read(id)).toMatchObject({ enabled: false, paused_reason: expect.stringContaining('answered 503') });
});

test('it sends what whoever made it may see then: a dashboard that was closed to them pauses it', async () => {
  const { subscribe, read, dashboard, run, clock, call, service } = await subscribing();
  const member = await service.newUser(LEVELS.member);
  const { id: board } = await dashboard();
  const { id } = await subscribe({ dashboard: board }, { key: await service.newKey(member) });
  await call('PUT', `/dashboards/${board}/access_controls/`, { access_level: 'none' });
  clock.advance(DAY_MS);
  await run();
  expect(bodies()).toEqual([]);
  expect(await read(id)).toMatchObject({
    enabled: false,
    paused_reason: 'Whoever made it may not see it any more. Enable it again once they may.',
  });
});

test('a dashboard that is deleted takes its subscriptions along, and brings them back', async () => {
  const { subscribe, dashboard, run, clock, call, service, inProject } = await subscribing();
  const { id: board } = await dashboard();
  const { id } = await subscribe({ dashboard: board });
  await call('PATCH', `/dashboards/${board}/`, { deleted: true });
  clock.advance(DAY_MS);
  await run();
  expect(bodies()).toEqual([]);
  const path = `${inProject}/subscriptions/${String(id)}/`;
  expect((await service.call('GET', path)).status).toBe(404);
  expect((await service.call('PATCH', path, { body: { title: 'Other' } })).status).toBe(404);
  await call('PATCH', `/dashboards/${board}/`, { deleted: false });
  clock.advance(DAY_MS);
  await run();
  expect(bodies()).toHaveLength(1);
});

test('whoever may not see any more what is sent is refused to change it, and nothing is changed', async () => {
  const { subscribe, read, dashboard, call, service, inProject } = await subscribing();
  const key = await service.newKey(await service.newUser(LEVELS.member));
  const { id: board } = await dashboard();
  const made = await subscribe({ dashboard: board }, { key });
  await call('PUT', `/dashboards/${board}/access_controls/`, { access_level: 'none' });
  const path = `${inProject}/subscriptions/${String(made['id'])}/`;
  const body = { title: 'Other', target_value: `${receiver.url}/other` };
  expect((await service.call('PATCH', path, { key, body })).status).toBe(403);
  expect(await read(made['id'])).toEqual(made);
});

test('an insight without a query cannot be subscribed to', async () => {
  const { subscribe, call } = await subscribing();
  const { id } = await call('POST', '/insights/', { name: 'Empty' });
  await expect(subscribe({ insight: id })).rejects.toThrow('It has no query, and so nothing to send.');
});

test('whoever may not see any more what is sent can stop it, and no more', async () => {
  const { subscribe, read, dashboard, call, service, inProject } = await subscribing();
  const key = await service.newKey(await service.newUser(LEVELS.member));
  const { id: board } = await dashboard();
  const { id } = await subscribe({ dashboard: board }, { key });
  await call('PUT', `/dashboards/${board}/access_controls/`, { access_level: 'none' });
  const patch = (body: object) => service.call('PATCH', `${inProject}/subscriptions/${String(id)}/`, { key, body });
  for (const body of [{ enabled: true }, { deleted: false }, { enabled: false, title: 'x' }, {}])
    expect((await patch(body)).status).toBe(403);
  expect(await patch({ enabled: false })).toMatchObject({ status: 200, body: { enabled: false, resource_name: null } });
  expect(await read(id)).toMatchObject({ enabled: false, resource_name: 'Our shop' });
  expect(await patch({ deleted: true })).toMatchObject({ status: 200, body: { deleted: true } });
  expect((await service.call('GET', `${inProject}/subscriptions/${String(id)}/`)).status).toBe(404);
});

test("a deployment that answers no queries says so where the subscription's results are", async () => {
  const { subscribe, read, insight, clock, context } = await subscribing();
  const { id } = await subscribe({ insight });
  clock.advance(DAY_MS);
  await runDue(context, { ...context, answers: null });
  expect(await read(id)).toMatchObject({ latest_error: expect.stringContaining('not offered here') });
});

test('killed before or after any write, it is sent, and with one id', async () => {
  for (const after of [false, true]) {
    for (let n = 1; ; n++) {
      receiver.reset();
      const { subscribe, read, insight, clock, context } = await subscribing();
      const { id } = await subscribe({ insight });
      clock.set(Date.UTC(2026, 0, 2, 7));
      const { dying, isDead } = tableThatDies(context.table, n, after);
      await runDue(context, { ...context, table: dying });
      const isOver = !isDead();
      for (let minute = 0; minute < 5; minute++) {
        clock.advance(MINUTE_MS);
        await runDue(context);
      }
      const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
      expect([new Set(ids).size, ids.length <= 2]).toEqual([1, true]);
      expect(await read(id)).toMatchObject({ next_delivery_date: '2026-01-03T07:00:00Z', latest_error: null });
      if (isOver) break;
    }
  }
});

test.each([
  ['that is not due', {}],
  ['that is disabled', { enabled: false }],
])('a change while a step looks again at a subscription %s says when it is sent', async (_, before) => {
  const { subscribe, insight, context, clock, call, run, service } = await subscribing();
  const { id } = await subscribe({ insight });
  await call('PATCH', `/subscriptions/${String(id)}/`, before);
  const { handler } = await import('../../../../functions/steps/compose-subscription.ts');
  let isChanged = false;
  const table = watchWrites(context.table, async () => {
    if (isChanged) return;
    isChanged = true;
    await call('PATCH', `/subscriptions/${String(id)}/`, { enabled: true, start_date: '2026-01-01T13:00:00Z' });
  });
  const organization = service.organization.id;
  await handler({ ...context, table })({ organization, project: service.project.id, id: Number(id) });
  clock.advance(HOUR_MS);
  await run();
  expect(bodies()).toHaveLength(1);
});

test("what PostHog's Terraform provider sends is taken, and comes back as it was", async () => {
  const { subscribe, dashboard, read, call } = await subscribing();
  const { id: board, insights } = await dashboard();
  const sent = {
    target_type: 'webhook',
    target_value: receiver.url,
    integration_id: null,
    dashboard: board,
    dashboard_export_insights: [insights[0]],
    frequency: 'monthly',
    interval: 1,
    start_date: '2026-08-17T07:00:00Z',
    byweekday: ['monday'],
    bysetpos: 1,
    enabled: true,
    title: 'Monthly',
    summary_enabled: false,
  };
  const { id } = await subscribe(sent);
  const { integration_id: _, summary_enabled: __, target_value: ___, ...kept } = sent;
  expect(await read(id)).toMatchObject({
    ...kept,
    resource_type: 'dashboard',
    summary: 'sent every month on the first Monday',
  });
  const cleared = { ...sent, target_value: receiver.url, dashboard_export_insights: [], byweekday: [], bysetpos: null };
  expect(await call('PATCH', `/subscriptions/${String(id)}/`, cleared)).toMatchObject({
    dashboard_export_insights: [],
    byweekday: [],
    bysetpos: null,
    next_delivery_date: '2026-08-17T07:00:00Z',
  });
  expect(await call('PATCH', `/subscriptions/${String(id)}/`, { deleted: true })).toMatchObject({ deleted: true });
});

test('of the 500 of a project those that were deleted make place for new ones, the oldest first', async () => {
  const { subscribe, insight, call, context, service, inProject } = await subscribing();
  const ids: number[] = [];
  for (let made = 0; made < 3; made += 1) ids.push(Number((await subscribe({ insight }))['id']));
  const { id: project } = service.project;
  await addLike(context, project, 497);
  await expect(subscribe({ insight })).rejects.toThrow('A project may have at most 500 subscriptions.');
  for (const id of ids.slice(0, 2)) await call('PATCH', `/subscriptions/${id}/`, { deleted: true });
  await subscribe({ insight });
  const back = ids.map((id) =>
    service.call('PATCH', `${inProject}/subscriptions/${id}/`, { body: { deleted: false } }),
  );
  expect((await Promise.all(back)).map(({ status }) => status)).toEqual([404, 200, 200]);
});

test('a project has at most 500 subscriptions, also when several are made at once', async () => {
  const { subscribe, insight, context, service } = await subscribing();
  await subscribe({ insight });
  const { id: project } = service.project;
  await addLike(context, project, 498);
  await Promise.allSettled([1, 2, 3, 4].map(() => subscribe({ insight })));
  expect(await listAll(context.table, ranges.subscriptionsOf(project))).toHaveLength(500);
});

test('of the 500 of a project those of deleted dashboards and insights make place for new ones', async () => {
  const { subscribe, insight, insightOf, series, call, context, service } = await subscribing();
  const { id: board } = await call('POST', '/dashboards/', { name: 'Board' });
  const gone = await insightOf({ series });
  const { id: ofInsight } = await subscribe({ insight: gone });
  const { id: ofBoard } = await subscribe({ dashboard: board });
  const { id: project } = service.project;
  await subscribe({ insight });
  await addLike(context, project, 497);
  for (const [path, id] of [
    [`/insights/${gone}/`, ofInsight],
    [`/dashboards/${String(board)}/`, ofBoard],
  ] as const) {
    await expect(subscribe({ insight })).rejects.toThrow('A project may have at most 500 subscriptions.');
    await call('PATCH', path, { deleted: true });
    await subscribe({ insight });
    expect(await context.table.get(keys.subscription(project, Number(id)))).toBeUndefined();
  }
});

test('what answers show of an address stays the address', async () => {
  const { subscribe, insight, run, clock, call } = await subscribing();
  const made = await subscribe({ insight });
  const { target_value, target_type } = made;
  await call('PATCH', `/subscriptions/${String(made['id'])}/`, { target_value, target_type, title: 'New' });
  clock.advance(DAY_MS);
  await run();
  expect(receiver.received.map(({ path }) => path)).toEqual(['/hook?key=1']);
});

describe('a subscription is refused', () => {
  test.each([
    [{ insight: 1, dashboard: 1 }, 'insight', 'A subscription sends a dashboard or an insight: leave out one of them.'],
    [{}, 'insight', 'Send a dashboard or an insight.'],
    [{ dashboard: 99 }, 'dashboard', 'Invalid pk "99" - object does not exist.'],
    [
      { insight: 1, target_type: 'sms' },
      'target_type',
      expect.stringContaining('Choose one of: email, slack, webhook.'),
    ],
    [{ insight: 1, target_value: 'C123|#reports' }, 'target_value', expect.stringContaining('not a valid address')],
    [{ insight: 1, integration_id: 3 }, 'integration_id', "'integration_id' is not supported here. Leave it out."],
    [{ insight: 1, prompt: 'Tell me' }, 'prompt', "'prompt' is not supported here. Leave it out."],
    [{ insight: 1, byweekday: ['monday'] }, 'byweekday', expect.stringContaining('choose weekly or monthly')],
    [
      { insight: 1, frequency: 'weekly', byweekday: ['monday'], bysetpos: 1 },
      'bysetpos',
      expect.stringContaining('choose monthly'),
    ],
    [
      { insight: 1, until_date: '2025-12-31T07:00:00Z' },
      'until_date',
      'It is before start_date: nothing would be sent.',
    ],
    [
      { insight: 1, dashboard_export_insights: [1] },
      'dashboard_export_insights',
      'Only of a dashboard can insights be chosen.',
    ],
  ])('%j', async (fields, attr, detail) => {
    const { service, inProject } = await subscribing();
    const body = {
      target_type: 'webhook',
      target_value: receiver.url,
      frequency: 'daily',
      start_date: SEVEN,
      ...fields,
    };
    const reply = await service.call('POST', `${inProject}/subscriptions/`, { body });
    expect([reply.status, reply.body?.['attr'], reply.body?.['detail']]).toEqual([400, attr, detail]);
  });
});
