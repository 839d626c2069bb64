/** Mail of alerts and subscriptions: to whom, and what it looks like. */

import { handler as composeSubscription } from '../../../functions/steps/compose-subscription.ts';
import { handler as sendMessage } from '../../../functions/steps/send-message.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { tick } from '../../../lib/jobs/tick.ts';
import { letterOf } from '../../../lib/notifications/messages/letter.ts';
import type { Message } from '../../../lib/notifications/messages/message.ts';
import { slackBody } from '../../../lib/notifications/messages/slack.ts';
import { type Page, PictureFailed, type Pictures } from '../../../lib/pictures/pictures.ts';
import { fail, Permanent, Transient } from '../../../lib/ports/errors.ts';
import type { Letter } from '../../../lib/ports/mail/mail.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { START, settableClock } from '../../support/context.ts';
import { notifyingService } from '../../support/notifications.ts';

const SEVEN = '2026-01-01T07:00:00Z';

/** A service at noon that sends mail, which is kept; `pictures` is its browser, and `meanwhile` happens while a mail is sent. */
async function mailing(pictures: Pictures | null = null) {
  const letters: Letter[] = [];
  const refusals: Error[] = [];
  const meanwhile: (() => Promise<void>)[] = [];
  const mail = {
    send: async (letter: Letter) => {
      await meanwhile.shift()?.();
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      letters.push(letter);
    },
  };
  const settings = {
    ...LOCAL_SETTINGS,
    strictAnswers: true,
    publicUrl: 'https://analytics.example.com',
    mailFrom: 'analytics@example.com',
  };
  const world = await notifyingService({ clock: settableClock(START + 12 * HOUR_MS), mail, settings, pictures });
  return { ...world, clock: world.context.clock, letters, refusals, meanwhile };
}

test('an alert is mailed to its users who are members still, and see the insight', async () => {
  const { letters, call, run, service, insight } = await mailing();
  const people = await Promise.all(
    [LEVELS.member, LEVELS.member, LEVELS.member].map((level) => service.newUser(level)),
  );
  const [told, left, blind] = people;
  const { id } = await call('POST', '/dashboards/', { name: 'Closed', tiles: [{ insight }] });
  await call('PUT', `/dashboards/${String(id)}/access_controls/`, {
    access_level: 'none',
    organization_member: blind?.uuid,
  });
  const threshold = { configuration: { type: 'absolute', bounds: { lower: 1 } } };
  const stranger = await service.newUser();
  await expect(call('POST', '/alerts/', { insight, threshold, subscribed_users: [stranger.id] })).rejects.toThrow(
    `The organization has no member with the number ${stranger.id}.`,
  );
  await call('POST', '/alerts/', {
    insight,
    name: 'None',
    subscribed_users: people.map((user) => user.id),
    threshold,
  });
  await service.call('DELETE', `/api/organizations/${service.organization.id}/members/${left?.uuid}/`);
  await run();
  const link = `https://analytics.example.com/#/projects/${service.project.id}/insights/${insight}`;
  expect(letters).toEqual([
    {
      id: expect.stringMatching(/^1-[0-9a-f-]{36}$/),
      to: told?.email,
      subject: 'Alert: None',
      text: [
        'Alert: None',
        "'paid' of 31-Dec-2025 is 0, below 1.",
        link,
        '',
        'An alert sends this. Whoever made it, or an admin of the organization, can stop it.',
        '',
      ].join('\n'),
      html: expect.stringContaining(`<a href="${link}">Alert: None</a>`) as unknown,
      pictures: [],
    },
  ]);
});

test('a subscription is mailed to each address by itself; names in it are harmless', async () => {
  const { letters, refusals, call, run, clock, insightOf, series, pay } = await mailing();
  await pay(clock(), 3);
  const insight = await insightOf({ series, dateRange: { date_from: '-1d' } }, '<img src=x>\r\nBcc: x@y.z');
  const { id } = await call('POST', '/subscriptions/', {
    insight,
    target_type: 'email',
    target_value: 'ada@example.com, bob@example.com,ada@example.com',
    frequency: 'daily',
    start_date: SEVEN,
  });
  clock.advance(DAY_MS);
  refusals.push(new Transient('The mail server answered 451.'), new Permanent('The mail server answered 550.'));
  await run();
  clock.advance(MINUTE_MS);
  await run();
  expect(letters.map(({ to }) => to)).toEqual(['ada@example.com']);
  const [letter] = letters;
  expect(letter?.subject).toBe('<img src=x> Bcc: x@y.z');
  expect(letter?.text).toContain('1-Jan-2026');
  expect(letter?.html).toMatch(/&lt;img src=x&gt;/);
  expect(letter?.html).not.toMatch(/<img/);
  expect(letter?.html).toMatch(/<td style="[^"]*right;">3<\/td>/);
  expect(await call('GET', `/subscriptions/${String(id)}/`)).toMatchObject({
    target_value: 'ada@example.com, bob@example.com,ada@example.com',
    last_delivered_at: '2026-01-02T12:01:00Z',
    latest_error: null,
  });
});

test('who was taken off an alert gets none of its mail that waits for another try', async () => {
  const { letters, refusals, call, run, clock, service, insight } = await mailing();
  const [stays, goes] = [await service.newUser(LEVELS.member), await service.newUser(LEVELS.member)];
  const threshold = { configuration: { type: 'absolute', bounds: { lower: 1 } } };
  const subscribed_users = [stays.id, goes.id];
  const { id } = await call('POST', '/alerts/', { insight, name: 'None', threshold, subscribed_users });
  refusals.push(...subscribed_users.map(() => new Transient('The mail server answered 451.')));
  await run();
  await call('PATCH', `/alerts/${String(id)}/`, { subscribed_users: [stays.id] });
  clock.advance(MINUTE_MS);
  await run();
  expect(letters.map(({ to }) => to)).toEqual([stays.email]);
});

test.each([
  ['an address that is named no more', { target_value: 'bob@example.com' }, ['bob@example.com']],
  ['any address of what goes to a webhook now', { target_type: 'webhook', target_value: 'https://x.example.com/' }, []],
])('mail of a subscription that waits for another try is not sent to %s', async (_, patch, told) => {
  const { letters, refusals, call, run, clock, insight } = await mailing();
  const target = { target_type: 'email', target_value: 'ada@example.com, bob@example.com' };
  const { id } = await call('POST', '/subscriptions/', { insight, ...target, frequency: 'daily', start_date: SEVEN });
  clock.advance(DAY_MS);
  refusals.push(...[1, 2].map(() => new Transient('The mail server answered 451.')));
  await run();
  await call('PATCH', `/subscriptions/${String(id)}/`, patch);
  clock.advance(MINUTE_MS);
  await run();
  expect(letters.map(({ to }) => to)).toEqual(told);
});

/** A service whose mail of a subscription is due. */
async function withDueMail() {
  const world = await mailing();
  const { call, insight, clock, context, run } = world;
  const mail = { target_type: 'email', target_value: 'ada@example.com' };
  const { id } = await call('POST', '/subscriptions/', { insight, ...mail, frequency: 'daily', start_date: SEVEN });
  clock.advance(DAY_MS);
  await tick(context);
  const composed = context.workflow.started.splice(0);
  await Promise.all(composed.map(({ input }) => composeSubscription(context)(input)));
  /** Starts what is due in each of some minutes; nothing of it runs yet. */
  const startEach = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      await tick(context);
      clock.advance(MINUTE_MS);
    }
    return context.workflow.started.splice(0).map(
      ({ input }) =>
        () =>
          sendMessage(context)(input),
    );
  };
  const read = () => call('GET', `/subscriptions/${String(id)}/`);
  return { ...world, startEach, read, run };
}

test('a mail that takes minutes to be taken is sent once, though its job comes back meanwhile', async () => {
  const { letters, meanwhile, clock, run, read } = await withDueMail();
  meanwhile.push(async () => {
    clock.advance(MINUTE_MS);
    await run();
  });
  await run();
  expect(letters).toHaveLength(1);
  expect(await read()).toMatchObject({ last_delivered_at: '2026-01-02T12:01:00Z' });
  clock.advance(HOUR_MS);
  await run();
  expect(letters).toHaveLength(1);
});

test('of executions that waited in line for one mail the first sends it, and the others leave it', async () => {
  const { letters, startEach, refusals, meanwhile, clock, run, read } = await withDueMail();
  const [first, ...others] = await startEach(4);
  expect(others).toHaveLength(2);
  meanwhile.push(async () => void (await Promise.all(others.map((send) => send()))));
  refusals.push(new Transient('The mail server answered 451.'));
  await first?.();
  for (const send of others) await send();
  expect(letters).toEqual([]);
  expect(await read()).toMatchObject({ latest_error: expect.stringContaining('It will be tried again.') as unknown });
  clock.advance(4 * MINUTE_MS);
  await run();
  expect(letters).toHaveLength(1);
});

test('a mail whose sender died comes back once that one could not be at it any more', async () => {
  const { letters, startEach, meanwhile, clock, run } = await withDueMail();
  const [first] = await startEach(1);
  meanwhile.push(() => Promise.reject(new TypeError('the process ended')));
  await expect(first?.()).rejects.toThrow('the process ended');
  await first?.();
  clock.advance(MINUTE_MS);
  await run();
  expect(letters).toEqual([]);
  clock.advance(MINUTE_MS);
  await run();
  expect(letters).toHaveLength(1);
});

test('numbers are told as a shared page tells them', async () => {
  const { letters, call, run, clock, insightOf, series, pay } = await mailing();
  await pay(clock(), 1, { amount: 1000 });
  await pay(clock(), 1, { amount: 2000 });
  await pay(clock(), 1, { amount: 1000 });
  const mean = { series: [{ ...series[0], math: 'avg', math_property: 'amount' }], dateRange: { date_from: '-1d' } };
  const insight = await insightOf(mean);
  const daily = { insight, frequency: 'daily', start_date: SEVEN };
  await call('POST', '/subscriptions/', { ...daily, target_type: 'email', target_value: 'ada@example.com' });
  clock.advance(DAY_MS);
  await run();
  expect(letters[0]?.text).toMatch(/^1-Jan-2026 +1,333\.3333$/m);
  expect(letters[0]?.html).toContain('>1,333.3333</td>');
  const table = {
    columns: ['a', 'b'],
    rows: [
      [10 / 3, null],
      [-0.00001, 'x'],
    ],
  };
  const shown = { name: 'Mean', link: null, summary: 'A table.', table, moreRows: 0, moreColumns: 0 };
  expect(JSON.stringify(slackBody({ ...MESSAGE, insights: [shown] }))).toContain('3.3333\\n     0  x');
});

/** A message of which only what a test adds matters. */
const MESSAGE: Message = {
  organization: 'o',
  project: 1,
  by: { kind: 'subscription', id: 1 },
  target: { type: 'slack' },
  type: 'subscription.due',
  at: 0,
  title: 'x',
  lines: [],
  link: null,
  insights: [],
  data: {},
};

test('rows and columns that a table leaves out are counted, also those that do not fit into Slack', () => {
  const columns = Array.from({ length: 8 }, (_, at) => `Column ${at}`);
  const rows = Array.from({ length: 10 }, (_, at) => columns.map(() => `${at}`.repeat(60)));
  const shown = {
    name: 'Wide',
    link: null,
    summary: 'A table.',
    table: { columns, rows },
    moreRows: 7,
    moreColumns: 1,
  };
  const message: Message = { ...MESSAGE, insights: [shown] };
  const letter = letterOf('1', message, 'ada@example.com', new Map());
  expect(letter.text).toContain('\n7 more rows, 1 more column\n');
  expect(letter.html).toContain('<p>7 more rows, 1 more column</p>');
  const section = slackBody(message).blocks[1]?.text.text ?? '';
  expect(section).toMatch(/4{60}\n?```\n12 more rows, 1 more column$/);
  expect(section.length).toBeLessThanOrEqual(3000);
});

test('without a mail server, addresses and users are refused by name', async () => {
  const { service, insight, inProject } = await notifyingService();
  const threshold = { configuration: { type: 'absolute', bounds: { lower: 1 } } };
  const alert = await service.call('POST', `${inProject}/alerts/`, {
    body: { insight, threshold, subscribed_users: [service.owner.id] },
  });
  const refusal = 'This service sends no mail: whoever runs the service has set no mail server.';
  expect([alert.status, alert.body?.['attr'], alert.body?.['detail']]).toEqual([
    400,
    'subscribed_users',
    `${refusal} Name no members, use notify_url.`,
  ]);
  const target = { target_type: 'email', target_value: 'ada@example.com' };
  const subscription = await service.call('POST', `${inProject}/subscriptions/`, {
    body: { insight, ...target, frequency: 'daily', start_date: SEVEN },
  });
  expect([subscription.status, subscription.body?.['attr'], subscription.body?.['detail']]).toEqual([
    400,
    'target_type',
    `${refusal} Use webhook or slack.`,
  ]);
});

/** A browser whose pictures are their pages; `obstacles` are thrown first. */
function browser(obstacles: (() => never)[] = []) {
  const pages: Page[] = [];
  const pictures: Pictures = {
    make: async (page) => {
      pages.push(page);
      obstacles.shift()?.();
      return Buffer.from(page.html);
    },
  };
  return { pages, pictures };
}

/** A mail of a dashboard with an insight by line and another one as a table, which is due the next morning. */
async function mailedDashboard(pictures: Pictures) {
  const world = await mailing(pictures);
  const { call, insightOf, series, pay, clock } = world;
  await pay(clock(), 3);
  const line = await insightOf({ series, dateRange: { date_from: '-1d' } }, '<script>x</script>');
  const { id: table } = await call('POST', '/insights/', {
    name: 'Rows',
    query: { kind: 'HogQLQuery', query: 'SELECT count() FROM events' },
  });
  const { id } = await call('POST', '/dashboards/', { name: 'Shop', tiles: [{ insight: line }, { insight: table }] });
  const subscribe = (target_type: string, target_value: string) =>
    call('POST', '/subscriptions/', {
      dashboard: id,
      target_type,
      target_value,
      frequency: 'daily',
      start_date: SEVEN,
    });
  return { ...world, subscribe };
}

test('a mail has the pictures of charts, each in the letter; what is a table stays one', async () => {
  const { pages, pictures } = browser();
  const { letters, run, clock, subscribe, service } = await mailedDashboard(pictures);
  await subscribe('email', 'ada@example.com');
  clock.advance(DAY_MS);
  await run();
  const [letter] = letters;
  expect(letter?.pictures.map(({ name }) => name)).toEqual(['chart-1.png']);
  expect(letter?.html.match(/<img [^>]*>/g)).toEqual([expect.stringMatching(/src="cid:chart-1.png" alt="[^"]+"/)]);
  expect(letter?.html).toContain('<td');
  const [page] = pages;
  expect(page).toMatchObject({ form: 'png', owner: service.organization.id, size: { width: 600 } });
  expect(page?.html).toContain('<figure class="chart">');
  expect(page?.html).toContain('<svg');
  expect(page?.html).not.toContain('<script');
});

test('a picture that cannot be made is left out, and others wait some minutes for their turn', async () => {
  const { pages, pictures } = browser([
    () => fail('throttled', 'Many pictures are being made.'),
    () => {
      throw new PictureFailed('The browser ended.');
    },
  ]);
  const { letters, run, clock, subscribe, call } = await mailedDashboard(pictures);
  const { id } = await subscribe('email', 'ada@example.com');
  clock.advance(DAY_MS);
  await run();
  expect(letters).toEqual([]);
  expect(await call('GET', `/subscriptions/${String(id)}/`)).toMatchObject({
    latest_error:
      'A message could not be sent: Its pictures wait for others, which are being made. It will be tried again.',
  });
  clock.advance(MINUTE_MS);
  await run();
  expect(letters).toEqual([expect.objectContaining({ pictures: [] })]);
  expect(letters[0]?.html).not.toContain('<img');
  expect(pages).toHaveLength(2);
});

test('a mail that the server refuses for an hour goes without pictures, which are not made again and again', async () => {
  const { pages, pictures } = browser();
  const { letters, refusals, run, clock, subscribe } = await mailedDashboard(pictures);
  await subscribe('email', 'ada@example.com');
  clock.advance(DAY_MS);
  refusals.push(new Transient('The mail server answered 451.'));
  await run();
  clock.advance(2 * HOUR_MS);
  await run();
  expect(letters).toEqual([expect.objectContaining({ pictures: [] })]);
  expect(pages).toHaveLength(1);
});
