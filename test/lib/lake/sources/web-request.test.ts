import { accessLogReader } from '../../../../lib/lake/sources/access-log.ts';
import {
  agentProperties,
  isAsset,
  referringDomain,
  targetProperties,
} from '../../../../lib/lake/sources/web-request.ts';

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36';
const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';

const eventOf = (target: string, agent = CHROME, pageViews?: 'pages' | 'all') => {
  const line = `192.0.2.7 - - [17/May/2015:10:05:03 +0000] "${target}" 200 5 "https://duck.example/?q=a" "${agent}"`;
  const event = accessLogReader(pageViews)(line);
  if (typeof event === 'string') throw new Error(event);
  return { event: event.event, ...(JSON.parse(event.properties) as Record<string, unknown>) };
};

test.each([
  ['a page by a person', 'GET /about HTTP/1.1', CHROME, '$pageview'],
  ['a style', 'GET /a/site.css?v=3 HTTP/1.1', CHROME, '$http_log'],
  ['a picture', 'GET /logo.PNG HTTP/1.1', CHROME, '$http_log'],
  ['an icon', 'GET /favicon.ico HTTP/1.1', CHROME, '$http_log'],
  ['what robots read', 'GET /robots.txt HTTP/1.1', CHROME, '$http_log'],
  ['a page by a bot', 'GET / HTTP/1.1', GOOGLEBOT, '$http_log'],
  ['what is not HTTP', 'hello', CHROME, '$http_log'],
  ['a page with a dot in its query', 'GET /page?file=a.png HTTP/1.1', CHROME, '$pageview'],
])('a request for %s', (_what, request, agent, event) => {
  expect(eventOf(request, agent).event).toBe(event);
  expect(eventOf(request, agent, 'all').event).toBe('$pageview');
});

test('assets and bots are marked, whatever they are called', () => {
  expect(eventOf('GET /a.css HTTP/1.1', CHROME, 'all')).toMatchObject({ is_asset: true, $browser_type: 'browser' });
  expect(eventOf('GET / HTTP/1.1', GOOGLEBOT, 'all')).toMatchObject({ $browser_type: 'bot' });
  expect(eventOf('GET / HTTP/1.1')).not.toHaveProperty('is_asset');
});

test('a page view has the properties that posthog-js sends', () => {
  expect(eventOf('GET /a/b?utm_source=mail&utm_campaign=may%20day&x=1#top HTTP/1.1')).toMatchObject({
    $current_url: '/a/b?utm_source=mail&utm_campaign=may%20day&x=1#top',
    $pathname: '/a/b',
    utm_source: 'mail',
    utm_campaign: 'may day',
    $referrer: 'https://duck.example/?q=a',
    $referring_domain: 'duck.example',
    $browser: 'Chrome',
    $browser_version: 137,
    $os: 'Windows',
    $device_type: 'Desktop',
  });
});

test.each([
  ['/', '/'],
  ['/a b/c?d', '/a b/c'],
  ['http://www.example.com', '/'],
  ['https://www.example.com/x?y=/z', '/x'],
  ['*', '*'],
  ['', '/'],
  ['?utm_source=', '/'],
])('the path of %p is %p', (target, path) => {
  expect(targetProperties(target)).toEqual({ $pathname: path });
});

test('the campaign is found among as many parameters as a line has room for', () => {
  // A parser whose time goes by the square of their number takes minutes.
  const found = targetProperties(`/?${'a&'.repeat(400_000)}utm_source=mail&${'utm_term&'.repeat(20_000)}`);
  expect(found).toEqual({ $pathname: '/', utm_source: 'mail' });
});

test('a referrer that is no address has no domain', () => {
  expect(referringDomain('https://example.com:8080/a')).toBe('example.com:8080');
  for (const referrer of ['/a', 'example.com', 'about:blank', '']) expect(referringDomain(referrer)).toBeUndefined();
});

test.each([
  ['/a.js', true],
  ['/fonts/a.woff2', true],
  ['/a.mjs', true],
  ['/a.html', false],
  ['/a.json', false],
  ['/png', false],
  ['/a.png/', false],
])('whether %p is an asset: %p', (path, expected) => {
  expect(isAsset(path)).toBe(expected);
});

const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
test.each([
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) ${WEBKIT} Version/17.1 Mobile/15E148 Safari/604.1`,
    { $browser: 'Mobile Safari', $browser_version: 17.1, $os: 'iOS', $device_type: 'Mobile' },
  ],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) ${WEBKIT} CriOS/119.0 Mobile/15E148 Safari/604.1`,
    { $browser: 'Chrome iOS', $browser_version: 119, $os: 'iOS', $device_type: 'Mobile' },
  ],
  [
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/17.1 Safari/605.1.15`,
    { $browser: 'Safari', $browser_version: 17.1, $os: 'Mac OS X', $device_type: 'Desktop' },
  ],
  [
    `Mozilla/5.0 (iPad; CPU OS 6_0 like Mac OS X) ${WEBKIT} Version/6.0 Mobile/10A5355d Safari/8536.25`,
    { $browser: 'Mobile Safari', $browser_version: 6, $os: 'iOS', $device_type: 'Tablet' },
  ],
  [
    'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Safari/537.36',
    { $browser: 'Chrome', $browser_version: 119, $os: 'Chrome OS', $device_type: 'Desktop' },
  ],
  [`${CHROME} Edg/137.0.3.1`, { $browser: 'Microsoft Edge', $browser_version: 137, $os: 'Windows' }],
])('the agent %p', (agent, expected) => {
  expect(agentProperties(agent)).toMatchObject({ $browser_type: 'browser', ...expected });
});

test.each([GOOGLEBOT, 'curl/8.5.0', 'python-requests/2.31', 'UniversalFeedParser/4.2-pre-314-svn'])(
  '%p is a bot',
  (agent) => {
    expect(agentProperties(agent)).toEqual({ $browser_type: 'bot' });
  },
);

test('an agent may be anything', () => {
  expect(agentProperties('Browser/1.0 (Some; Thing)')).toMatchObject({ $browser_type: 'browser' });
  expect(agentProperties('x'.repeat(100_000))).toMatchObject({ $browser_type: expect.any(String) });
});
