import { handler as page } from '../../../functions/shared/page.ts';
import { retrieveShared } from '../../../lib/dashboards/public-page/routes.ts';
import { countedTry } from '../../../lib/dashboards/public-page/store.ts';
import type { Answers } from '../../../lib/insights/answering/answers.ts';
import type { KeptAnswer } from '../../../lib/insights/answering/cache.ts';
import type { KnownAnswer } from '../../../lib/insights/answering/computations.ts';
import type { SentQuery } from '../../../lib/insights/kinds/source.ts';
import { forgetAnswers } from '../../../lib/lake/forget-answers.ts';
import { type Page, PictureFailed } from '../../../lib/pictures/pictures.ts';
import { fail } from '../../../lib/ports/errors.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { describeInBrowser, obstacles } from '../../support/browser.ts';
import { trend } from '../../support/charts.ts';
import { type TestContext, testContext } from '../../support/context.ts';
import { proxyEvent } from '../../support/proxy-event.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type Service, testService } from '../../support/service.ts';

const TEXT = [
  '# Read me first',
  'The **numbers** of [last week](https://example.com/week), and what *we* make of them.',
  '',
  '* visitors are up',
  '* sign-ups are not',
  '',
  '| source | share |',
  '|---|---|',
  '| search | 61 % |',
  '',
  '`<script>alert(1)</script>` <script>alert(2)</script> [bad](javascript:alert(3)) ![pixel](https://tracker.example/p.png)',
].join('\n');

const QUERY = {
  kind: 'TrendsQuery',
  series: [{ event: '</code><script>alert(4)</script>' }],
  interval: 'day',
  properties: [{ key: 'email', value: 'secret value' }],
};

/** Answers that are known before anybody asks, or left out (null); the queries that were asked for a computation are kept. */
function known(result: (query: SentQuery) => unknown, more: object = {}): Answers & { readonly asked: SentQuery[] } {
  const asked: SentQuery[] = [];
  const told = (query: SentQuery): KnownAnswer => {
    const results = result(query);
    const kept = {
      at: NOW,
      answer: { results, ...(query.kind === 'HogQLQuery' ? more : {}) },
      looked: { now: false },
      clock: {},
      files: '',
    } as unknown as KeptAnswer;
    const known = { key: 'k', run: null };
    if (results == null) return { ...known, state: results === null ? 'left_out' : 'missing', kept: null };
    return { ...known, state: 'kept', kept };
  };
  return {
    asked,
    ask: async ({ query }, refresh) => {
      if (refresh !== 'force_cache') asked.push(query);
      return told(query);
    },
    cached: async (all) => all.map(({ query }) => told(query)),
    renew: async (all) => void asked.push(...all.map(({ query }) => query)),
    run: async () => undefined,
    cancel: async () => {},
    idle: async () => {},
  };
}

const NOW = Date.UTC(2026, 0, 1, 9, 30);
const RESULTS = [trend('Views </title><script>alert(5)</script>', [3, 9, 4], { filter: { value: 'secret value' } })];

interface World {
  readonly context: TestContext<object>;
  readonly service: Service;
  readonly path: string;
  readonly id: number;
  readonly token: string;
}

/** A shared dashboard with a text tile and two insights. */
async function shared(context: TestContext<object> = testContext(), fields: object = {}): Promise<World> {
  const service = await testService(context);
  const inProject = `/api/projects/${service.project.id}`;
  const insight = async (body: object) => (await service.call('POST', `${inProject}/insights/`, { body })).body?.['id'];
  const visitors = await insight({ name: 'Visitors & <friends>', description: 'Every day', query: QUERY });
  const plain = await insight({});
  const sent = {
    name: 'Weekly <review>',
    description: 'What we look at on Mondays.\nAnd on Tuesdays.',
    tags: ['growth', 'web'],
    tiles: [
      { text: { body: TEXT }, layouts: { sm: { x: 0, y: 0, w: 12, h: 4 } } },
      { insight: visitors, layouts: { sm: { x: 0, y: 4, w: 6, h: 5 } } },
      { insight: plain, layouts: { sm: { x: 6, y: 4, w: 6, h: 5 } } },
    ],
    ...fields,
  };
  const made = await service.call('POST', `${inProject}/dashboards/`, { body: sent });
  const id = Number(made.body?.['id']);
  const path = `${inProject}/dashboards/${id}`;
  const { body } = await service.call('PATCH', `${path}/sharing/`, { body: { enabled: true } });
  return { context, service, path, id, token: String(body?.['access_token']) };
}

const look = ({ service }: Pick<World, 'service'>, path: string) => service.call('GET', path, { key: null });

test('the log tells of a page without the token that opens it', async () => {
  const { context, service, token } = await shared();
  for (const path of [`/shared/${token}`, `/shared/${token}.json`, `/embedded/${token}`]) {
    expect((await service.call('GET', path, { key: null })).status).toBe(200);
  }
  for (const key of [null, service.key]) await service.call('PUT', `/shared/${token}`, { key });
  const lines = context.lines.filter(({ fields }) => fields['operation'] === 'shared/page');
  expect(lines.map(({ fields }) => fields['path'])).toEqual([
    '/shared/{token}',
    '/shared/{token}',
    '/embedded/{token}',
  ]);
  expect(JSON.stringify(context.lines)).not.toContain(token);
});

test('anybody who has the link sees the dashboard, as a page that nobody else may keep, frame or index', async () => {
  const world = await shared();
  for (const path of [`/shared/${world.token}`, `/shared/${world.token}/`, `/shared_dashboard/${world.token}`]) {
    const { status, headers, text } = await look(world, path);
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex, nofollow',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; img-src data:; style-src 'sha256-[^']+'; script-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
      ),
    });
    expect(text).toContain('<title>Weekly &lt;review&gt;</title>');
    expect(text).toContain('<h2>Visitors &amp; &lt;friends&gt;</h2>');
    expect(text).toContain('<h2>Untitled insight</h2>');
    expect(text).toContain(`href="/${path.split('/')[1]}/${world.token}.json"`);
  }
});

test('what people wrote is text: no markup, script, style or image of theirs is in the page', async () => {
  const { text } = await look(...(await atPage()));
  expect(text.match(/<(script|img|iframe|style)\b/g)).toEqual(['<style']);
  expect(text).not.toMatch(/\son\w+=|\sstyle=|href="javascript/);
  expect(text).toContain('<a href="https://example.com/week" rel="nofollow noopener noreferrer ugc">last week</a>');
});

async function atPage(fields: object = {}): Promise<[World, string]> {
  const world = await shared(testContext(), fields);
  return [world, `/shared/${world.token}`];
}

test('a page for frames may be framed, and its links open beside the frame', async () => {
  const world = await shared();
  const { headers, text } = await look(world, `/embedded/${world.token}?noHeader`);
  expect(headers.get('content-security-policy')).toContain('frame-ancestors *');
  expect(text).toContain('<base target="_blank">');
  expect(text).toContain('<header class="unseen">');
});

test('the data has what the page shows, and flags that the address names', async () => {
  const world = await shared();
  const { status, headers, body } = await look(world, `/embedded/${world.token}.json?legend&noHeader=0`);
  expect({ status, type: headers.get('content-type'), cache: headers.get('cache-control') }).toEqual({
    status: 200,
    type: 'application/json',
    cache: 'no-store',
  });
  expect(body).toMatchObject({
    type: 'embed',
    accessToken: world.token,
    legend: true,
    noHeader: true,
    dashboard: {
      id: world.id,
      name: 'Weekly <review>',
      is_shared: true,
      created_by: null,
      restriction_level: 21,
      effective_restriction_level: 37,
      effective_privilege_level: 21,
      user_access_level: null,
      tiles: [
        { text: { body: TEXT, created_by: null, last_modified_by: null }, insight: null },
        { insight: { name: 'Visitors & <friends>', query: null, filters: {}, created_by: null }, text: null },
        { insight: { name: null }, text: null },
      ],
    },
  });
  expect(body).not.toHaveProperty('whitelabel');
  expect((await look(world, `/shared/${world.token}.json`)).body).toMatchObject({ type: 'scene' });
});

test('it tells nothing of people, or of what else there is', async () => {
  const world = await shared();
  const { service, path } = world;
  const other = await service.call('POST', `/api/projects/${service.project.id}/dashboards/`, {
    body: { name: 'Hidden plans', use_dashboard: world.id, duplicate_tiles: true },
  });
  const member = await service.newUser(1);
  await service.call('POST', `${path}/collaborators/`, { body: { level: 37, user_uuid: member.uuid } });
  await service.call('PUT', `${path}/access_controls/`, { body: { access_level: 'none' } });
  const url = `/api/projects/${service.project.id}/dashboards/${Number(other.body?.['id'])}/sharing`;
  const { body } = await service.call('PATCH', url, { body: { enabled: true } });
  for (const token of [world.token, String(body?.['access_token'])]) {
    for (const ending of ['', '.json']) {
      const { text, headers } = await look(world, `/shared/${token}${ending}`);
      for (const secret of [
        'example.com',
        '@example',
        service.owner.uuid,
        member.uuid,
        'Olivia',
        service.organization.id,
        'Acme',
        'phc_',
      ]) {
        expect(text.replaceAll('https://example.com/week', '')).not.toContain(secret);
      }
      expect(headers.get('set-cookie')).toBeNull();
    }
  }
  expect((await look(world, `/shared/${world.token}.json`)).text).not.toContain('Hidden plans');
  expect((await look(world, `/shared/${String(body?.['access_token'])}.json`)).body).toMatchObject({
    dashboard: { creation_mode: 'duplicate', use_dashboard: null },
  });
});

test('below a stage, links and kinds of page are the same', async () => {
  const { context, token } = await shared();
  const [, , framed = ''] = retrieveShared.paths;
  const event = proxyEvent(retrieveShared, { path: framed, params: { token }, stage: '/prod' });
  const { body, headers = {} } = await page(context)(event);
  expect(body).toContain(`href="/prod/embedded/${token}.json"`);
  expect(headers['Content-Security-Policy']).toContain('frame-ancestors *');
});

test('a tile of a deleted insight is not shown', async () => {
  const world = await shared();
  const { service } = world;
  const list = (await service.call('GET', `/api/projects/${service.project.id}/insights/`)).body?.['results'] as {
    id: number;
    name: string | null;
  }[];
  const visitors = list.find(({ name }) => name !== null)?.id;
  await service.call('PATCH', `/api/projects/${service.project.id}/insights/${visitors}/`, { body: { deleted: true } });
  expect((await look(world, `/shared/${world.token}`)).text).not.toContain('Visitors');
  expect((await look(world, `/shared/${world.token}.json`)).text).not.toContain('Visitors');
});

describe('a link that opens nothing', () => {
  /** What whoever follows the link gets. */
  async function shut(world: World, token = world.token) {
    const [page, data] = [await look(world, `/shared/${token}`), await look(world, `/shared/${token}.json`)];
    expect(data).toMatchObject({
      status: 404,
      body: { type: 'invalid_request', code: 'not_found', detail: 'Not found.', attr: null },
    });
    expect({
      status: page.status,
      type: page.headers.get('content-type'),
      cache: page.headers.get('cache-control'),
    }).toEqual({
      status: 404,
      type: 'text/html; charset=utf-8',
      cache: 'no-store',
    });
    return page.text;
  }

  const closings: [string, (world: World) => Promise<unknown>][] = [
    [
      'sharing was turned off',
      ({ service, path }) => service.call('PATCH', `${path}/sharing`, { body: { enabled: false } }),
    ],
    ['it was replaced', ({ service, path }) => service.call('POST', `${path}/sharing/refresh`)],
    ['the dashboard was deleted', ({ service, path }) => service.call('PATCH', path, { body: { deleted: true } })],
    [
      'the project was deleted',
      ({ context, service }) =>
        context.table.write([{ change: keys.project(service.project.id), set: { deleted_at: 1 } }]),
    ],
    [
      'the organization was deleted',
      ({ service }) => service.call('DELETE', `/api/organizations/${service.organization.id}/`),
    ],
  ];

  test.each(closings)('is dead at once when %s, and does not say so', async (_, close) => {
    const world = await shared();
    const unknown = await shut(world, 'A'.repeat(30));
    await close(world);
    expect(await shut(world)).toBe(unknown);
    expect(unknown).not.toMatch(/Weekly|deleted|disabled|turned off/);
  });

  test.each(['', 'x', 'A'.repeat(31), '../shared', '__proto__', '%00', "' or 1=1"])('is shut: %j', async (token) => {
    const world = await shared();
    const { status, text } = await look(world, `/shared/${encodeURIComponent(token)}`);
    expect(status).toBe(404);
    expect(text).not.toContain('Weekly');
  });

  test('comes back with its dashboard', async () => {
    const world = await shared();
    await world.service.call('PATCH', world.path, { body: { deleted: true } });
    await shut(world);
    await world.service.call('PATCH', world.path, { body: { deleted: false } });
    expect((await look(world, `/shared/${world.token}`)).status).toBe(200);
  });
});

test('HEAD is answered like GET, other methods are not open to anybody', async () => {
  const world = await shared();
  const head = await world.service.call('HEAD', `/shared/${world.token}`, { key: null });
  expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: '' });
  expect((await world.service.call('PUT', `/shared/${world.token}`, { key: null, body: {} })).status).toBe(401);
});

test('it costs two round trips, three with insights, and one more for results that are not in memory', async () => {
  for (const [fields, trips] of [
    [{ tiles: [{ text: { body: 'Hello' } }] }, 2],
    [{}, 3],
  ] as const) {
    const context = testContext();
    const table = countRoundTrips(context.table);
    const world = await shared({ ...context, table }, fields);
    table.counted();
    await look(world, `/shared/${world.token}`);
    expect(table.counted()).toBe(trips);
  }
});

test('a page stays below what a function may answer, and says what it left out', async () => {
  const body = '<'.repeat(4000);
  const tiles = Array.from({ length: 200 }, () => ({ text: { body } }));
  const world = await shared(testContext(), { tiles });
  await world.service.call('PATCH', world.path, { body: { tiles } });
  const { status, text } = await look(world, `/shared/${world.token}`);
  expect(status).toBe(200);
  expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(6_000_000);
  const shown = text.match(/<article/g)?.length ?? 0;
  expect(text).toContain(`${400 - shown} more tiles do not fit on this page.`);
});

test('an insight without a name has the one that a client derived of its query', async () => {
  const [world, path] = await atPage({ tiles: [] });
  const body = { name: '', derived_name: 'Views by day', dashboard: world.id };
  const { status } = await world.service.call('POST', `${world.path.split('/dashboards/')[0]}/insights/`, { body });
  expect(status).toBe(201);
  expect((await look(world, path)).text).toContain('<h2>Views by day</h2>');
});

test('a dashboard without name and tiles has a page too', async () => {
  const [world, path] = await atPage({ name: '', tiles: [], tags: [], description: '' });
  const { text } = await look(world, path);
  expect(text).toContain('<h1>Untitled dashboard</h1>');
  expect(text).toContain('This dashboard has no tiles.');
});

/** A shared dashboard whose insights have results. */
async function shown(result: (query: SentQuery) => unknown = () => RESULTS, fields: object = {}, more: object = {}) {
  const answers = known(result, more);
  const world = await shared(testContext({ answers }), fields);
  const sharing = (body: object) => world.service.call('PATCH', `${world.path}/sharing`, { body });
  return { ...world, answers, sharing };
}

describe('results', () => {
  test('are shown as charts, with when they were computed, and without what was asked', async () => {
    const world = await shown();
    const { text } = await look(world, `/shared/${world.token}`);
    expect(text).toContain('aria-label="Line chart of Views &lt;/title&gt;&lt;script&gt;alert(5)&lt;/script&gt;');
    expect(text).toContain('Last refreshed <time datetime="2026-01-01T09:30:00Z">1 Jan 2026, 09:30 (UTC)</time>');
    const { text: data, body } = await look(world, `/shared/${world.token}.json`);
    expect(body).toMatchObject({
      dashboard: { filters: {}, tiles: [{}, { insight: { result: [{ data: [3, 9, 4] }], hogql: null } }, {}] },
    });
    for (const secret of ['secret', 'alert(4)', 'TrendsQuery']) expect(`${text}${data}`).not.toContain(secret);
  });

  test('of HogQL are in columns with names of fields and aliases; those that are computed are called by their place', async () => {
    const columns = ['event', '$browser', 'How many', "countIf(equals(properties.plan, 's3cr3t'))", 's3cr3t', 'a.b'];
    const types = columns.map((name) => [name, 'String']);
    const names = ['event', '$browser', 'How many', 'Column 4', 'Column 5', 'a.b'];
    const query = `SELECT event, properties.$browser, count() AS "How many", countIf(properties.plan = 's3cr3t'), 's3cr3t',
      properties['a.b'] /* s3cr3t */ FROM events GROUP BY 1, 2`;
    const world = await shown(() => [['x', 'Firefox', 1, 2, '-', 4]], {}, { columns, types, computed: [3, 4] });
    const insights = `/api/projects/${world.service.project.id}/insights/`;
    const source = { kind: 'HogQLQuery', query };
    for (const body of [
      { query: source },
      { query: { kind: 'DataVisualizationNode', source } },
      {
        query: {
          kind: 'DataVisualizationNode',
          display: 'ActionsLineGraph',
          chartSettings: { xAxis: { column: 'event' }, yAxis: [{ column: columns[3] }] },
          source,
        },
      },
    ]) {
      const made = await world.service.call('POST', insights, { body });
      const { body: board } = await world.service.call('PATCH', world.path, {
        body: { tiles: [{ insight: made.body?.['id'] }] },
      });
      const tiles = board?.['tiles'] as { id: number; insight: { id: number } | null }[];
      const tile = tiles.find(({ insight }) => insight?.id === made.body?.['id'])?.id;
      const [page, data, file] = [
        await look(world, `/shared/${world.token}`),
        await look(world, `/shared/${world.token}.json`),
        await look(world, `/shared/${world.token}.csv?tile=${tile}`),
      ];
      expect(`${page.text}${data.text}${file.text}`).not.toContain('s3cr3t');
      const insight = { columns: names, types: names.map((name) => [name, 'String']) };
      const { dashboard } = data.body as { dashboard: { tiles: { id: number }[] } };
      expect(dashboard.tiles.find(({ id }) => id === tile)).toMatchObject({ insight });
      expect(page.text).toContain('How many');
      expect(file.text.split('\r\n')[0]).toBe('display' in body.query ? 'event,Column 4' : names.join(','));
    }
  });

  test('of retention have its sums, as members see them', async () => {
    const values = [{ count: 4, label: 'Day 0', aggregation_value: 99.5 }];
    const world = await shown(() => [{ label: 'Day 0', values }]);
    const { body } = await look(world, `/shared/${world.token}.json`);
    expect(body).toMatchObject({ dashboard: { tiles: [{}, { insight: { result: [{ values }] } }, {}] } });
  });

  test('come from the cache: what may not be true any more is asked for behind, once in a while', async () => {
    const world = await shown();
    world.context.clock.set(NOW + 5_000);
    await look(world, `/shared/${world.token}`);
    expect(world.answers.asked).toEqual([]);
    world.context.clock.set(NOW + 60_000);
    await look(world, `/shared/${world.token}`);
    expect(world.answers.asked).toMatchObject([{ kind: 'TrendsQuery' }]);
  });

  test('are asked for once in ten seconds, however often somebody looks, also while there are none', async () => {
    for (const result of [undefined, [trend('Views', [1])]]) {
      const world = await shown(() => result);
      for (const second of [60, 61, 69, 70, 79]) {
        world.context.clock.set(NOW + second * 1_000);
        for (const form of ['', '.json', '.csv?tile=2']) await look(world, `/shared/${world.token}${form}`);
      }
      expect(world.answers.asked).toHaveLength(2);
    }
  });

  test('are asked for at once when their project has forgotten its answers', async () => {
    const world = await shown(() => undefined);
    await look(world, `/shared/${world.token}`);
    await forgetAnswers(world.context.table, world.service.project.id);
    for (let looks = 0; looks < 2; looks += 1) await look(world, `/shared/${world.token}`);
    expect(world.answers.asked).toHaveLength(2);
  });

  test('that are not there yet are not waited for', async () => {
    const world = await shown(() => undefined);
    const { text } = await look(world, `/shared/${world.token}`);
    expect(text.match(/There are no numbers yet\. [^<]*/g)).toEqual([
      'There are no numbers yet. Look again in a moment. If they do not come, whoever shared this page can see why.',
    ]);
    expect(text).toContain('This insight has no query, and so no numbers.');
    expect(text).not.toContain('Last refreshed');
    // Nor is it said of the file that they will come.
    expect((await look(world, `/shared/${world.token}.csv?tile=2`)).body).toMatchObject({
      detail:
        'This tile has no numbers to show yet. Look again in a moment. If they do not come, whoever shared this page can see why.',
    });
  });

  test('that are left out, as the page has too many, are told as that and not asked for', async () => {
    const world = await shown(() => null);
    const { text } = await look(world, `/shared/${world.token}`);
    expect(text).toContain('The numbers of this page are too many to be shown at once: these are left out.');
    expect(text).not.toContain('There are no numbers yet');
    expect(world.answers.asked).toEqual([]);
  });

  test.each<[kind: string, query: object]>([
    ['EventsQuery', { kind: 'DataTableNode', source: { kind: 'EventsQuery', select: ['person'] } }],
    ['ActorsQuery', { kind: 'DataTableNode', source: { kind: 'ActorsQuery', select: ['person'] } }],
    ['ActorsQuery', { kind: 'ActorsQuery', source: { kind: 'InsightActorsQuery', source: QUERY } }],
    [
      'EventsQuery',
      {
        kind: 'InsightVizNode',
        source: { kind: 'DataTableNode', source: { kind: 'EventsQuery', select: ['person'] } },
      },
    ],
  ])('of %s name persons, and are neither shown nor computed: %j', async (kind, query) => {
    const world = await shown((asked) => (asked.kind === kind ? [['ada@example.org']] : RESULTS));
    const insights = `/api/projects/${world.service.project.id}/insights/`;
    const { body } = await world.service.call('POST', insights, { body: { name: 'People', query } });
    await world.service.call('PATCH', world.path, { body: { tiles: [{ insight: body?.['id'] }] } });
    const [page, data] = [
      await look(world, `/shared/${world.token}`),
      await look(world, `/shared/${world.token}.json`),
    ];
    expect(page.text).toContain('The rows of this insight are about persons.');
    expect(`${page.text}${data.text}`).not.toContain('ada@');
    expect(world.answers.asked.filter((asked) => asked.kind === kind)).toEqual([]);
  });

  test('of a tile are a file for spreadsheets, in which nothing is a formula', async () => {
    const world = await shown(() => [trend('=HYPERLINK("x")', [3, null]), trend('a, "b"', [-1, 2])]);
    const { text } = await look(world, `/shared/${world.token}`);
    const [, address = ''] = /href="([^"]*\.csv[^"]*)"/.exec(text) ?? [];
    const file = await look(world, address);
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename="tile-\d+\.csv"$/);
    const head = String.raw`Date,"'=HYPERLINK(""x"")","a, ""b"""`;
    expect(file.text.split('\r\n')).toEqual([head, '1-Jan-2020,3,-1', '2-Jan-2020,,2', '']);
    const without = async (tile: number) => (await look(world, `/shared/${world.token}.csv?tile=${tile}`)).body;
    expect(await without(0)).toMatchObject({
      attr: 'tile',
      detail: 'Name a tile of this page that has numbers: `?tile=<its number>`.',
    });
    expect(await without(1)).toMatchObject({
      attr: 'tile',
      detail: 'This tile is a text, and has no numbers to show.',
    });
    expect(await without(3)).toMatchObject({
      attr: 'tile',
      detail: 'This tile has no numbers to show. This insight has no query, and so no numbers.',
    });
  });
});

describe('pictures', () => {
  async function pictured(make: (page: Page) => Promise<Buffer>) {
    const world = await shared(testContext({ answers: known(() => RESULTS), pictures: { make } }));
    const sharing = (body: object) => world.service.call('PATCH', `${world.path}/sharing`, { body });
    return { ...world, sharing };
  }

  test.each(['png', 'pdf'])('are not made where there is no browser, which says what to install: .%s', async (form) => {
    const world = await shown();
    expect(await look(world, `/shared/${world.token}.${form}`)).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/installs Chromium and sets CHROMIUM to its path.*print it/) },
    });
  });

  test.each([
    ['png', 'image/png'],
    ['pdf', 'application/pdf'],
  ])('are made of the page that readers see, without what they would click on: .%s', async (form, type) => {
    const asked: Page[] = [];
    const world = await pictured(async (page) => (asked.push(page), Buffer.from([0, 255, 10])));
    await world.sharing({ allow_date_range: true, filter_choices: [{ name: 'Phones', properties: [] }] });
    const address = `${world.service.address}/shared/${world.token}.${form}`;
    const answer = await fetch(`${address}?date_from=-7d`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
    expect([...new Uint8Array(await answer.arrayBuffer())]).toEqual([0, 255, 10]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect((await fetch(address, { method: 'HEAD' })).headers.get('content-length')).toBe('3');
    expect(asked[0]).toMatchObject({ form, owner: world.service.organization.id });
    expect(asked[0]?.html).toContain('aria-label="Line chart of Views');
    expect(asked[0]?.html).not.toMatch(/<nav|\.csv|\.json|secret/);
  });

  test('may be of one tile', async () => {
    const asked: Page[] = [];
    const world = await pictured(async (page) => (asked.push(page), Buffer.from('picture')));
    const { body } = await look(world, `/shared/${world.token}.json`);
    const { tiles } = (body?.['dashboard'] ?? {}) as {
      tiles: { id: number; insight: { name: string | null } | null }[];
    };
    const tile = tiles.find(({ insight }) => insight?.name?.startsWith('Visitors'))?.id;
    await look(world, `/shared/${world.token}.png?tile=${tile}`);
    expect(asked[0]?.html.match(/<article/g)).toHaveLength(1);
    expect(asked[0]?.html).toContain('<h2>Visitors');
    const other = await look(world, `/shared/${world.token}.png?tile=999`);
    expect(other).toMatchObject({ status: 400, body: { attr: 'tile' } });
  });

  test('are made for nobody without the password, and a browser that fails is told as such', async () => {
    const world = await pictured(() => Promise.reject(new PictureFailed('The browser ended: secret path')));
    const failed = await look(world, `/shared/${world.token}.png`);
    expect(failed).toMatchObject({ status: 503, body: { detail: 'The picture could not be made. Try again later.' } });
    await world.sharing({ password: 'a password of many letters' });
    expect((await look(world, `/shared/${world.token}.png`)).status).toBe(403);
  });
});

describe('dates', () => {
  test('are chosen by readers where the owner lets them, among few', async () => {
    const ranges: unknown[] = [];
    const world = await shown((query) => (ranges.push(query['dateRange']), RESULTS));
    const refused = { status: 400, body: { attr: 'date_from' } };
    expect(await look(world, `/shared/${world.token}.json?date_from=-7d`)).toMatchObject(refused);
    expect((await look(world, `/shared/${world.token}`)).text).not.toContain('date_from');
    await world.sharing({ allow_date_range: true });
    const { text } = await look(world, `/shared/${world.token}?date_from=-7d&noHeader`);
    expect(ranges.at(-1)).toEqual({ date_from: '-7d', date_to: null });
    expect(text).toContain('date_from=-7d" aria-current="true">7 days</a>');
    for (const other of ['date_from=-8d', 'date_from=2020-01-01', 'date_from=-7d&date_to=2020-01-01', 'date_to=-1d']) {
      expect(await look(world, `/shared/${world.token}.json?${other}`)).toMatchObject(refused);
    }
  });

  test('in which nothing happened are told from those that have events', async () => {
    const world = await shown(() => [trend('Views', [0, 0])]);
    const { service, token, context } = world;
    expect((await look(world, `/shared/${token}`)).text).not.toContain('Nothing happened');
    const file = {
      path: 'x',
      rows: 1,
      hours: JSON.stringify(Array.from({ length: 24 }, () => 1)),
      bytes: 1,
      min_arrival: 0,
      max_arrival: 1,
    };
    const timestamps = { min_timestamp: Date.UTC(2015, 4, 17, 10), max_timestamp: Date.UTC(2015, 4, 20, 21) };
    const key = keys.lakeFile(service.project.id, 'events', '2015-05-21', 0, 'x', 0);
    await context.table.write([{ put: { ...key, ...file, ...timestamps } }]);
    const notice = 'Nothing happened in these dates. There are events of ';
    expect((await look(world, `/shared/${token}`)).text).toContain(`${notice}17 May 2015 to 20 May 2015.`);
    await world.sharing({ allow_date_range: true });
    const { text } = await look(world, `/shared/${token}`);
    const [, address = ''] = /class="notice">.*?href="([^"]*)"/.exec(text) ?? [];
    expect(address).toBe(`/shared/${token}?date_from=2015-05-17&amp;date_to=2015-05-20`);
    expect((await look(world, address.replaceAll('&amp;', '&'))).status).toBe(200);
  });
});

describe('filters', () => {
  const PHONES = { key: '$device_type', value: ['Mobile'], operator: 'exact', type: 'event' };
  const choices = [
    { name: 'On <phones>', properties: [PHONES] },
    { name: 'By browser', breakdown_filter: { breakdown: '$browser' } },
  ];

  test('are chosen by readers by their names, where the owner has named some', async () => {
    const queries: SentQuery[] = [];
    const world = await shown((query) => (queries.push(query), RESULTS), {});
    const own = { key: 'plan', value: ['paid'], operator: 'exact', type: 'event' };
    await world.service.call('PATCH', world.path, { body: { filters: { properties: [own] } } });
    const refused = { status: 400, body: { attr: 'filter' } };
    expect(await look(world, `/shared/${world.token}.json?filter=By+browser`)).toMatchObject(refused);
    expect((await world.sharing({ filter_choices: choices })).body).toMatchObject({ filter_choices: choices });

    const page = await look(world, `/shared/${world.token}?filter=On+%3Cphones%3E`);
    expect(queries.at(-1)?.['properties']).toEqual([...QUERY.properties, own, PHONES]);
    expect(page.text).toContain('?filter=On+%3Cphones%3E" aria-current="true">On &lt;phones&gt;</a>');
    expect(page.text).not.toMatch(/Mobile|device_type|paid/);
    await look(world, `/shared/${world.token}.csv?tile=2&filter=By+browser`);
    expect(queries.at(-1)).toMatchObject({
      properties: [...QUERY.properties, own],
      breakdownFilter: { breakdown: '$browser' },
    });
    await look(world, `/shared/${world.token}`);
    expect(queries.at(-1)).not.toHaveProperty('breakdownFilter');

    const other = await look(world, `/shared/${world.token}.json?filter=Tablets`);
    expect(other).toMatchObject({ ...refused, body: { detail: expect.stringContaining('On <phones>, By browser') } });
    await world.sharing({ filter_choices: [] });
    expect(await look(world, `/shared/${world.token}.json?filter=By+browser`)).toMatchObject(refused);
    // In a browser a link that somebody has kept opens a page that says so, and leads to what there is.
    for (const kept of ['filter=By+browser', 'date_from=2015-05-17&date_to=2015-05-20']) {
      const sent = { key: null, headers: { Accept: 'text/html,*/*;q=0.8' } };
      const { status, headers, text } = await world.service.call('GET', `/shared/${world.token}?${kept}`, sent);
      expect([status, headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
      expect(text).toContain('cannot be chosen here.');
      expect(text).toContain('<a href="?">');
    }
  });

  test('and dates are chosen together', async () => {
    const world = await shown();
    await world.sharing({ filter_choices: choices, allow_date_range: true });
    const { text } = await look(world, `/shared/${world.token}?date_from=-7d&filter=By+browser`);
    expect(text).toContain('date_from=-14d&amp;filter=By+browser">14 days</a>');
    expect(text).toContain('?date_from=-7d">Everything</a>');
    expect(text).toMatch(/\.csv\?date_from=-7d&amp;filter=By\+browser&amp;tile=\d+/);
  });

  test.each([
    [[{ properties: [] }], 'filter_choices__0__name'],
    [[{ name: 'A' }, { name: 'A' }], 'filter_choices__1__name'],
    [[{ name: 'A', properties: [{ key: 'x', operator: 'near', value: 1 }] }], /^filter_choices__0__properties/],
    [[{ name: 'A', breakdown_filter: { breakdown_limit: 0 } }], /^filter_choices__0__breakdown_filter/],
    [Array.from({ length: 9 }, (_, at) => ({ name: `${at}` })), 'filter_choices'],
  ])('that cannot be are refused: %j', async (filter_choices, attr) => {
    const world = await shown();
    const { status, body } = await world.sharing({ filter_choices });
    expect({ status, attr: body?.['attr'] }).toEqual({ status: 400, attr: expect.stringMatching(attr) });
  });
});

describe('a password', () => {
  const PASSWORD = 'a password of many letters';

  async function closed() {
    const world = await shown();
    const changed = await world.sharing({ password: PASSWORD });
    const page = `/shared/${world.token}`;
    const enter = (password: string) =>
      fetch(`${world.service.address}${page}`, { method: 'POST', body: new URLSearchParams({ password }) });
    const withCookie = (cookie: string, at = page) => fetch(`${world.service.address}${at}`, { headers: { cookie } });
    return { ...world, changed, page, enter, withCookie };
  }

  test('keeps out whoever has only the link, from every form of the page', async () => {
    const world = await closed();
    expect(world.changed.body).toMatchObject({ password_required: true });
    expect(JSON.stringify(world.changed.body)).not.toContain(PASSWORD);
    for (const form of ['', '.json', '.csv?tile=1']) {
      const { status, text } = await look(world, `${world.page}${form}`);
      expect([form, status]).toEqual([form, 403]);
      expect(text).not.toMatch(/Weekly|Visitors|Views/);
    }
    const page = await look(world, world.page);
    expect(page.text).toContain('<input type="password" name="password"');
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self'");
  });

  test('opens the page, and a cookie does so for twelve hours, until there is another password', async () => {
    const world = await closed();
    const wrong = await world.enter('something else');
    expect([wrong.status, await wrong.text()]).toEqual([403, expect.stringContaining('That is not the password')]);
    const right = await world.enter(PASSWORD);
    expect([right.status, await right.text()]).toEqual([200, expect.stringContaining('Weekly')]);
    const sent = right.headers.get('set-cookie') ?? '';
    expect(sent).toMatch(/^page_[\w-]{10}=[\d.\w-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/);
    const [cookie = ''] = sent.split(';');
    expect((await world.withCookie(cookie)).status).toBe(200);
    expect((await world.withCookie(cookie, `${world.page}.json`)).status).toBe(200);
    expect((await world.withCookie(`${cookie}x`)).status).toBe(403);
    expect((await world.withCookie(cookie.replace(/=\d+/, '=9999999999'))).status).toBe(403);
    world.context.clock.advance(12 * 3_600_000);
    expect((await world.withCookie(cookie)).status).toBe(403);
    const again = (await world.enter(PASSWORD)).headers.get('set-cookie')?.split(';')[0] ?? '';
    await world.sharing({ password: 'another password' });
    expect((await world.withCookie(again)).status).toBe(403);
    await world.sharing({ password_required: false });
    expect((await look(world, world.page)).status).toBe(200);
  });

  test('is tried ten times in five minutes, and then not even the right one', async () => {
    const world = await closed();
    const key = keys.passwordTries(world.token, '127.0.0.1', Math.floor(world.context.clock() / 300_000));
    await world.context.table.write([{ change: key, add: { tries: 9 }, set: { ttl: 4_000_000_000 } }]);
    expect((await world.enter('a guess')).status).toBe(403);
    const refused = await world.enter(PASSWORD);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    expect(await refused.text()).toMatch(/There were too many tries\. Try again in (1 minute|[2-9] minutes)\./);
    world.context.clock.advance(300_000);
    expect((await world.enter(PASSWORD)).status).toBe(200);
  });

  test('is entered by any number of readers behind one address', async () => {
    const world = await closed();
    for (let n = 0; n < 11; n += 1) expect((await world.enter(PASSWORD)).status).toBe(200);
  });

  test('is entered by so many at once as may be wrong, and those beyond them are told to come again at once', async () => {
    const world = await closed();
    const answers = await Promise.all(Array.from({ length: 13 }, () => world.enter(PASSWORD)));
    const later = answers.filter(({ status }) => status === 429);
    expect([later.length, answers.filter(({ status }) => status === 200).length]).toEqual([3, 10]);
    for (const answer of later) {
      expect(answer.headers.get('retry-after')).toBe('10');
      const text = await answer.text();
      expect(text).toContain('Many enter the password from your network at this moment. Try again in 10 seconds.');
    }
    expect((await world.enter(PASSWORD)).status).toBe(200);
  });

  test('is right, or refused, though it cannot be counted that it is not under way any more', async () => {
    const world = await closed();
    const { table, clock } = world.context;
    const withdrawn: unknown[] = [];
    const log = { ...world.context.log, warning: (message: string) => void withdrawn.push(message) };
    const failing = {
      ...table,
      write: (ops: Parameters<typeof table.write>[0]) =>
        JSON.stringify(ops).includes('"under_way":-1') ? Promise.reject(new Error('full')) : table.write(ops),
    } as typeof table;
    const enter = (isRight: () => Promise<boolean>) =>
      countedTry({ table: failing, clock, log }, world.token, '192.0.2.1', isRight);
    expect(await enter(async () => true)).toBe(true);
    await expect(enter(() => fail('throttled'))).rejects.toMatchObject({ kind: 'throttled' });
    expect(withdrawn).toHaveLength(2);
  });

  test('is guessed no more often by those who guess at once, whoever enters the right one beside them', async () => {
    const world = await closed();
    const enter = async (password: string) => (await world.enter(password)).status;
    const statuses: number[] = [];
    for (let n = 0; n < 4; n += 1) {
      const guesses = [1, 2, 3, 4, 5].map(() => enter('a guess'));
      const [right, ...wrong] = await Promise.all([enter(PASSWORD), ...guesses]);
      expect([200, 429]).toContain(right);
      statuses.push(...wrong);
    }
    expect(statuses.filter((status) => status === 403)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  });

  test('is stored as its hash, is long enough, and is not in the activity log', async () => {
    const { service, context, id, sharing } = await closed();
    const stored = await context.table.get(keys.sharing(service.project.id, id));
    expect(stored?.password).toMatch(/^scrypt\$/);
    expect(await sharing({ password: 'short' })).toMatchObject({ status: 400, body: { attr: 'password' } });
    expect(await sharing({ password: null, password_required: true })).toMatchObject({
      status: 400,
      body: { attr: 'password_required', detail: 'There is no password yet. Send it as `password`.' },
    });
    const log = await service.call('GET', `/api/organizations/${service.organization.id}/activity/`);
    expect(log.text).toContain('"field":"password"');
    expect(log.text).not.toMatch(/many letters|scrypt/);
  });
});

test('a page closes by itself', async () => {
  const world = await shown();
  const { body } = await world.sharing({ expires_at: '2026-01-08T00:00:00Z' });
  expect(body).toMatchObject({ expires_at: '2026-01-08T00:00:00Z' });
  expect((await look(world, `/shared/${world.token}`)).status).toBe(200);
  world.context.clock.set(Date.UTC(2026, 0, 8));
  expect((await look(world, `/shared/${world.token}`)).status).toBe(404);
});

test('an organization that shares nothing closes its pages, and opens none', async () => {
  const world = await shown();
  const allow = (allow_publicly_shared_resources: boolean) =>
    world.service.call('PATCH', `/api/organizations/${world.service.organization.id}/`, {
      body: { allow_publicly_shared_resources },
    });
  expect((await allow(false)).body).toMatchObject({ allow_publicly_shared_resources: false });
  for (const form of ['/shared/TOKEN', '/embedded/TOKEN', '/shared/TOKEN.json', '/shared/TOKEN.csv?tile=2'])
    expect((await look(world, form.replace('TOKEN', world.token))).status).toBe(404);
  await world.sharing({ enabled: false });
  expect(await world.sharing({ enabled: true })).toMatchObject({
    status: 403,
    body: { detail: 'Public sharing is disabled for this organization.' },
  });
  await allow(true);
  expect((await world.sharing({ enabled: true })).status).toBe(200);
});

describeInBrowser('the public page in a browser', (visit) => {
  const looks = (['light', 'dark'] as const).flatMap((colorScheme) =>
    [
      { width: 320, height: 640 },
      { width: 1200, height: 900 },
    ].map((viewport) => ({ colorScheme, viewport })),
  );

  test.each(looks)('is read without a script and without obstacles: %j', async (options) => {
    const world = await shown();
    const { page, complaints, requests } = await visit({ ...options, bypassCSP: false });
    await page.goto(`${world.service.address}/shared/${world.token}`);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Weekly <review>');
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
      'Read me first',
      'Visitors & <friends>',
      'Untitled insight',
    ]);
    expect(await page.getByRole('img', { name: /^Line chart of Views/ }).isVisible()).toBe(true);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(options.viewport.width);
    expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([page.url()]);
    expect(complaints).toEqual([]);
    expect(await obstacles(page)).toEqual([]);
  });

  test('is the same with scripts turned off', async () => {
    const world = await shown();
    const { page } = await visit({ javaScriptEnabled: false });
    await page.goto(`${world.service.address}/shared/${world.token}`);
    expect(await page.getByText('visitors are up').isVisible()).toBe(true);
    expect(await page.getByRole('img', { name: /^Line chart of Views/ }).isVisible()).toBe(true);
    await page.getByText('Numbers', { exact: true }).click();
    expect(await page.getByRole('cell', { name: '2-Jan-2020' }).isVisible()).toBe(true);
  });

  test('says in words of its own that a link is dead', async () => {
    const world = await shared();
    const { page } = await visit();
    await page.goto(`${world.service.address}/shared/${'A'.repeat(30)}`);
    expect(await page.getByRole('main').innerText()).toContain('This link does not open a dashboard.');
    expect(await obstacles(page)).toEqual([]);
  });
});
