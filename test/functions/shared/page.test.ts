import { handler as page } from '../../../functions/shared/page.ts';
import { retrieveShared } from '../../../lib/dashboards/public-page/routes.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { describeInBrowser, obstacles } from '../../support/browser.ts';
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

const QUERY = { kind: 'TrendsQuery', series: [{ event: '</code><script>alert(4)</script>' }], interval: 'day' };

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
  for (const key of [null, service.key]) await service.call('POST', `/shared/${token}`, { key });
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
  expect(text).toContain('&lt;/code&gt;&lt;script&gt;alert(4)');
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
        { insight: { name: 'Visitors & <friends>', query: QUERY, created_by: null }, text: null },
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
  expect((await world.service.call('POST', `/shared/${world.token}`, { key: null, body: {} })).status).toBe(401);
});

test('it costs two round trips, three with insights', async () => {
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

test('a dashboard without name and tiles has a page too', async () => {
  const [world, path] = await atPage({ name: '', tiles: [], tags: [], description: '' });
  const { text } = await look(world, path);
  expect(text).toContain('<h1>Untitled dashboard</h1>');
  expect(text).toContain('This dashboard has no tiles.');
});

describeInBrowser('the public page in a browser', (visit) => {
  const looks = (['light', 'dark'] as const).flatMap((colorScheme) =>
    [
      { width: 320, height: 640 },
      { width: 1200, height: 900 },
    ].map((viewport) => ({ colorScheme, viewport })),
  );

  test.each(looks)('is read without a script and without obstacles: %j', async (options) => {
    const world = await shared();
    const { page, complaints, requests } = await visit({ ...options, bypassCSP: false });
    await page.goto(`${world.service.address}/shared/${world.token}`);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Weekly <review>');
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
      'Read me first',
      'Visitors & <friends>',
      'Untitled insight',
    ]);
    expect(await page.getByText('"TrendsQuery"').isVisible()).toBe(true);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(options.viewport.width);
    expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([page.url()]);
    expect(complaints).toEqual([]);
    expect(await obstacles(page)).toEqual([]);
  });

  test('is the same with scripts turned off', async () => {
    const world = await shared();
    const { page } = await visit({ javaScriptEnabled: false });
    await page.goto(`${world.service.address}/shared/${world.token}`);
    expect(await page.getByText('visitors are up').isVisible()).toBe(true);
    expect(await page.getByText('"TrendsQuery"').isVisible()).toBe(true);
  });

  test('says in words of its own that a link is dead', async () => {
    const world = await shared();
    const { page } = await visit();
    await page.goto(`${world.service.address}/shared/${'A'.repeat(30)}`);
    expect(await page.getByRole('main').innerText()).toContain('This link does not open a dashboard.');
    expect(await obstacles(page)).toEqual([]);
  });
});
