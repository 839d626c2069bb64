/** Every page of the console, as axe and readers of three widths find it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { obstacles } from '../../support/browser.ts';
import { button, describeConsole, expectGone, expectSeen } from '../../support/console.ts';
import { temporaryFolder } from '../../support/context.ts';

describeConsole('every page of the console', ({ service, open, at, api, made }) => {
  /** A page of the console with something on it: its address, its title, and what is done there before it is looked at. */
  interface Looked {
    readonly path: string;
    readonly title: string;
    readonly act?: (page: Page) => Promise<void>;
  }

  /** Makes one of everything, and returns every page of the console with it. */
  async function everyPage(): Promise<readonly Looked[]> {
    const idOf = async (list: string, body: object) => (await made(list, body)).id;
    const destination = { type: 'Folder', config: { path: temporaryFolder() } };
    const one = await idOf('/batch_exports/', { name: 'Files of one kind', interval: 'hour', destination });
    const board = await idOf('/dashboards/', { name: 'Web', use_template: 'WEBSITE_TRAFFIC' });
    const breakdowns = [
      { property: 'plan', type: 'event' },
      { property: 'lower(event)', type: 'hogql' },
    ];
    const trend = await idOf('/insights/', {
      name: 'Watched',
      query: {
        kind: 'TrendsQuery',
        series: [{ kind: 'EventsNode', event: 'paid' }],
        properties: [
          { key: 'plan', operator: 'is_set', type: 'person' },
          { key: 'event != distinct_id', type: 'hogql' },
        ],
        breakdownFilter: { breakdowns },
      },
    });
    const alert = await idOf('/alerts/', {
      insight: Number(trend),
      name: 'A number that goes down',
      subscribed_users: [],
      threshold: { configuration: { type: 'absolute', bounds: { lower: 1_000_000 } } },
    });
    const subscription = await idOf('/subscriptions/', {
      insight: Number(trend),
      title: 'Every week',
      target_type: 'webhook',
      target_value: 'https://hooks.example.com/reports',
      frequency: 'weekly',
      start_date: '2030-01-01T08:30:00Z',
    });
    const { body: invite } = await service().call('POST', '/api/organizations/@current/invites/', {
      email: 'cleo@example.com',
    });
    const person = '/persons/?search=a%20person%20with%20a%20page';
    await service().send({
      event: 'paid',
      distinct_id: 'a person with a page',
      properties: { $set: { email: 'a-person-with-a-page@example.com' } },
    });
    let persons: readonly Record<string, unknown>[] = [];
    while (persons.length === 0) persons = (await service().call('GET', api(person))).body['results'] as typeof persons;
    const of = (path: string, title: string, act?: Looked['act']): Looked => ({
      path: at(path),
      title,
      ...(act && { act }),
    });
    return [
      { path: `/invites/${String(invite['id'])}`, title: 'Invitation' },
      of('/home', 'Default project'),
      of('/dashboards', 'Dashboards'),
      of(`/dashboards/${board}`, 'Web'),
      of('/insights', 'Insights'),
      of('/insights/new', 'New insight'),
      of('/insights/new', 'New insight', async (page) => {
        await page.getByRole('combobox', { name: 'Question' }).click();
        await page.getByRole('option', { name: /^HogQL/ }).click();
        await page.getByRole('textbox', { name: 'HogQL query' }).waitFor();
      }),
      of(`/insights/${trend}`, 'Watched'),
      of('/alerts', 'Alerts'),
      of(`/alerts?insight=${trend}`, 'Alerts of Watched'),
      of(`/alerts/${alert}`, 'A number that goes down'),
      of('/subscriptions', 'Subscriptions'),
      of(`/subscriptions?insight=${trend}`, 'Subscriptions of Watched'),
      of(`/subscriptions/${subscription}`, 'Every week'),
      of('/events', 'Events'),
      of('/persons', 'Persons'),
      of(`/persons/${String(persons[0]?.['uuid'])}`, 'a-person-with-a-page@example.com'),
      of('/exports', 'Exports'),
      of('/exports/new', 'New export'),
      of('/exports/new', 'New export', async (page) => {
        await page.getByRole('radio', { name: /^S3/ }).check();
        await button(page, 'Add a filter').click();
      }),
      ...['runs', 'backfills', 'logs', 'settings'].map((tab) => of(`/exports/${one}?tab=${tab}`, 'Files of one kind')),
      of('/import', 'Import'),
      of('/people', 'People'),
      of('/keys', 'Keys'),
      of('/activity', 'Activity log'),
      of('/settings', 'Settings'),
    ];
  }

  let pages: Promise<readonly Looked[]> | undefined;

  /** Which of the widths a page is wider than, and what stands in the way at the first and the second of them. */
  async function lookedAt(page: Page, widths: readonly number[]): Promise<object> {
    const overflow: number[] = [];
    const found: unknown[] = [];
    for (const [at, width] of widths.entries()) {
      await page.setViewportSize({ width, height: 900 });
      if (await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')) overflow.push(width);
      if (at < 2) found.push(...(await obstacles(page)));
    }
    return { overflow, found };
  }

  const NOTHING = { overflow: [], found: [] };

  test.each([
    { colorScheme: 'light', widths: [1440, 768, 360] },
    { colorScheme: 'dark', widths: [360, 768, 1440] },
  ] as const)('has nothing that axe finds on any page, in $colorScheme', async ({ colorScheme, widths }) => {
    const all = await (pages ??= everyPage());
    const { page, complaints } = await open(at('/home'), { colorScheme });
    for (const { path, title, act } of all) {
      await page.goto(`${service().address}/#${path}`);
      await expectSeen(page.getByRole('heading', { level: 1, name: title, exact: true }));
      await act?.(page);
      await expectGone(page.locator('.mantine-Skeleton-root, .mantine-Loader-root'));
      expect({ path, ...(await lookedAt(page, widths)) }).toEqual({ path, ...NOTHING });
      if (act === undefined) continue;
      await page.goto(`${service().address}/#${at('/home')}`);
      // Not by the pointer, which would rest on what is looked at next.
      await button(page, 'Leave').press('Enter');
    }
    await page.evaluate('sessionStorage.clear()');
    await page.reload();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Sign in' }));
    expect(await lookedAt(page, widths)).toEqual(NOTHING);
    expect(complaints).toEqual([]);
  });

  test('is looked at page by page, with none left out', async () => {
    const declared = readFileSync(join(import.meta.dirname, '../../../lib/console/pages.ts'), 'utf8');
    const paths = [...declared.matchAll(/path: '([^']+)'/g)].map(([, path = '']) => path);
    const looked = (await (pages ??= everyPage())).map(({ path }) => path.split('?')[0] ?? '');
    const isLooked = (path: string): boolean =>
      looked.some((one) => new RegExp(`^${path.replace(/\$\w+/g, '(?!new$)[^/]+')}$`).test(one));
    expect(paths.length).toBeGreaterThan(15);
    expect(paths.filter((path) => !isLooked(path))).toEqual([]);
  });
});
