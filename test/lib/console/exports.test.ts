/** Exports in the console: made, watched, changed. */
import type { Locator } from 'playwright-core';
import { HOUR_MS } from '../../../lib/basics/units.ts';
import { obstacles } from '../../support/browser.ts';
import {
  button,
  describeConsole,
  expectGone,
  expectSeen,
  heldBack,
  row,
  seenAfterReloads,
  whileWritten,
} from '../../support/console.ts';
import { temporaryFolder } from '../../support/context.ts';

describeConsole('exports in the console', ({ service, open, at, api, made }) => {
  test('names on the first page the exports whose last run that has ended failed, and says of how many none has', async () => {
    const { page } = await open(at('/home'));
    const one = (name: string, ...statuses: string[]) => ({
      id: name,
      name,
      latest_runs: statuses.map((status) => ({ status })),
    });
    let results = [
      one('Tried again', 'Running', 'Failed'),
      one('Mended', 'Completed', 'Failed'),
      one('New', 'Starting'),
    ];
    await page.route('**/batch_exports/?*', (route) =>
      route.fulfill({ json: { count: results.length + 1, next: null, previous: null, results } }),
    );
    await page.reload();
    await expectSeen(page.getByRole('link', { name: 'Tried again' }));
    expect(await page.getByRole('link', { name: /^(Mended|New)$/ }).count()).toBe(0);
    results = results.slice(1);
    await page.reload();
    await expectSeen(page.getByText('None of the newest 2: no last run has failed.'));
  });

  test('says of an export that it retries while something is in the way of a run', async () => {
    const one = await made('/batch_exports/', {
      name: 'In the way',
      interval: 'hour',
      paused: false,
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const { page } = await open(at('/home'));
    const run = {
      status: 'Running',
      latest_error: null,
      created_at: new Date().toISOString(),
      records_completed: null,
    };
    let latest_runs: object[] = [run, { ...run, latest_error: 'Could not reach the server.' }];
    await page.route('**/batch_exports/?*', (route) =>
      route.fulfill({ json: { count: 1, next: null, previous: null, results: [{ ...one, latest_runs }] } }),
    );
    await page.goto(`${service().address}/#${at('/exports')}`);
    await expectSeen(row(page, 'Exports', 'Retrying'));
    latest_runs = [run, run];
    await page.reload();
    await expectSeen(row(page, 'Exports', 'On'));
    await expectGone(row(page, 'Exports', 'Retrying'));
  });

  test('makes an export with its checks, delivers the past, shows runs and log, pauses and goes on', async () => {
    const folder = temporaryFolder();
    const { page, requests } = await open(at('/exports'));
    await page.getByRole('link', { name: 'New export' }).first().click();
    await page.getByRole('radio', { name: /^Folder/ }).check();
    await page.getByRole('textbox', { name: 'Folder' }).fill('not/a/whole/path');
    await page.getByRole('textbox', { name: 'Name' }).fill('Files');
    await expectSeen(page.getByText('Begin it at the top, as /srv/exports.'));
    expect(await button(page, 'Create the export').isDisabled()).toBe(true);
    expect(await obstacles(page)).toEqual([]);
    await page.getByRole('textbox', { name: 'Folder' }).fill(folder);
    await button(page, 'Check the destination').click();
    await expectSeen(page.getByRole('list', { name: 'Checks' }).getByLabel('Passed'));
    await button(page, 'Create the export').click();
    await expectSeen(page.getByRole('heading', { name: 'Files' }));

    await page.getByRole('tab', { name: 'Backfills' }).click();
    await expectSeen(
      page.getByText(
        'It delivers what arrived in its range. Events arrive when they are sent or imported; imported history, from long ' +
          'before the project’s first export, arrives when it happened.',
      ),
    );
    const [start, end] = [3, 1].map((hours) => new Date(Date.now() - hours * HOUR_MS).toISOString().slice(0, 16));
    // So it is for a moment, where somebody types a figure too many.
    await page.getByRole('textbox', { name: /^From/ }).fill('20260-01-05T10:00');
    await page.getByRole('textbox', { name: /^From/ }).fill(String(end));
    await page.getByRole('textbox', { name: /^To/ }).fill(String(start));
    await expectSeen(page.getByText('It ends before it begins.'));
    expect(await button(page, 'Estimate').isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: /^From/ }).fill(String(start));
    await expectSeen(page.getByText('It ends when it begins.'));
    await page.getByRole('textbox', { name: /^To/ }).fill(String(end));
    await button(page, 'Estimate').click();
    await expectSeen(page.getByText(/intervals with .* rows?:/));
    await button(page, 'Begin the backfill').click();
    await expectSeen(row(page, 'Backfills', 'Completed'));

    await page.getByRole('tab', { name: 'Runs' }).click();
    await expectSeen(row(page, 'Runs', 'Completed'));
    // Who clicks twice by habit wants it once.
    await button(row(page, 'Runs', 'Completed').first(), 'Retry').dblclick();
    await expectSeen(page.getByText('The interval runs again.'));
    expect(requests.filter((url) => url.endsWith('/retry/'))).toHaveLength(1);
    await row(page, 'Runs', 'Completed').first().getByRole('link', { name: 'Log' }).click();
    await expectSeen(page.getByRole('log').getByText('INFO'));

    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('textbox', { name: 'Folder' }).fill(temporaryFolder());
    await button(page, 'Check the destination').click();
    await expectSeen(page.getByRole('list', { name: 'Checks' }).getByLabel('Passed'));
    await button(page, 'Save').click();
    await expectSeen(page.getByText('Files is changed.'));

    await button(page, 'Pause').click();
    await expectSeen(page.getByText('Files is paused.'));
    await button(page, 'Unpause').click();
    await button(page.getByRole('dialog'), 'Go on').click();
    await expectSeen(page.getByText('Files goes on.'));
  });

  test('shows the older lines of a log where there are more than one page has', async () => {
    const one = await made('/batch_exports/', {
      name: 'Talkative',
      interval: 'hour',
      paused: true,
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const path = `/exports/${one.id}`;
    const { page, complaints } = await open(at('/exports'));
    const end = Date.parse('2026-01-05T10:00:00Z');
    let newer = 0;
    const lines = () =>
      Array.from({ length: 450 + newer }, (_, n) => ({
        timestamp: new Date(end - (n - newer) * 1_000).toISOString(),
        level: 'INFO',
        message: `Line ${450 + newer - n}.`,
        instance_id: 'a run',
      }));
    await page.route('**/logs/?*', (asked) => {
      const { searchParams } = new URL(asked.request().url());
      const [offset, limit] = ['offset', 'limit'].map((name) => Number(searchParams.get(name) ?? 0)) as [
        number,
        number,
      ];
      const before = searchParams.get('before');
      const all = lines().filter(({ timestamp }) => before === null || Date.parse(timestamp) < Date.parse(before));
      const next = all.length > offset + limit ? `${service().address}/?offset=${offset + limit}` : null;
      return asked.fulfill({
        json: { count: all.length, next, previous: null, results: all.slice(offset, offset + limit) },
      });
    });
    await page.goto(`${service().address}/#${at(path)}?tab=logs`);
    const log = page.getByRole('log');
    await expectSeen(log.getByText('Line 251.'));
    // While it is read, a run writes.
    await page.getByRole('switch', { name: 'Follow' }).click();
    newer = 3;
    for (const last of ['Line 51.', 'Line 1.']) {
      expect(await log.getByText(last, { exact: true }).count()).toBe(0);
      await button(page, 'Show more').click();
      await expectSeen(log.getByText(last, { exact: true }));
    }
    expect(await log.getByText(/^Line/).count()).toBe(450);
    await expectGone(button(page, 'Show more'));
    await button(page, 'Show the newest').click();
    await expectSeen(log.getByText('Line 453.'));
    await expectGone(log.getByText('Line 1.', { exact: true }));
    expect(complaints).toEqual([]);
  });

  test('leads who has read on in older runs back to the newest, which come by themselves again', async () => {
    const one = await made('/batch_exports/', {
      name: 'Of many runs',
      interval: 'hour',
      paused: true,
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const { page } = await open(at('/exports'));
    let newest = 'Newer.';
    await page.route('**/runs/?*after=*', (asked) => {
      const isOlder = new URL(asked.request().url()).searchParams.has('cursor');
      const error = isOlder ? 'Older.' : newest;
      const run = {
        id: error,
        batch_export: one.id,
        status: 'Failed',
        data_interval_start: '2015-05-17T10:00:00Z',
        data_interval_end: '2015-05-17T11:00:00Z',
        created_at: '2015-05-17T11:00:00Z',
        finished_at: '2015-05-17T11:00:01Z',
        latest_error: error,
        records_completed: 1,
        backfill: null,
      };
      return asked.fulfill({ json: { next: isOlder ? null : `${service().address}/?cursor=more`, results: [run] } });
    });
    await page.goto(`${service().address}/#${at(`/exports/${one.id}?tab=runs`)}`);
    await expectSeen(row(page, 'Runs', 'Newer.'));
    expect(await button(page, 'Show the newest').count()).toBe(0);
    await button(page, 'Show more').click();
    await expectSeen(row(page, 'Runs', 'Older.'));
    newest = 'Newest.';
    await button(page, 'Show the newest').press('Enter');
    await expectSeen(row(page, 'Runs', 'Newest.'));
    await expectGone(row(page, 'Runs', 'Older.'));
    await expectGone(button(page, 'Show the newest'));
    // Who works with the keyboard goes on from there.
    await expectSeen(page.getByRole('group', { name: 'Runs' }).and(page.locator(':focus')));
    newest = 'By itself.';
    await expectSeen(row(page, 'Runs', 'By itself.'));
  });

  test('shows a run that the list leaves out as it goes on', async () => {
    const one = await made('/batch_exports/', {
      name: 'Watched',
      interval: 'hour',
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const runs = api(`/batch_exports/${one.id}/runs/`);
    const { page } = await open(at('/exports'));
    const times = { data_interval_start: '2015-05-17T10:00:00Z', data_interval_end: '2015-05-17T11:00:00Z' };
    const run = {
      id: 'watched',
      batch_export: one.id,
      ...times,
      created_at: times.data_interval_end,
      backfill: null,
    };
    let status = 'Running';
    await page.route(`**${runs}watched/`, (route) =>
      route.fulfill({ json: { ...run, status, finished_at: null, latest_error: null, records_completed: 1 } }),
    );
    await page.goto(`${service().address}/#${at(`/exports/${one.id}?tab=runs&status=Failed&run=watched`)}`);
    const detail = page.getByRole('dialog', { name: 'Run' });
    await expectSeen(detail.getByText('Running'));
    status = 'Completed';
    await expectSeen(detail.getByText('Completed'));
    await expectSeen(button(detail, 'Retry'));
  });

  test('says what the check of a destination has found until its fields are changed', async () => {
    const { page } = await open(at('/exports/new'));
    await page.getByRole('radio', { name: /^Folder/ }).check();
    const folder = page.getByRole('textbox', { name: 'Folder' });
    await folder.fill(temporaryFolder());
    await button(page, 'Check the destination').click();
    const checks = page.getByRole('list', { name: 'Checks' });
    await expectSeen(checks.getByLabel('Passed'));
    await page.getByRole('textbox', { name: 'Name' }).fill('Files');
    await expectSeen(checks.getByLabel('Passed'));
    await folder.fill('not/a/whole/path');
    await expectGone(checks);
  });

  test('takes nothing that is typed while it is being saved, which would be lost', async () => {
    const one = await made('/batch_exports/', {
      name: 'Slow',
      interval: 'hour',
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const path = `/batch_exports/${one.id}/`;
    const { page } = await open(at(`/exports/${one.id}?tab=settings`));
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await name.fill('First');
    const release = await heldBack(page, `**${api(path)}`, (asked) => asked.method() === 'PATCH');
    await whileWritten(page, async () => {
      await button(page, 'Save').click();
      for (const field of ['Name', 'Folder'])
        await expectSeen(page.getByRole('textbox', { name: field, exact: true, disabled: true }));
      release();
    });
    await expectSeen(page.getByRole('heading', { name: 'First' }));
    await name.fill('Second');
    await whileWritten(page, () => button(page, 'Save').click());
    await expectSeen(page.getByRole('heading', { name: 'Second' }));
  });

  test('shows the settings of the export that is opened, not of the one before', async () => {
    const { page } = await open(at('/exports'));
    const paths: string[] = [];
    for (const name of ['First', 'Second']) {
      const { id } = await made('/batch_exports/', {
        name,
        interval: 'hour',
        destination: { type: 'Folder', config: { path: temporaryFolder() } },
      });
      paths.push(`${service().address}/#${at(`/exports/${id}?tab=settings`)}`);
    }
    const [first = '', second = ''] = paths;
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    const visited: string[] = [];
    // Each is known to the page when it is opened again.
    for (const [path, heading] of [
      [first, 'First'],
      [second, 'Second'],
      [first, 'First'],
    ] as const) {
      await page.goto(path);
      await expectSeen(page.getByRole('heading', { name: heading }));
      visited.push(await name.inputValue());
    }
    expect(visited).toEqual(['First', 'Second', 'First']);
  });

  test('is paused and goes on beside settings that are not saved, and nobody else is blamed', async () => {
    const held = await made('/batch_exports/', {
      name: 'Held',
      interval: 'hour',
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const path = `/exports/${held.id}`;
    const { page, complaints } = await open(at(`${path}?tab=settings`));
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await name.fill('Held for now');
    await button(page, 'Pause').click();
    await button(page, 'Unpause').click();
    await button(page, 'Go on').click();
    await button(page, 'Pause').click();
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('heading', { name: 'Held for now' }));
    expect(await notice.count()).toBe(0);
    const one = `${api('/batch_exports/')}${held.id}/`;
    expect((await service().call('GET', one)).body).toMatchObject({ name: 'Held for now', paused: true });
    expect(complaints).toEqual([]);

    // What others change meanwhile is not overwritten.
    await name.fill('Mine');
    await service().call('PATCH', one, { name: 'Theirs' });
    await button(page, 'Unpause').click();
    await button(page, 'Go on').click();
    await expectSeen(button(page, 'Pause'));
    await button(page, 'Save').click();
    await expectSeen(notice.getByText('Theirs', { exact: true }));
  });

  test('shows no secret of a webhook to who looks over a shoulder, unless asked to', async () => {
    const { page } = await open(at('/exports/new'));
    await page.getByRole('radio', { name: /^Folder/ }).check();
    const secret = page.getByLabel('Secret of the webhook');
    expect(await secret.getAttribute('type')).toBe('password');
    await page.getByRole('button', { name: 'Show the secret' }).click();
    expect(await secret.getAttribute('type')).toBe('text');
  });

  test('changes an export without its secrets, and shows both versions where somebody else was faster', async () => {
    const told = await made('/batch_exports/', {
      name: 'Told',
      interval: 'hour',
      destination: { type: 'HTTP', config: { url: 'https://events.example.com/batch/', token: 'phc_receiver' } },
    });
    const path = `/exports/${told.id}`;
    const kept = async () => (await service().call('GET', `${api('/batch_exports/')}${told.id}/`)).body;
    const { page } = await open(at(`${path}?tab=settings`));
    const field = (name: string): Locator => page.getByRole('textbox', { name, exact: true });
    await field('Name').fill('Told daily');
    await page.getByRole('combobox', { name: 'Every' }).click();
    await page.getByRole('option', { name: 'day' }).click();
    await button(page, 'Add a filter').click();
    await page.getByRole('combobox', { name: 'Property 1' }).fill('plan');
    await page.getByRole('combobox', { name: 'Value 1' }).fill('pro');
    await field('Webhook').fill('https://hooks.example.com/failures');
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('heading', { name: 'Told daily' }));
    const filters = [{ key: 'plan', operator: 'exact', type: 'event', value: ['pro'] }];
    expect(await kept()).toMatchObject({ interval: 'day', filters, notify_host: 'hooks.example.com' });

    await field('Address').fill('https://other.example.com/batch/');
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('alert').filter({ hasText: "'token' must be sent again when 'url' changes" }));
    await page.getByLabel('Token', { exact: true }).fill('phc_other');
    await page.getByRole('textbox', { name: 'HogQL' }).fill('SELECT event FROM events');
    await button(page, 'Save').click();
    await expectSeen(page.getByText("'hogql_query' is not supported for HTTP"));
    await page.getByRole('textbox', { name: 'HogQL' }).fill('');
    await page.getByRole('switch', { name: 'Tell failures to nobody' }).press('Space');
    await service().call('PATCH', `${api('/batch_exports/')}${told.id}/`, { name: 'Theirs' });
    await button(page, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('https://other.example.com/batch/'));
    await expectSeen(notice.getByText('https://events.example.com/batch/'));
    expect(await notice.textContent()).not.toContain('phc_other');
    await button(notice, 'Write mine').click();
    await expectSeen(page.getByRole('heading', { name: 'Theirs' }));
    await expectSeen(page.getByText('An address that is told when a run fails for good.'));
    expect(await kept()).toMatchObject({
      name: 'Theirs',
      notify_host: null,
      destination: { config: { url: 'https://other.example.com/batch/' } },
    });
  });

  test('tells how far an export has come, and opens the run of an interval that is chosen with the keyboard', async () => {
    const one = await made('/batch_exports/', {
      name: 'Old hours',
      interval: 'hour',
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const { page, complaints } = await open(at('/exports'));
    await expectSeen(row(page, 'Exports', 'Old hours').getByText('nothing yet'));
    await page.getByRole('textbox', { name: 'Search' }).fill('no such');
    await expectSeen(page.getByText('No export matches.'));
    await page.getByRole('textbox', { name: 'Search' }).fill('OLD');
    const backfill = (start_at: string, end_at: string) =>
      made(`/batch_exports/${one.id}/backfill/`, { start_at, end_at });
    await backfill('2015-05-15T10:00:00Z', '2015-05-15T11:00:00Z');
    await backfill('2015-05-17T10:00:00Z', '2015-05-17T14:00:00Z');
    const listed = row(page, 'Exports', 'Old hours');
    await expectSeen(listed.getByText('17 May 2015', { exact: true }));
    // The past is for backfills; what has ended since the export was made is behind.
    expect(await listed.getByText('behind').count()).toBe(0);
    await page.clock.setFixedTime(Date.now() + 5 * HOUR_MS);
    await page.reload();
    await expectSeen(listed.getByText('5 intervals behind'));
    await page.setViewportSize({ width: 360, height: 900 });
    await expectSeen(listed.getByText('5 intervals behind'));
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(360);
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.getByRole('link', { name: 'Old hours' }).click();

    // The span that ends now has none of them; the way to them is offered, and kept in the address.
    await button(page, 'Show 17 May 2015').click();
    const strip = page.getByRole('grid', { name: 'Intervals by their state' });
    await expectSeen(strip.getByRole('row', { name: '2015-05-17' }));
    const cells = strip.getByRole('button', { name: /: Completed$/ });
    await expect(seenAfterReloads(page, cells.nth(4))).resolves.toBe(true);
    expect(await cells.count()).toBe(5);
    expect(await strip.getByRole('gridcell', { name: /: has not run$/ }).count()).toBe(7 * 24 - 5);
    const spans = page.getByRole('group', { name: 'Intervals' });
    await spans.getByRole('combobox', { name: 'Intervals of' }).click();
    await page.getByRole('option', { name: 'a day' }).click();
    await expectSeen(strip.getByRole('gridcell', { name: /: has not run$/ }).nth(19));
    expect(await strip.getByRole('row').count()).toBe(1);
    await button(spans, 'Earlier').click();
    await expectSeen(page.getByText('None of these intervals has run.'));
    expect(await strip.getByRole('rowheader').allTextContents()).toEqual(['2015-05-16']);
    await page.goBack();
    await expectSeen(cells);
    await spans.getByLabel('Up to (UTC)').fill('2015-05-18');
    await expectSeen(strip.getByRole('row', { name: '2015-05-18' }));
    await button(spans, 'Earlier').click();
    await page.reload();
    await expectSeen(cells.nth(3));
    expect(await strip.getByRole('row').count()).toBe(1);
    await spans.getByRole('combobox', { name: 'Intervals of' }).click();
    await page.getByRole('option', { name: 'a week' }).click();
    await expectSeen(cells.nth(4));
    expect(await obstacles(page)).toEqual([]);
    await cells.first().focus();
    // A day on which none has run is leapt over.
    expect(await strip.getByRole('row').count()).toBe(7);
    await page.keyboard.press('ArrowDown');
    expect(await page.locator(':focus').getAttribute('aria-label')).toContain('15 May 2015');
    await page.keyboard.press('ArrowUp');
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
    await expectGone(detail);
    await cells.first().click();
    await detail.getByRole('link', { name: 'Its log' }).click();
    await expectSeen(page.getByRole('log').getByText('INFO'));
    expect(complaints).toEqual([]);
  });

  test('says why there are no runs', async () => {
    const { id } = await made('/batch_exports/', {
      name: 'Not yet',
      interval: 'day',
      paused: true,
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const { page } = await open(at(`/exports/${String(id)}`));
    await expectSeen(page.getByText('No runs. The export is paused'));
    await button(page, 'Unpause').click();
    await button(page, 'Go on').click();
    await expectSeen(page.getByText('No runs. The next one starts soon after the current interval has ended'));
    await page.getByRole('combobox', { name: 'State' }).click();
    // By the words that the list has for them.
    await expectSeen(page.getByRole('option', { name: 'Will be retried', exact: true }));
    await page.getByRole('option', { name: 'Failed', exact: true }).click();
    await expectSeen(page.getByText('No run matches.'));
  });

  test('counts intervals by UTC wherever it shows them, and tells the reader’s own clock when pointed at', async () => {
    const { id } = await made('/batch_exports/', {
      name: 'Hours of a night',
      interval: 'hour',
      destination: { type: 'Folder', config: { path: temporaryFolder() } },
    });
    const range = { start_at: '2025-10-26T00:00:00Z', end_at: '2025-10-26T02:00:00Z' };
    await made(`/batch_exports/${String(id)}/backfill/`, range);
    const { page } = await open(at(`/exports/${String(id)}`), { timezoneId: 'Europe/Berlin' });
    const hours = [
      ['26 Oct 2025, 00:00–01:00 UTC', '26 Oct 2025, 02:00 CEST – 26 Oct 2025, 02:00 CET'],
      ['26 Oct 2025, 01:00–02:00 UTC', '26 Oct 2025, 02:00–03:00 CET'],
    ] as const;
    for (const [hour, own] of hours) {
      const shown = row(page, 'Runs', hour);
      await expect(seenAfterReloads(page, shown)).resolves.toBe(true);
      await expectSeen(shown.getByTitle(own));
    }
    await button(page, 'Show 26 Oct 2025').click();
    const cell = page.getByRole('button', { name: '26 Oct 2025, 01:00–02:00 UTC: Completed' });
    await cell.hover();
    await expectSeen(page.getByText('26 Oct 2025, 01:00–02:00 UTC (26 Oct 2025, 02:00–03:00 CET): Completed'));
    // The hours stand above their columns.
    const mark = page.locator('.strip-marks').getByText('6', { exact: true });
    const sixth = page.getByRole('grid').getByRole('row', { name: '2025-10-26' }).getByRole('gridcell').nth(6);
    expect((await mark.boundingBox())?.x).toBe((await sixth.boundingBox())?.x);
    await page.getByRole('tab', { name: 'Logs' }).click();
    await expectSeen(page.getByRole('log').getByText(/:\d\d UTC$/));
    await expectSeen(page.getByRole('log').getByTitle(/:\d\d CET$/));
    await page.getByRole('tab', { name: 'Backfills' }).click();
    await expectSeen(row(page, 'Backfills', '26 Oct 2025, 00:00–02:00 UTC'));
    await expectSeen(page.getByLabel('From (UTC)'));
    await expectSeen(page.getByLabel('To (UTC)'));
  });
});
