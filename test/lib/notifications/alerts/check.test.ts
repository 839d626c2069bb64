/** When an alert fires, what it tells, to whom and how often: over the API, the jobs and the steps. */
import { createHmac } from 'node:crypto';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../lib/basics/units.ts';
import { LEVELS } from '../../../../lib/http/levels.ts';
import type { Answers } from '../../../../lib/insights/answering/answers.ts';
import { evaluated } from '../../../../lib/notifications/alerts/rules.ts';
import { nextCheck } from '../../../../lib/notifications/alerts/times.ts';
import { Transient } from '../../../../lib/ports/errors.ts';
import { keys, places, ranges } from '../../../../lib/ports/table/keys.ts';
import { listAll } from '../../../../lib/ports/table/list-all.ts';
import { START, settableClock } from '../../../support/context.ts';
import { notifyingService, runDue } from '../../../support/notifications.ts';
import { type Received, type Receiver, startReceiver } from '../../../support/receiver.ts';
import { tableThatDies, watchWrites } from '../../../support/table-override.ts';

const NOON = START + 12 * HOUR_MS;
const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
beforeEach(() => receiver.reset());
afterAll(() => receiver.close());

const bodies = () => receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
const threshold = (bounds: object, type = 'absolute') => ({ configuration: { type, bounds } });

/** A service at noon, whose alerts tell the receiver. */
async function alerting() {
  const clock = settableClock(NOON);
  const world = await notifyingService({ clock });
  const alert = (fields: object) =>
    world.call('POST', '/alerts/', {
      insight: world.insight,
      name: 'Payments',
      subscribed_users: [],
      notify_url: `${receiver.url}/hook?key=1`,
      ...fields,
    });
  const read = (id: unknown) => world.call('GET', `/alerts/${String(id)}/`);
  return { ...world, clock, alert, read };
}

test('the day before is looked at; a breach is told once, with what it was, and again only of another day', async () => {
  const { alert, read, pay, run, clock, insight, service } = await alerting();
  await pay(NOON - DAY_MS, 12);
  const { id, state, next_check_at } = await alert({
    threshold: threshold({ upper: 10 }),
    notify_secret: SECRET,
    calculation_interval: 'hourly',
  });
  expect({ state, next_check_at }).toEqual({ state: 'Not firing', next_check_at: '2026-01-01T12:00:00Z' });
  await run();
  expect(bodies()).toEqual([
    {
      type: 'alert.firing',
      timestamp: '2026-01-01T12:00:00Z',
      text: "Alert: Payments\n'paid' of 31-Dec-2025 is 12, above 10.",
      data: {
        id: receiver.received[0]?.headers['webhook-id'],
        alert: id,
        name: 'Payments',
        team_id: service.project.id,
        insight,
        insight_name: 'Payments',
        value: 12,
        breaches: ["'paid' of 31-Dec-2025 is 12, above 10."],
        link: null,
      },
    },
  ]);
  const { headers, body } = receiver.received[0] as Received;
  const signed = createHmac('sha256', Buffer.alloc(24, 1)).update(
    `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`,
  );
  expect(headers['webhook-signature']).toBe(`v1,${signed.digest('base64')}`);
  expect(await read(id)).toMatchObject({
    state: 'Firing',
    last_value: 12,
    last_notified_at: '2026-01-01T12:00:00Z',
    next_check_at: '2026-01-01T13:00:00Z',
    latest_error: null,
    checks: [{ calculated_value: 12, state: 'Firing', targets_notified: true }],
  });

  clock.advance(HOUR_MS);
  await run();
  expect(bodies()).toHaveLength(1);
  expect((await read(id))['checks']).toMatchObject([{ state: 'Firing', targets_notified: false }, {}]);
  await pay(clock(), 30);
  clock.set(NOON + DAY_MS);
  await run();
  expect(bodies().map(({ text }) => text)).toEqual([
    "Alert: Payments\n'paid' of 31-Dec-2025 is 12, above 10.",
    "Alert: Payments\n'paid' of 1-Jan-2026 is 30, above 10.",
  ]);
  clock.advance(DAY_MS);
  await run();
  expect(await read(id)).toMatchObject({ state: 'Not firing', last_value: 0 });
});

test.each([
  ['absolute_value', 'absolute', { lower: 13 }, "'paid' of 31-Dec-2025 is 12, below 13."],
  ['relative_increase', 'absolute', { upper: 3 }, "'paid' of 31-Dec-2025 is 12 after 8: an increase of 4, above 3."],
  [
    'relative_increase',
    'percentage',
    { upper: 0.4 },
    "'paid' of 31-Dec-2025 is 12 after 8: an increase of 50%, above 40%.",
  ],
  [
    'relative_decrease',
    'percentage',
    { lower: -0.4 },
    "'paid' of 31-Dec-2025 is 12 after 8: a decrease of -50%, below -40%.",
  ],
  ['relative_increase', 'percentage', { upper: 0.5 }, undefined],
  ['absolute_value', 'absolute', { lower: 12, upper: 12 }, undefined],
])('%s of %s bounds %j', async (type, kind, bounds, sentence) => {
  const { alert, pay, run } = await alerting();
  await pay(NOON - 2 * DAY_MS, 8);
  await pay(NOON - DAY_MS, 12);
  await alert({ condition: { type }, threshold: threshold(bounds, kind) });
  await run();
  expect(bodies().map(({ text }) => text)).toEqual(sentence === undefined ? [] : [`Alert: Payments\n${sentence}`]);
});

test.each([
  [0.0042, 0.003, 'is 0.0042, above 0.003.'],
  [1.0004, 1, 'is 1.0004, above 1.'],
  [33.333333, 12.5, 'is 33.333, above 12.5.'],
  [1_234_567.891, 1_000, 'is 1234567.89, above 1000.'],
])('a number as small as %d is told from its bound %d', (number, upper, end) => {
  const [days, labels] = [
    ['d0', 'd1', 'd2'],
    ['0', '1', '2'],
  ];
  const { breaches } = evaluated([{ name: 'Ratio', key: '', data: [0, number, 0], days, labels }], {
    threshold: { type: 'absolute', lower: null, upper },
    condition: 'absolute_value',
    series_index: 0,
    check_ongoing_interval: false,
    isTotal: false,
    hasBreakdown: false,
  });
  expect(breaches.map(({ sentence }) => sentence)).toEqual([`'Ratio' of 1 ${end}`]);
});

test('an hour that comes twice where clocks are turned back is told twice', () => {
  const days = ['01', '02', '02', '03', '04'].map((hour) => `2026-10-25 ${hour}:00:00`);
  const keys = [3, 4, 5].map((count) => {
    const result = { name: 'Paid', key: 'paid', data: [9, 9, 9, 9, 9], days: days.slice(0, count), labels: days };
    const { breaches } = evaluated([{ ...result, data: result.data.slice(0, count) }], {
      threshold: { type: 'absolute', lower: null, upper: 5 },
      condition: 'absolute_value',
      series_index: 0,
      check_ongoing_interval: false,
      isTotal: false,
      hasBreakdown: false,
    });
    return breaches.map(({ key }) => key).join();
  });
  expect(new Set(keys).size).toBe(3);
});

test('something after nothing has no share, and is above any', async () => {
  const { alert, read, pay, run } = await alerting();
  await pay(NOON - DAY_MS, 5);
  const condition = { type: 'relative_increase' };
  const { id } = await alert({ condition, threshold: threshold({ upper: 9 }, 'percentage') });
  await run();
  expect(bodies()[0]?.['text']).toMatch(/is 5 after 0: an increase from nothing, above 900%\.$/);
  expect(await read(id)).toMatchObject({ state: 'Firing', last_value: null });
});

test('each value of a breakdown is looked at, one number of all the range as it is, and today when that is asked', async () => {
  const { alert, pay, run, insightOf, series } = await alerting();
  await pay(NOON - DAY_MS, 3, { plan: '<b>&basic' });
  await pay(NOON - DAY_MS, 7, { plan: 'pro' });
  await pay(NOON, 20);
  const breakdown = await insightOf({ series, breakdownFilter: { breakdown: 'plan', breakdown_type: 'event' } });
  const total = await insightOf({ series, trendsFilter: { display: 'BoldNumber' } });
  await alert({ insight: breakdown, threshold: threshold({ upper: 2 }) });
  await alert({ insight: total, threshold: threshold({ upper: 29 }) });
  await alert({
    threshold: threshold({ upper: 19 }),
    config: { type: 'TrendsAlertConfig', series_index: 0, check_ongoing_interval: true },
  });
  await run();
  expect(bodies().map(({ data }) => (data as { breaches: string[] }).breaches)).toEqual([
    ["'pro' of 31-Dec-2025 is 7, above 2.", "'<b>&basic' of 31-Dec-2025 is 3, above 2."],
    ["'paid' is 30, above 29."],
    ["'paid' of 1-Jan-2026 is 20, above 19."],
  ]);
});

test('a breakdown without any value is told as a 0 of all, once until there is one again', async () => {
  const { alert, read, pay, run, clock, insightOf, series } = await alerting();
  const told = () => bodies().map(({ data }) => (data as { breaches: string[] }).breaches);
  const breakdownFilter = { breakdown: 'plan', breakdown_type: 'event' };
  const insight = await insightOf({ series, breakdownFilter });
  const total = await insightOf({ series, breakdownFilter, trendsFilter: { display: 'ActionsPie' } });
  await pay(NOON - DAY_MS, 3, { plan: 'pro' });
  const { id } = await alert({ insight, threshold: threshold({ lower: 1 }), calculation_interval: 'weekly' });
  await run();
  expect(told()).toEqual([]);
  clock.advance(7 * DAY_MS);
  await run();
  expect(told()).toEqual([["'All values' is 0, below 1."]]);
  expect(await read(id)).toMatchObject({ state: 'Firing', last_value: 0 });
  clock.advance(7 * DAY_MS);
  await run();
  expect(told()).toHaveLength(1);
  await pay(clock() - DAY_MS, 1, { plan: 'basic' });
  clock.advance(7 * DAY_MS);
  await pay(clock() - DAY_MS, 1, { plan: 'basic' });
  await run();
  expect(await read(id)).toMatchObject({ state: 'Not firing' });
  clock.advance(70 * DAY_MS);
  await run();
  expect(told()).toHaveLength(2);
  await alert({ insight: total, threshold: threshold({ lower: 1 }) });
  await run();
  expect(told()[2]).toEqual(["'All values' is 0, below 1."]);
});

test('the interval that goes on is never too low: a lower bound is held against the last whole one', async () => {
  const { alert, pay, run, clock } = await alerting();
  await pay(NOON - DAY_MS, 12);
  const config = { type: 'TrendsAlertConfig', check_ongoing_interval: true };
  await alert({ threshold: threshold({ lower: 10, upper: 20 }), config });
  await run();
  expect(bodies()).toEqual([]);
  clock.advance(DAY_MS);
  await pay(clock(), 21);
  await run();
  expect(bodies().map(({ data }) => (data as { breaches: string[] }).breaches)).toEqual([
    ["'paid' of 2-Jan-2026 is 21, above 20.", "'paid' of 1-Jan-2026 is 0, below 10."],
  ]);
});

test('values of a formula, long ones and those of two series alike are told each by itself, in words', async () => {
  const { alert, pay, run, insightOf, series, clock } = await alerting();
  const long = 'x'.repeat(250);
  await pay(NOON - DAY_MS, 3, { plan: `${long}1` });
  const breakdownFilter = { breakdown: 'plan', breakdown_type: 'event' };
  const ofVips = { ...series[0], properties: [{ type: 'event', key: 'vip', value: 'yes', operator: 'exact' }] };
  const byFormula = await insightOf({ series, breakdownFilter, trendsFilter: { formula: 'A' } });
  const bySeries = await insightOf({ series: [series[0], ofVips], breakdownFilter });
  const fields = { threshold: threshold({ upper: 2 }), calculation_interval: 'hourly' };
  for (const insight of [byFormula, bySeries]) await alert({ insight, ...fields });
  await run();
  await pay(NOON - DAY_MS, 4, { plan: `${long}2` });
  clock.advance(HOUR_MS);
  await run();
  await pay(NOON - DAY_MS, 3, { plan: `${long}2`, vip: 'yes' });
  await pay(NOON - DAY_MS, 5);
  clock.advance(HOUR_MS);
  await run();
  const told = bodies().map(({ data }) => (data as { breaches: string[] }).breaches);
  expect(told.map(({ length }) => length)).toEqual([1, 1, 2, 2, 3, 4]);
  expect(told[4]).toContain("'Formula (A) - No value' of 31-Dec-2025 is 5, above 2.");
});

test('of more values than are known at a time, none is told of an interval again when their order changes', async () => {
  const { alert, pay, run, insightOf, series, clock } = await alerting();
  for (let plan = 10; plan <= 60; plan++) await pay(NOON - DAY_MS, 1, { plan: `plan ${plan}` });
  const breakdownFilter = { breakdown: 'plan', breakdown_type: 'event', breakdown_limit: 60 };
  const insight = await insightOf({ series, breakdownFilter });
  await alert({ insight, threshold: threshold({ upper: 0 }), calculation_interval: 'hourly' });
  await run();
  await pay(NOON, 1, { plan: 'plan 60' });
  clock.advance(HOUR_MS);
  await run();
  expect(bodies()).toEqual([expect.objectContaining({ text: expect.stringContaining('41 more are out of bounds.') })]);
});

test('a mean that leaves its bounds again and again in an interval is told once of it', async () => {
  const { alert, read, pay, run, insightOf, series, clock } = await alerting();
  const insight = await insightOf({ series: [{ ...series[0], math: 'avg', math_property: 'amount' }] });
  const fields = { threshold: threshold({ upper: 10 }), calculation_interval: 'hourly' };
  const { id } = await alert({
    insight,
    ...fields,
    config: { type: 'TrendsAlertConfig', check_ongoing_interval: true },
  });
  const states: unknown[] = [];
  for (const amount of [20, -20, 60, -80, 200]) {
    await pay(NOON, 1, { amount });
    await run();
    states.push((await read(id))['state']);
    clock.advance(HOUR_MS);
  }
  expect(states).toEqual(['Firing', 'Not firing', 'Firing', 'Not firing', 'Firing']);
  expect(bodies()).toHaveLength(1);
});

test('the values of an interval that were told leave place for those of the one that goes on', async () => {
  const { alert, pay, run, insightOf, series, clock } = await alerting();
  const breakdownFilter = { breakdown: 'plan', breakdown_type: 'event', breakdown_limit: 60 };
  const insight = await insightOf({ series, breakdownFilter });
  for (let plan = 10; plan <= 69; plan++) await pay(NOON - DAY_MS, 1, { plan: `plan ${plan}` });
  const fields = { threshold: threshold({ lower: 2, upper: 5 }), calculation_interval: 'hourly' };
  await alert({ insight, ...fields, config: { type: 'TrendsAlertConfig', check_ongoing_interval: true } });
  await run();
  await pay(NOON, 6, { plan: 'plan 69' });
  clock.advance(HOUR_MS);
  await run();
  expect(bodies()).toHaveLength(2);
});

test('an alert without a name is told under that of its insight, or its number', async () => {
  const { alert, pay, run, insightOf, series } = await alerting();
  await pay(NOON - DAY_MS, 12);
  const insight = await insightOf({ series }, '');
  await alert({ insight, name: '', threshold: threshold({ upper: 1 }) });
  await run();
  expect(bodies()[0]).toMatchObject({
    text: expect.stringMatching(`^Alert: Insight ${insight}\n`),
    data: { insight_name: `Insight ${insight}` },
  });
});

test("Slack's form shows names as they are: they make no links and call nobody", async () => {
  const { alert, pay, run } = await alerting();
  await pay(NOON - DAY_MS, 12);
  const name = '<!channel> & <http://evil|x> @here http://evil';
  await alert({ name, notify_type: 'slack', threshold: threshold({ upper: 1 }) });
  await run();
  const title = 'Alert: &lt;!channel&gt; &amp; &lt;http://evil|x&gt; @here http://evil';
  const line = "'paid' of 31-Dec-2025 is 12, above 1.";
  expect(bodies()).toEqual([
    {
      text: `${title.replace('@', '@\u2060')}\n${line}`,
      blocks: [{ type: 'section', text: { type: 'mrkdwn', text: `*${title}*\n${line}`, verbatim: true } }],
    },
  ]);
});

test('the form goes with the address, unless it was chosen', async () => {
  const { alert, call } = await alerting();
  const { id } = await alert({
    threshold: threshold({ upper: 1 }),
    notify_url: 'https://hooks.slack.com/services/T/B/x',
  });
  const formAfter = async (fields: object) => (await call('PATCH', `/alerts/${String(id)}/`, fields))['notify_type'];
  const [plain, slack] = ['https://hooks.example.com/x', 'https://hooks.slack.com/services/T/B/y'];
  expect(await formAfter({ notify_url: plain })).toBe('webhook');
  expect(await formAfter({ notify_url: slack })).toBe('slack');
  expect(await formAfter({ name: 'Payments by day' })).toBe('slack');
  expect(await formAfter({ notify_url: null })).toBe('slack');
  expect(await formAfter({ notify_url: plain })).toBe('webhook');
  expect(await formAfter({ notify_type: 'slack' })).toBe('slack');
  expect(await formAfter({ notify_url: `${plain}/y` })).toBe('slack');
});

test('a webhook that does not take it is tried again with the same id, for a day; after a week of that it is paused', async () => {
  const { alert, read, pay, run, clock, call } = await alerting();
  receiver.answer = () => ({ status: 500 });
  const { id } = await alert({ threshold: threshold({ lower: 1 }) });
  await run();
  expect(await read(id)).toMatchObject({
    state: 'Firing',
    latest_error: `A message could not be sent: ${new URL(receiver.url).host} answered 500. It will be tried again.`,
  });
  for (let minute = 0; minute < 4; minute++) {
    clock.advance(MINUTE_MS);
    await run();
  }
  const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
  expect([receiver.received.length, ids.size]).toEqual([3, 1]);
  receiver.answer = () => ({ status: 200 });
  clock.advance(HOUR_MS);
  await run();
  expect(await read(id)).toMatchObject({ latest_error: null, checks: [{ targets_notified: true }] });

  receiver.answer = () => ({ status: 500 });
  // A day that has a breach of its own is told each day, and none is taken.
  for (let hour = 0; hour < 9 * 24; hour++) {
    clock.advance(HOUR_MS);
    await run();
  }
  const paused = await read(id);
  expect(paused).toMatchObject({
    enabled: false,
    next_check_at: null,
    paused_reason: expect.stringMatching(/^It has failed for 7 days: A message could not be sent: .* answered 500\./),
  });
  const before = receiver.received.length;
  clock.advance(3 * DAY_MS);
  await run();
  expect(receiver.received).toHaveLength(before);
  receiver.answer = () => ({ status: 200 });
  await call('PATCH', `/alerts/${String(id)}/`, { enabled: true });
  await run();
  expect(await read(id)).toMatchObject({ enabled: true, paused_reason: null, latest_error: null });
  await pay(clock(), 1);
});

test('an insight that cannot be answered any more is said, and tried again; it tells nobody', async () => {
  const { alert, read, run, call, insight } = await alerting();
  const { id } = await alert({ threshold: threshold({ lower: 1 }) });
  await call('PATCH', `/insights/${insight}/`, { query: { kind: 'TrendsQuery', series: [] } });
  await run();
  expect(bodies()).toEqual([]);
  expect(await read(id)).toMatchObject({
    state: 'Errored',
    enabled: true,
    latest_error: 'Ensure this field has at least 1 elements.',
    checks: [{ state: 'Errored', calculated_value: null }],
  });
  await call('PATCH', `/insights/${insight}/`, { query: { kind: 'FunnelsQuery', series: [] } });
  const path = `/alerts/${String(id)}/`;
  expect(await call('PATCH', path, { enabled: false })).toMatchObject({ enabled: false });
  await expect(call('PATCH', path, { enabled: true })).rejects.toThrow('FunnelsQuery is not supported');
});

test('it tells what whoever made it may see then: after they have left, it is paused', async () => {
  const { read, run, service, insight, call } = await alerting();
  const member = await service.newUser(LEVELS.member);
  const key = await service.newKey(member);
  const fields = { insight, subscribed_users: [], threshold: threshold({ lower: 1 }), notify_url: receiver.url };
  const { id } = await call('POST', '/alerts/', fields, { key });
  const other = await service.newUser(LEVELS.member);
  const denied = await service.call('PATCH', `/api/projects/${service.project.id}/alerts/${String(id)}/`, {
    key: await service.newKey(other),
    body: { notify_url: 'http://127.0.0.1:1/mine' },
  });
  expect([denied.status, denied.body?.['detail']]).toEqual([
    403,
    'Only whoever made the alert, and admins, may change it.',
  ]);
  await service.call('DELETE', `/api/organizations/${service.organization.id}/members/${member.uuid}/`);
  await run();
  expect(bodies()).toEqual([]);
  expect(await read(id)).toMatchObject({
    enabled: false,
    paused_reason: 'Whoever made it may not see it any more. Enable it again once they may.',
  });
});

test('whoever may not see its insight any more can disable and remove it, and no more', async () => {
  const { read, insight, call, service, inProject } = await alerting();
  const key = await service.newKey(await service.newUser(LEVELS.member));
  const fields = { insight, subscribed_users: [], threshold: threshold({ lower: 1 }), notify_url: receiver.url };
  const { id } = await call('POST', '/alerts/', fields, { key });
  const { id: board } = await call('POST', '/dashboards/', { tiles: [{ insight }] });
  await call('PUT', `/dashboards/${String(board)}/access_controls/`, { access_level: 'none' });
  const path = `${inProject}/alerts/${String(id)}/`;
  const patch = (body: object) => service.call('PATCH', path, { key, body });
  for (const body of [{ enabled: true }, { enabled: false, name: 'x' }, { name: 'x' }])
    expect((await patch(body)).status).toBe(403);
  const { status, body } = await patch({ enabled: false });
  expect([status, body]).toMatchObject([200, { enabled: false, insight: { id: insight, name: null, query: null } }]);
  expect(await read(id)).toMatchObject({ enabled: false, insight: { name: 'Payments' } });
  expect((await service.call('GET', path, { key })).status).toBe(403);
  expect((await service.call('DELETE', path, { key })).status).toBe(204);
});

test('alerts are found by a part of their name or of their insight’s', async () => {
  const { alert, call } = await alerting();
  for (const name of ['Too few', 'Too many', '']) await alert({ name, threshold: threshold({ lower: 1 }) });
  const found = async (search: string) => {
    const { count, results } = await call('GET', `/alerts/?search=${search}`);
    expect(results).toHaveLength(Number(count));
    return (results as { name: string }[]).map(({ name }) => name);
  };
  expect(await found('MANY')).toEqual(['Too many']);
  expect(await found('payments')).toHaveLength(3);
  expect(await found('')).toHaveLength(3);
  expect(await found('else')).toEqual([]);
});

test('with its insight it goes and comes back; deleted, it leaves nothing', async () => {
  const { alert, run, context, service, insight, call, clock, inProject } = await alerting();
  const { id } = await alert({ threshold: threshold({ lower: 1 }), calculation_interval: 'hourly' });
  await call('PATCH', `/insights/${insight}/`, { deleted: true });
  await run();
  expect((await service.call('GET', `${inProject}/alerts/${String(id)}/`)).status).toBe(404);
  expect(await call('GET', '/alerts/')).toMatchObject({ count: 0, results: [] });
  await call('PATCH', `/insights/${insight}/`, { deleted: false });
  clock.advance(HOUR_MS);
  await run();
  expect(await call('GET', `/alerts/?insight=${insight}`)).toMatchObject({
    count: 1,
    results: [{ id, state: 'Firing' }],
  });
  expect(bodies()).toHaveLength(1);
  await call('DELETE', `/alerts/${String(id)}/`);
  expect(await listAll(context.table, ranges.alertsOf(service.project.id))).toEqual([]);
  expect(await listAll(context.table, ranges.dueJobs(clock() + 365 * DAY_MS))).toEqual([]);
});

test('with its insight deleted it can be stopped and deleted, and nothing else', async () => {
  const { alert, read, service, insight, call, inProject } = await alerting();
  const made = await Promise.all([0, 1].map(() => alert({ threshold: threshold({ lower: 1 }) })));
  const [stopped, removed] = made.map(({ id }) => `${inProject}/alerts/${String(id)}/`) as [string, string];
  await call('PATCH', `/insights/${insight}/`, { deleted: true });
  for (const body of [{ enabled: true }, { enabled: false, name: 'x' }, { name: 'x' }, {}])
    expect((await service.call('PATCH', stopped, { body })).status).toBe(404);
  const { status, body } = await service.call('PATCH', stopped, { body: { enabled: false } });
  expect([status, body]).toMatchObject([200, { enabled: false, insight: { id: insight, deleted: true } }]);
  expect((await service.call('DELETE', removed)).status).toBe(204);
  await call('PATCH', `/insights/${insight}/`, { deleted: false });
  expect(await read(made[0]?.['id'])).toMatchObject({ enabled: false });
  expect((await service.call('GET', removed)).status).toBe(404);
});

test('of the 500 of a project those whose insights are deleted make place for new ones', async () => {
  const { alert, insightOf, series, insight, call, context, service } = await alerting();
  const gone = await insightOf({ series });
  const { id } = await alert({ insight: gone, threshold: threshold({ lower: 1 }) });
  const { id: project } = service.project;
  const [like] = await listAll(context.table, ranges.alertsOf(project));
  if (like === undefined) throw new Error('there is none');
  const others = Array.from({ length: 499 }, (_, at) => `other ${at}`).map((other) => ({
    put: {
      ...like,
      ...keys.alert(project, other),
      ...places.alertOf(project, NOON, other),
      id: other,
      insight_id: insight,
    },
  }));
  await context.table.write(others, { apart: true });
  const one = { threshold: threshold({ lower: 1 }) };
  await expect(alert(one)).rejects.toThrow('A project may have at most 500 alerts.');
  await call('PATCH', `/insights/${gone}/`, { deleted: true });
  await alert(one);
  expect(await context.table.get(keys.alert(project, String(id)))).toBeUndefined();
  await expect(alert(one)).rejects.toThrow('A project may have at most 500 alerts.');
});

test('it is deleted only in a version that If-Match names', async () => {
  const { alert, call, service, inProject } = await alerting();
  const { id } = await alert({ threshold: threshold({ lower: 1 }) });
  await call('PATCH', `/alerts/${String(id)}/`, { name: 'Fewer payments' });
  const path = `${inProject}/alerts/${String(id)}/`;
  expect((await service.call('DELETE', path, { headers: { 'If-Match': '"1"' } })).status).toBe(412);
  expect((await service.call('DELETE', path, { headers: { 'If-Match': '"2"' } })).status).toBe(204);
});

test('snoozed it does not look, until then or until that is taken back', async () => {
  const { alert, read, run, call, clock } = await alerting();
  const { id } = await alert({ threshold: threshold({ lower: 1 }), calculation_interval: 'hourly' });
  expect(await call('PATCH', `/alerts/${String(id)}/`, { snoozed_until: '2h' })).toMatchObject({
    state: 'Snoozed',
    snoozed_until: '2026-01-01T14:00:00Z',
  });
  // What it is to look at then may be changed.
  expect(await call('PATCH', `/alerts/${String(id)}/`, { threshold: threshold({ lower: 2 }) })).toMatchObject({
    state: 'Snoozed',
    snoozed_until: '2026-01-01T14:00:00Z',
  });
  clock.advance(HOUR_MS);
  await run();
  expect(bodies()).toEqual([]);
  clock.advance(HOUR_MS);
  await run();
  expect(await read(id)).toMatchObject({ state: 'Firing', snoozed_until: null });
  await call('PATCH', `/alerts/${String(id)}/`, { snoozed_until: '1d' });
  await call('PATCH', `/alerts/${String(id)}/`, { snoozed_until: null });
  clock.advance(MINUTE_MS);
  await run();
  expect(bodies()).toHaveLength(2);
  // Where nothing was snoozed, nothing is taken back.
  expect(await call('PATCH', `/alerts/${String(id)}/`, { snoozed_until: null })).toMatchObject({ state: 'Firing' });
  clock.advance(HOUR_MS);
  await run();
  expect(bodies()).toHaveLength(2);
});

test('made snoozed, it looks when that is over', async () => {
  const { alert, run, clock } = await alerting();
  expect(await alert({ threshold: threshold({ lower: 1 }), snoozed_until: '2h' })).toMatchObject({
    state: 'Snoozed',
    snoozed_until: '2026-01-01T14:00:00Z',
  });
  await run();
  expect(bodies()).toEqual([]);
  clock.advance(2 * HOUR_MS);
  await run();
  expect(bodies()).toHaveLength(1);
});

test('agents that decide what is told are refused, at their defaults they are not', async () => {
  const { alert, service, inProject, insight } = await alerting();
  const fields = { insight, subscribed_users: [], threshold: threshold({ lower: 1 }) };
  for (const sent of [{ investigation_agent_enabled: true }, { investigation_inconclusive_action: 'suppress' }]) {
    const reply = await service.call('POST', `${inProject}/alerts/`, { body: { ...fields, ...sent } });
    expect([reply.status, reply.body?.['attr']]).toEqual([400, Object.keys(sent)[0]]);
  }
  const defaults = { investigation_agent_enabled: false, investigation_inconclusive_action: 'notify' };
  expect(await alert({ ...fields, ...defaults })).toMatchObject({ state: 'Not firing' });
});

test.each([
  '2026-01-01T12:00:00Z',
  '0h',
  '2026-02-30T10:00:00Z',
  '9999-12-31T23:59:59-14:00',
  '2026-01-31 (noon)',
  'tomorrow',
])('it is not snoozed until %s', async (snoozed_until) => {
  const { alert, service, inProject } = await alerting();
  const { id } = await alert({ threshold: threshold({ lower: 1 }) });
  const reply = await service.call('PATCH', `${inProject}/alerts/${String(id)}/`, { body: { snoozed_until } });
  expect([reply.status, reply.body?.['attr']]).toEqual([400, 'snoozed_until']);
});

test('a snooze that ends on a weekend that is skipped starts nothing before Monday', async () => {
  const { alert, call, run, clock, context } = await alerting();
  const { id } = await alert({ threshold: threshold({ upper: 1 }), skip_weekend: true });
  await run();
  await call('PATCH', `/alerts/${String(id)}/`, { snoozed_until: '2d' });
  const before = context.workflow.started.length;
  clock.set(Date.parse('2026-01-03T12:00:00Z'));
  await run();
  expect(context.workflow.started).toHaveLength(before);
  clock.set(Date.parse('2026-01-05T12:00:00Z'));
  await run();
  expect(context.workflow.started).toHaveLength(before + 1);
});

test('a time without a zone until which it is snoozed is of UTC, wherever the service runs', async () => {
  const zone = process.env['TZ'];
  process.env['TZ'] = 'Europe/Berlin';
  try {
    const { alert, call } = await alerting();
    const { id } = await alert({ threshold: threshold({ lower: 1 }) });
    expect(await call('PATCH', `/alerts/${String(id)}/`, { snoozed_until: '2026-01-03T10:00' })).toMatchObject({
      snoozed_until: '2026-01-03T10:00:00Z',
    });
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});

test('killed before or after any write, it is told, and with one id', async () => {
  for (const after of [false, true]) {
    for (let n = 1; ; n++) {
      receiver.reset();
      const { alert, context, read } = await alerting();
      const { id } = await alert({ threshold: threshold({ lower: 1 }) });
      const { dying, isDead } = tableThatDies(context.table, n, after);
      await runDue(context, { ...context, table: dying });
      const isOver = !isDead();
      // What was under way is started again by its job.
      for (let minute = 0; minute < 5; minute++) {
        context.clock.advance(MINUTE_MS);
        await runDue(context);
      }
      const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
      expect(new Set(ids).size).toBe(1);
      expect(ids.length).toBeLessThanOrEqual(2);
      expect(await read(id)).toMatchObject({ state: 'Firing', checks: [{ targets_notified: true }] });
      expect((await read(id))['checks']).toHaveLength(1);
      if (isOver) break;
    }
  }
});

test('two that check it at once tell of it once', async () => {
  const { alert, context } = await alerting();
  await alert({ threshold: threshold({ lower: 1 }) });
  const { handler } = await import('../../../../functions/steps/check-alert.ts');
  const [job] = await context.table.many(await listAll(context.table, ranges.dueJobs(context.clock())));
  const input = JSON.parse(String(job?.about)) as never;
  await Promise.all([handler(context)(input), handler(context)(input)]);
  await runDue(context);
  expect(bodies()).toHaveLength(1);
});

test('that is late says so, until it has looked; one that is snoozed or skips a weekend is not late', async () => {
  const { alert, read, run, clock, insight, call } = await alerting();
  const { id } = await alert({ threshold: threshold({ upper: 10 }), calculation_interval: 'hourly' });
  const { id: snoozed } = await alert({ threshold: threshold({ upper: 10 }) });
  await call('PATCH', `/alerts/${String(snoozed)}/`, { snoozed_until: '1h' });
  clock.set(NOON + 9 * MINUTE_MS);
  expect((await read(id))['latest_error']).toBeNull();
  clock.set(NOON + 10 * MINUTE_MS);
  const late = 'What was due at 2026-01-01T12:00:00Z is late: it has not had its turn yet.';
  expect(await read(id)).toMatchObject({ latest_error: late, state: 'Not firing', last_checked_at: null });
  const { results } = await call('GET', `/alerts/?insight=${insight}`);
  expect(results).toContainEqual(expect.objectContaining({ id, latest_error: late }));
  expect(results).toContainEqual(expect.objectContaining({ id: snoozed, latest_error: null }));
  await run();
  expect((await read(id))['latest_error']).toBeNull();
  expect((await read(snoozed))['latest_error']).toBeNull();
  const saturday = Date.UTC(2026, 0, 3, 12);
  clock.set(saturday);
  const { id: weekday } = await alert({ threshold: threshold({ upper: 10 }), skip_weekend: true });
  clock.set(saturday + HOUR_MS);
  expect((await read(weekday))['latest_error']).toBeNull();
});

test('asks as whoever made it, in the line of alerts', async () => {
  const { alert, context, service, run: runAll } = await alerting();
  await alert({ threshold: threshold({ upper: 10 }) });
  const asked: unknown[] = [];
  const ask: Answers['ask'] = (query, refresh, asker) => {
    asked.push({ user: asker.user, isNotifier: asker.isNotifier });
    return context.answers?.ask(query, refresh, asker) ?? Promise.reject(new Error('there are answers'));
  };
  await runDue(context, { ...context, answers: { ...context.answers, ask } as Answers });
  await runAll();
  const { body } = await service.call('GET', '/api/users/@me/');
  expect(asked).toEqual([{ user: body?.['uuid'], isNotifier: true }]);
});

test('that has no turn to be answered comes again before its step has no time', async () => {
  const { alert, context, read } = await alerting();
  const { id } = await alert({ threshold: threshold({ lower: 1 }) });
  const { handler } = await import('../../../../functions/steps/check-alert.ts');
  const asked = Promise.withResolvers<void>();
  const ask: Answers['ask'] = (_query, _refresh, { callerLeft }) => {
    asked.resolve();
    return new Promise((_resolve, reject) => callerLeft?.addEventListener('abort', () => reject(callerLeft.reason)));
  };
  const [job] = await context.table.many(await listAll(context.table, ranges.dueJobs(context.clock())));
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
  const answers = { ...context.answers, ask } as Answers;
  const checking = handler({ ...context, answers })(JSON.parse(String(job?.about)) as never);
  const ended = checking.catch((error: unknown) => error);
  await asked.promise;
  jest.advanceTimersByTime(330_000);
  expect(await ended).toBeInstanceOf(Transient);
  jest.useRealTimers();
  expect((await read(id))['state']).toBe('Not firing');
});

test.each([
  ['that is not due', {}],
  ['that is disabled', { enabled: false }],
])('a change while a step looks again at an alert %s says when it looks next', async (_, before) => {
  const { alert, context, call, run, service } = await alerting();
  const { id } = await alert({ threshold: threshold({ upper: 1 }) });
  await run();
  await call('PATCH', `/alerts/${String(id)}/`, before);
  const { handler } = await import('../../../../functions/steps/check-alert.ts');
  let isChanged = false;
  const table = watchWrites(context.table, async () => {
    if (isChanged) return;
    isChanged = true;
    await call('PATCH', `/alerts/${String(id)}/`, { enabled: true, threshold: threshold({ lower: 1 }) });
  });
  const organization = service.organization.id;
  await handler({ ...context, table })({ organization, project: service.project.id, id: String(id) });
  await run();
  expect(bodies()).toHaveLength(1);
});

describe('an alert is refused', () => {
  const refused = async (fields: object, insight?: object) => {
    const { service, insight: own, insightOf } = await alerting();
    const id = insight === undefined ? own : await insightOf(insight);
    const body = { insight: id, subscribed_users: [], threshold: threshold({ upper: 1 }), ...fields };
    const reply = await service.call('POST', `/api/projects/${service.project.id}/alerts/`, { body });
    return [reply.status, reply.body?.['attr'], reply.body?.['detail']];
  };

  test.each([
    [{ threshold: threshold({}) }, 'threshold__configuration__bounds', 'Set lower or upper, or both.'],
    [
      { threshold: threshold({ lower: 2, upper: 1 }) },
      'threshold__configuration__bounds',
      'lower must not be above upper.',
    ],
    [
      { threshold: threshold({ upper: 1 }, 'percentage') },
      'threshold__configuration__type',
      'A percentage is of a change: choose a condition that is relative.',
    ],
    [
      { config: { type: 'TrendsAlertConfig', series_index: 1 } },
      'config__series_index',
      'The insight has 1 series: series_index is 0.',
    ],
    [
      { threshold: threshold({ lower: 1 }), config: { type: 'TrendsAlertConfig', check_ongoing_interval: true } },
      'config__check_ongoing_interval',
      'The interval that goes on can only be found to be above an upper bound.',
    ],
    [{ insight: 99 }, 'insight', 'Invalid pk "99" - object does not exist.'],
    [
      { detector_config: { type: 'zscore' } },
      'detector_config',
      "'detector_config' is not supported here. Leave it out.",
    ],
    [{ notify_url: 'ftp://x' }, 'notify_url', expect.stringContaining('is not a valid address')],
  ])('%j', async (fields, attr, detail) => {
    expect(await refused(fields)).toEqual([400, attr, detail]);
  });

  test('of an insight that has no series, which no index mends', async () => {
    expect(await refused({}, { kind: 'TrendsQuery', series: [] })).toEqual([
      400,
      'insight',
      'The insight counts nothing: its query has no series.',
    ]);
  });

  test('of an insight that has no numbers by intervals', async () => {
    expect(await refused({}, { kind: 'FunnelsQuery', series: [] })).toEqual([
      400,
      'insight',
      'An alert watches a TrendsQuery; FunnelsQuery is not supported.',
    ]);
  });
});

test('by the hour it looks at each hour, however late each look is', async () => {
  const { alert, pay, run, clock, insightOf, series } = await alerting();
  const insight = await insightOf({ series, interval: 'hour' });
  for (let hour = 0; hour < 4; hour++) await pay(NOON + hour * HOUR_MS, 1);
  clock.set(NOON + HOUR_MS - 90_000);
  await alert({ insight, threshold: threshold({ upper: 0 }), calculation_interval: 'hourly' });
  while (clock() < NOON + 5 * HOUR_MS) {
    await run();
    clock.advance(MINUTE_MS + 13_000);
  }
  expect(bodies().map(({ data }) => (data as { breaches: string[] }).breaches)).toEqual(
    [12, 13, 14, 15].map((hour) => [`'paid' of 1-Jan ${hour}:00 is 1, above 0.`]),
  );
});

test('what could not be answered before it was snoozed is forgotten when it is answered again', async () => {
  const { alert, read, pay, run, call, insight, series, clock } = await alerting();
  await pay(NOON, 1);
  const { id } = await alert({ threshold: threshold({ upper: 10 }) });
  await call('PATCH', `/insights/${insight}/`, { query: { kind: 'TrendsQuery', series: [] } });
  await run();
  await call('PATCH', `/alerts/${String(id)}/`, { snoozed_until: '1d' });
  await call('PATCH', `/insights/${insight}/`, { query: { kind: 'TrendsQuery', series } });
  clock.advance(DAY_MS);
  await run();
  expect(await read(id)).toMatchObject({ state: 'Not firing', latest_error: null });
});

test('it looks by the clocks of the project, as PostHog does', () => {
  const next = (interval: 'hourly' | 'daily' | 'weekly' | 'monthly', at: string, skip_weekend = false) =>
    new Date(
      nextCheck(
        Date.parse(at),
        { calculation_interval: interval, skip_weekend, next_check_at: Date.parse('2026-03-28T22:20:00Z') },
        'Europe/Berlin',
      ),
    ).toISOString();
  expect(next('hourly', '2026-03-29T00:30:00Z')).toBe('2026-03-29T01:20:00.000Z');
  expect(next('daily', '2026-03-27T12:00:00Z')).toBe('2026-03-28T00:00:00.000Z');
  expect(next('daily', '2026-03-29T12:00:00Z')).toBe('2026-03-29T23:00:00.000Z');
  expect(next('weekly', '2026-03-25T12:00:00Z')).toBe('2026-03-30T01:00:00.000Z');
  expect(next('monthly', '2026-01-31T12:00:00Z')).toBe('2026-02-01T03:00:00.000Z');
  expect(next('daily', '2026-03-27T12:00:00Z', true)).toBe('2026-03-29T23:00:00.000Z');
});
