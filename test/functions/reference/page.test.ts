import { handler as page } from '../../../functions/reference/page.ts';
import { handler as schema } from '../../../functions/schema.ts';
import { retrieveReference, retrieveSchema } from '../../../lib/api/reference/routes.ts';
import { describeInBrowser } from '../../support/browser.ts';
import { testContext } from '../../support/context.ts';
import { proxyEvent } from '../../support/proxy-event.ts';
import { type Service, testService } from '../../support/service.ts';

const open = (service: Service, path: string) => service.call('GET', path, { key: null });

test('the reference page is open to everybody, and may load nothing but what is ours', async () => {
  const service = await testService(testContext());
  for (const path of ['/api/schema/docs/', '/api/schema/docs']) {
    const { status, headers, text } = await open(service, path);
    expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'text/html; charset=utf-8' });
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|http|\*/);
    expect(text.match(/(?<=(?:src|href)=")[^"]+/g)).toEqual([
      'data:,',
      expect.stringMatching(/^\/api\/schema\/docs\/swagger-ui\.css\?v=\d+\.\d+\.\d+$/),
      '/api/schema/',
      expect.stringMatching(/^\/api\/schema\/docs\/swagger-ui-bundle\.js\?v=\d+\.\d+\.\d+$/),
    ]);
  }
});

test.each([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
])('%s is served for good, and fits a function’s answer', async (file, type) => {
  const service = await testService(testContext());
  const { headers, text } = await open(service, `/api/schema/docs/${file}?v=1`);
  expect(headers.get('content-type')).toBe(type);
  expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(text).toContain('swagger-ui');
  // Lambda answers at most 6 MB, and the text is a JSON string in its answer.
  expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(6_000_000);
});

test.each(['package.json', '..%2fpackage.json', 'swagger-ui.css.map', '__proto__'])(
  '%s is not served',
  async (file) => {
    const service = await testService(testContext());
    expect(await open(service, `/api/schema/docs/${file}`)).toMatchObject({
      status: 404,
      body: { type: 'invalid_request', code: 'not_found', detail: 'Not found.', attr: null },
    });
  },
);

test('page and document have the prefix that a stage adds to every path', async () => {
  const context = testContext();
  const staged = { stage: '/prod', domainName: 'abc.execute-api.us-east-1.amazonaws.com' };
  const { body: text } = await page(context)(proxyEvent(retrieveReference, staged));
  expect(text).toContain('data-schema="/prod/api/schema/"');
  expect(text.match(/(?<=(?:src|href)=")\/[^"]+/g)).toHaveLength(3);
  expect(text).not.toMatch(/(src|href)="\/(?!prod\/)/);
  const { body } = await schema(context)(proxyEvent(retrieveSchema, staged));
  expect(JSON.parse(body)).toMatchObject({ servers: [{ url: '/prod' }] });
  const service = await testService(context);
  expect((await open(service, '/api/schema/')).body).toMatchObject({ servers: [{ url: '/' }] });
});

// Each look at the page takes seconds: it draws hundreds of operations.
describeInBrowser('the reference page in a browser', (visit) => {
  const opened = async (service: Service) => {
    const { page, complaints, requests } = await visit({ colorScheme: 'light' });
    await page.goto(`${service.address}/api/schema/docs/`);
    const operation = page.locator('.opblock', { hasText: 'List organizations' }).first();
    await operation.waitFor();
    return { page, complaints, requests, operation };
  };

  test('lists every operation, in light and in dark, and asks nobody else', async () => {
    const service = await testService(testContext());
    const { page, complaints, requests, operation } = await opened(service);
    await operation.locator('.opblock-summary-control').click();
    await operation.getByText('oldest first').waitFor();
    const dark = page.locator('html.dark-mode');
    expect(await dark.count()).toBe(0);
    await page.emulateMedia({ colorScheme: 'dark' });
    await dark.waitFor();
    // What lies below is drawn when it is scrolled to.
    const last = page.locator('.opblock-tag').filter({ hasText: 'Reference' });
    for (let screens = 0; screens < 1000 && !(await last.isVisible()); screens += 1) {
      await page.mouse.wheel(0, 10_000);
      await page.waitForLoadState();
    }
    await last.waitFor();
    expect(complaints).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(service.address) && !url.startsWith('data:'))).toEqual([]);
  });

  test('finds operations by words of their path and summary, each on one path, and tries one with a key', async () => {
    const service = await testService(testContext());
    const { page, complaints, operation } = await opened(service);
    const filter = page.getByPlaceholder('Filter by tag');
    const found = page.locator('.opblock');
    await filter.fill('LIST backfills');
    await operation.waitFor({ state: 'detached' });
    await found.first().waitFor();
    expect(await found.count()).toBe(1);

    await filter.fill('List organizations');
    await operation.waitFor();
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    await page.locator('input[type=text], input[type=password]').first().fill(service.key);
    await page.locator('.auth-btn-wrapper .authorize').click();
    await page.locator('.auth-btn-wrapper .btn-done').click();
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    await operation.locator('.live-responses-table', { hasText: 'Acme' }).waitFor();
    expect(complaints).toEqual([]);
  });
});
