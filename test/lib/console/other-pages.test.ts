/** What people do beside the main paths: on the pages of alerts, subscriptions, insights, events, exports and settings. */
import type { APIResponse, Page } from 'playwright-core';
import { HOUR_MS } from '../../../lib/ports/units.ts';
import { obstacles } from '../../support/browser.ts';
import { button, describeConsole, expectSeen, row, seenAfterReloads, whileWritten } from '../../support/console.ts';
import { temporaryFolder } from '../../support/context.ts';

/** Shows the page what something was like, until the page has tried to write it. */
async function asBefore(page: Page, path: string): Promise<void> {
  const { promise: before, resolve } = Promise.withResolvers<APIResponse>();
  let isAsked = false;
  let isWritten = false;
  await page.route(`**${path}`, async (route) => {
    isWritten ||= route.request().method() !== 'GET';
    if (isWritten) return route.continue();
    if (!isAsked) {
      isAsked = true;
      resolve(await route.fetch());
    }
    return route.fulfill({ response: await before });
  });
  await page.reload();
  // The page has a heading before it has an answer.
  await before;
  await expectSeen(page.getByRole('heading', { level: 1 }));
}

describeConsole('the console', ({ service, open }) => {
  const at = (path: string): string => `/projects/${service().project}${path}`;
  const api = (path: string): string => `/api/projects/${service().project}${path}`;
  const made = async (list: string, body: object) => (await service().call('POST', api(list), body)).body;
  const trend = (name: string) =>
    made('/insights/', { name, query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] } });

  test('shows both versions where somebody else has switched an alert or a subscription meanwhile', async () => {
    const insight = await trend('Watched');
    const alert = await made('/alerts/', {
      insight: insight['id'],
      name: 'Few',
      subscribed_users: [],
      threshold: { configuration: { type: 'absolute', bounds: { lower: 100 } } },
    });
    const path = `/alerts/${String(alert['id'])}`;
    const { page } = await open(at(path));
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await asBefore(page, `${api(path)}/`);
    await service().call('PATCH', `${api(path)}/`, { name: 'Fewer', enabled: false });
    await button(page, 'Snooze').click();
    await button(page.getByRole('dialog'), 'Snooze').click();
    await expectSeen(notice.getByText('snoozed_until, as it is now'));
    await button(notice, 'Keep theirs').click();
    await expectSeen(page.getByRole('heading', { name: 'Fewer' }));
    await expectSeen(row(page, 'Alert', 'Disabled'));
    await asBefore(page, `${api(path)}/`);
    await service().call('PATCH', `${api(path)}/`, { name: 'Fewest' });
    await button(page, 'Enable').click();
    await whileWritten(page, () => button(notice, 'Write mine').click());
    expect((await service().call('GET', `${api(path)}/`)).body).toMatchObject({ name: 'Fewest', enabled: true });

    const subscription = await made('/subscriptions/', {
      insight: insight['id'],
      title: 'Weekly',
      target_type: 'webhook',
      target_value: 'https://hooks.example.com/reports',
      frequency: 'weekly',
      start_date: '2030-01-01T08:30:00Z',
    });
    const sent = `/subscriptions/${String(subscription['id'])}`;
    await page.goto(`${service().address}/#${at(sent)}`);
    await expectSeen(page.getByRole('heading', { name: 'Weekly' }));
    await asBefore(page, `${api(sent)}/`);
    await service().call('PATCH', `${api(sent)}/`, { title: 'Monthly' });
    await button(page, 'Disable').click();
    await expectSeen(notice.getByText('enabled, as it is now'));
    await button(notice, 'Keep theirs').click();
    await expectSeen(page.getByRole('heading', { name: 'Monthly' }));
    await expectSeen(row(page, 'Subscription', 'On'));
  });

  test('finds an insight, deletes it, brings it back from the list or where it is told, on its dashboard too', async () => {
    for (const name of ['Money in', 'Money out', 'People']) await trend(name);
    const { page } = await open(at('/insights'));
    await page.getByRole('textbox', { name: 'Search' }).fill('money');
    await row(page, 'Insights', 'People').waitFor({ state: 'detached' });
    await page.reload();
    await row(page, 'Insights', 'Money in').getByRole('link').click();
    await expectSeen(page.getByRole('heading', { name: 'Money in' }));
    const board = await made('/dashboards/', {
      name: 'Money',
      tiles: [{ insight: Number(page.url().split('/').at(-1)) }],
    });
    await button(page, 'Delete').click();
    await button(page.getByRole('dialog'), 'Delete').click();
    await expectSeen(page.getByText('Money in is deleted.'));
    await expectSeen(row(page, 'Insights', 'Money out'));
    await row(page, 'Insights', 'Money in').waitFor({ state: 'detached' });
    expect(await obstacles(page)).toEqual([]);
    await page.getByRole('switch', { name: 'Deleted' }).press('Space');
    await button(row(page, 'Insights', 'Money in'), 'Restore').click();
    await expectSeen(page.getByText('No insight is like that.'));
    await page.getByRole('switch', { name: 'Deleted' }).press('Space');
    await row(page, 'Insights', 'Money in').getByRole('link').click();
    await expectSeen(page.getByRole('heading', { name: 'Money in' }));
    await button(page, 'Delete').click();
    await button(page.getByRole('dialog'), 'Delete').click();
    await row(page, 'Insights', 'Money in').waitFor({ state: 'detached' });
    const undo = (text: string) =>
      button(page.getByRole('alert').filter({ hasText: text }), 'Undo')
        .last()
        .click();
    await undo('Money in is deleted.');
    await expectSeen(row(page, 'Insights', 'Money in'));
    await page.goto(`${service().address}/#${at(`/dashboards/${String(board['id'])}`)}`);
    await expectSeen(page.getByRole('region', { name: 'Money in' }));
    await button(page, 'Delete').click();
    await button(page.getByRole('dialog'), 'Delete').click();
    await expectSeen(page.getByText('No dashboards yet.'));
    await undo('Money is deleted.');
    await expectSeen(row(page, 'Dashboards', 'Money'));
  });

  test('leads from an event to the page of who did it', async () => {
    await service().send({ event: 'paid', distinct_id: 'ada', properties: { $set: { email: 'ada@example.com' } } });
    await service().send({ event: 'left', distinct_id: 'nobody', properties: { $process_person_profile: false } });
    const { page, complaints } = await open(at('/events'));
    await button(page, 'left').click();
    const detail = page.getByRole('dialog', { name: 'left' });
    await expectSeen(detail.getByText('by nobody'));
    expect(await button(detail, 'nobody').count()).toBe(0);
    await page.keyboard.press('Escape');
    await button(page, 'paid').click();
    await button(page.getByRole('dialog', { name: 'paid' }), 'ada').click();
    await expectSeen(page.getByRole('heading', { name: 'ada@example.com' }));
    expect(complaints).toEqual([]);
  });

  test('chooses the time zone of a project and the day on which its weeks begin, and shows both versions of its name', async () => {
    const { page, complaints } = await open(at('/settings'));
    await page.getByRole('combobox', { name: 'Time zone' }).fill('berl');
    await page.getByRole('option', { name: 'Europe/Berlin' }).click();
    await page.getByRole('combobox', { name: 'Weeks begin on' }).click();
    await page.getByRole('option', { name: 'Monday' }).click();
    await page.locator('form').filter({ hasText: 'Exports stay in UTC' }).getByRole('button', { name: 'Save' }).click();
    await expectSeen(page.getByText('Insights count by it from now on.'));
    await page.reload();
    expect(await page.getByRole('combobox', { name: 'Weeks begin on' }).inputValue()).toBe('Monday');
    expect(await page.getByRole('combobox', { name: 'Time zone' }).inputValue()).toBe('Europe/Berlin');
    expect(await obstacles(page)).toEqual([]);
    const { body } = await service().call('GET', api('/'));
    expect(body).toMatchObject({ timezone: 'Europe/Berlin', week_start_day: 1 });
    expect(complaints).toEqual([]);

    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await asBefore(page, api('/'));
    await service().call('PATCH', api('/'), { name: 'Theirs', week_start_day: 0 });
    await page.getByRole('textbox', { name: 'Project’s name' }).fill('Mine');
    await button(page, 'Save').first().click();
    await expectSeen(notice.getByText('Theirs', { exact: true }));
    await expectSeen(notice.getByText('Mine', { exact: true }));
    await whileWritten(page, () => button(notice, 'Write mine').click());
    await expectSeen(page.getByText('The name is changed.'));
    expect((await service().call('GET', api('/'))).body).toMatchObject({ name: 'Mine', week_start_day: 0 });
    await page.getByRole('combobox', { name: 'Weeks begin on' }).and(page.locator('[value=Sunday]')).waitFor();
  });

  test('tells how far an export has come, and opens the run of an interval that is chosen with the keyboard', async () => {
    const one = await made('/batch_exports/', {
      name: 'Old hours',
      interval: 'hour',
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const { page, complaints } = await open(at('/exports'));
    await expectSeen(row(page, 'Exports', 'Old hours').getByText('nothing yet'));
    await made(`/batch_exports/${String(one['id'])}/backfill/`, {
      start_at: '2015-05-17T10:00:00Z',
      end_at: '2015-05-17T14:00:00Z',
    });
    const listed = row(page, 'Exports', 'Old hours');
    await expectSeen(listed.getByText('17 May 2015', { exact: true }));
    // The past is for backfills; what has ended since the export was made is behind.
    expect(await listed.getByText('behind').count()).toBe(0);
    await page.clock.setFixedTime(Date.now() + 5 * HOUR_MS);
    await page.reload();
    await expectSeen(listed.getByText('5 intervals behind'));
    await page.getByRole('link', { name: 'Old hours' }).click();

    const strip = page.getByRole('grid', { name: 'Intervals by their state, a row for each day' });
    await expectSeen(strip.getByRole('row', { name: '2015-05-17' }));
    const cells = strip.getByRole('button', { name: /: Completed$/ });
    await expect(seenAfterReloads(page, cells.nth(3))).resolves.toBe(true);
    expect(await obstacles(page)).toEqual([]);
    await cells.first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    const chosen = String(await page.locator(':focus').getAttribute('aria-label'));
    expect(chosen).toBe(await cells.nth(2).getAttribute('aria-label'));
    // Tab leads out of the strip, and back to the same cell.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Shift+Tab');
    expect(await page.locator(':focus').getAttribute('aria-label')).toBe(chosen);
    await page.keyboard.press('Enter');
    const detail = page.getByRole('dialog', { name: 'Run' });
    await expectSeen(
      detail.getByRole('row', { name: /^Interval/ }).getByText(chosen.replace(': Completed', ''), { exact: false }),
    );
    await expectSeen(detail.getByText('a backfill'));
    expect(await obstacles(page)).toEqual([]);
    await page.reload();
    await expectSeen(detail.getByText('a backfill'));
    await page.keyboard.press('Escape');
    await detail.waitFor({ state: 'detached' });
    await cells.first().click();
    await detail.getByRole('link', { name: 'Its log' }).click();
    await expectSeen(page.getByRole('log').getByText('INFO'));
    expect(complaints).toEqual([]);
  });
});
